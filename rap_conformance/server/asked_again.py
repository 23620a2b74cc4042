"""Evidence that others can see again: what one request showed is asked once more before it is reported.

On a fresh connection first. If that shows nothing, the request before it on the same connection may be the
reason, or a call of ours that was live; then the finding says so, and holds all the steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rap_conformance.engine.evidence import Exchange, Finding, Steps
from rap_conformance.engine.scenario import PeerDied
from rap_conformance.network.answers import slowed_down
from rap_conformance.network.spoken import repeated
from rap_conformance.protocol.leaks import reveals
from rap_conformance.protocol.messages import encode
from rap_conformance.protocol.noise import difference, traits
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.call import Call
from rap_conformance.server.session import ServerSession
from rap_conformance.server.shown import asks_about, in_time, instead, named, only_asks, over, proper

MOST_SECONDS = 30.0
"""Seconds of a run that asking again may take altogether."""
MANY = 4
"""Other requests under way from which on their number may be the reason."""
CHANCE = "chance, as far as can be seen: asked again twice, it came once"
_CHAIN, _SOUGHT_BEFORE = 8, 200
"""Requests before one on its connection that are made again at the most, and among which one is sought."""
_MOST_CALLS, _MOST_CALLBACKS = 6, 40
_SOUGHT = 1 << 16
"""Bytes of a request in which ids of calls are looked for."""


class Replayer:
    """Asks again what is about to be reported, one session long."""

    def __init__(self, session: ServerSession) -> None:
        self.session, self.probe = session, session.probe
        self._spent = 0.0

    def replayed(self, finding: Finding) -> Finding:
        """The finding with what it depends on, if it does not show by its first exchange alone.

        What got no answer, or came in, or makes a call, is not asked again.
        """
        first = next(iter(finding.exchanges), None)
        if first is None or first.inbound:
            return finding
        if first.status is None or first.failure is not None:
            return self._with_pair(finding, first) or finding
        calls = self._named_in(first)
        if finding.depends or finding.crowd:
            many = f"{finding.crowd} requests at about the same time"
            return self._with_steps(finding, calls, finding.depends or many)
        again = self._again(first) if self._spent < MOST_SECONDS else []
        if not again:
            return self._with_steps(finding, calls, self._state(calls, first)) if calls else finding
        if again[-1].failure is not None and not self.session.answers():
            said = "the server stopped answering when the same was asked again"
            self.session.revive(PeerDied(said, again[-1]))
            return replace(finding, depends=f"chance, as far as can be seen: {said}")
        if self._same(first, again):
            if not self._shows_alone(finding, first, calls):
                return self._with_steps(finding, calls, self._state(calls, first))
            if len(again) > 1 and not self._alike(first, again):
                return replace(finding, depends=CHANCE)
            pair = tuple(exchange for exchange in finding.exchanges if not exchange.inbound)
            return replace(finding, steps=Steps(in_time(pair))) if len(pair) > 1 else finding
        return self._explained(finding, first, calls, again[-1])

    # --- asking --------------------------------------------------------------

    def _again(self, first: Exchange) -> list[Exchange]:
        """The answers to the same request on fresh connections: a second one if the first is another."""
        recipe = self.probe.known(first)
        if recipe is None or not only_asks(recipe):
            return []
        answers = self._ask([first.number])
        if answers and not self._alike(first, answers):
            answers += self._ask([first.number])
        return answers

    def _ask(self, numbers: Sequence[int]) -> list[Exchange]:
        """The last answer of these requests, made again on one fresh connection; none if there was none."""
        began = self.session.patience.now()
        if self.session.recovery.locks_out:
            self.session.recovered()
        try:
            for pause in (0.0, 0.5, 1.5):
                self.session.patience.pace(pause)
                made = repeated(self.probe, numbers)
                if len(made) < len(numbers):
                    return []
                self.session.history.ended(made[-1], of_status=False)
                was = self.probe.known(made[-1])
                if not slowed_down(made[-1]) or was is None:
                    return made
        except LookupError:
            pass
        finally:
            self._spent += self.session.patience.now() - began
        return []

    def _same(self, first: Exchange, again: Sequence[Exchange]) -> bool:
        """Whether the same kind of answer came again; what the new ones do not agree in is noise."""
        return self._alike(first, again[-1:]) or (len(again) > 1 and self._alike(first, again))

    def _alike(self, first: Exchange, again: Sequence[Exchange]) -> bool:
        """Whether an answer is of the same kind as others, in whatever those agree in."""
        if self._to_a_stranger(first) and reveals(first):
            return all(map(reveals, again))  # which of the two he is told is no matter
        names = named(first)
        return not difference(traits(first, *names), [traits(each, *names) for each in again])

    def _to_a_stranger(self, exchange: Exchange) -> bool:
        recipe, ours = self.probe.known(exchange), (None, self.probe.credentials, self.session.other)
        return recipe is not None and recipe.credentials not in ours

    # --- what it depends on --------------------------------------------------

    def _shows_alone(self, finding: Finding, first: Exchange, calls: Sequence[Call]) -> bool:
        """Whether the answer that came again is wrong whatever goes on beside it."""
        if not calls:
            return True
        several = sum(not exchange.inbound for exchange in finding.exchanges) > 1
        if finding.absence or several:
            return False
        if not proper(first) or self._to_a_stranger(first):
            return True
        exact = any(asks_about(first, call) for call in calls)
        return bool(means_alive(first)) and not exact and all(map(over, calls))

    def _explained(self, finding: Finding, first: Exchange, calls: list[Call], other: Exchange) -> Finding:
        """The finding that did not show again, with the reason as far as it can be found."""
        for chain in self._chains(first):
            numbers = [*chain, first.number]
            made = self._ask(numbers)
            if made and self._alike(first, made[-1:]) and self._surely(first, numbers):
                others = (each for each in finding.exchanges[1:] if each.number not in chain)
                before = "request" if len(chain) == 1 else "requests"
                before = f"the {before} before it on the same connection"
                return replace(
                    finding,
                    exchanges=(made[-1], *made[:-1], *others),
                    depends=f"{before}; {instead(other, 'on a fresh one')}",
                    steps=Steps(tuple(made), kept=True),
                )
        if pair := self._with_pair(finding, first):
            return pair
        if calls := calls or self._meanwhile(finding, first):
            return self._with_steps(finding, calls, self._state(calls, first, other))
        if (beside := self.probe.beside(first)) >= MANY:
            reason = f"what else goes on: {beside} other requests were under way"
        else:
            reason = "a state that has passed"
        return self._with_steps(finding, calls, f"{reason}; {instead(other, 'asked again, alone,')}")

    def _with_pair(self, finding: Finding, first: Exchange) -> Finding | None:
        """The finding with the request before it, if it is about two on one connection; None if not."""
        recipe = self.probe.known(first)
        if recipe is None or not recipe.by_hand:
            return None
        before = [each for each in finding.exchanges if [each.number] == self.probe.before(first, 1)]
        depends = "the request before it on the same connection"
        return (
            replace(finding, depends=depends, steps=Steps((before[0], first), kept=True)) if before else None
        )

    def _surely(self, first: Exchange, numbers: Sequence[int]) -> bool:
        """Whether it shows with what came before and not without, once more: it could be chance."""
        alone = self._ask(numbers[-1:])
        kept = self._ask(numbers)
        return bool(alone and kept) and not self._alike(first, alone) and self._alike(first, kept[-1:])

    def _chains(self, first: Exchange) -> Iterator[list[int]]:
        """What may have come before on the same connection: the last one, our own last one, the last few.

        Where nothing of our own can be made again, an ordinary question stands for it.
        """
        found = {number: self.probe.recipe(number) for number in self.probe.before(first, _SOUGHT_BEFORE)}
        known = {number: recipe for number, recipe in found.items() if recipe}
        asked = [number for number, recipe in known.items() if only_asks(recipe)]
        ours = [n for n, recipe in known.items() if recipe.credentials in (None, self.probe.credentials)]
        yield from (chain for chain in (asked[:1], [n for n in ours[:1] if n in asked]) if chain)
        if len(asked) > 1:
            yield asked[:_CHAIN][::-1]
        if ours and ours[0] not in asked and self.session.facts.status_url:
            yield [self.session.ordinary().number]

    def _state(self, calls: Sequence[Call], first: Exchange, other: Exchange | None = None) -> str:
        """In which state of our calls it was asked."""
        live = [call for call in calls if call.sent < first.started and not over(call, by=first.ended)]
        made = min(call.sent for call in calls)
        if any(made < restart < first.started for restart in self.session.restarts):
            what = "a call that a restart interrupted"
        elif live:
            what = "a call that is live"
        else:
            what = "a call that has ended"
        if other is None:
            return what
        return f"{what}; {instead(other, 'later')}"

    # --- the steps -----------------------------------------------------------

    def _named_in(self, first: Exchange) -> list[Call]:
        """The calls of ours that a request names."""
        sent = b"" if first.inbound else first.request_body[:_SOUGHT]

        def names(call: Call) -> bool:
            return any(encode(text)[1:-1] in sent for text in (call.id, call.thread))

        calls = [call for call in self.session.calls if call.sent < first.started and names(call)]
        return calls[:_MOST_CALLS]

    def _meanwhile(self, finding: Finding, first: Exchange) -> list[Call]:
        """The calls of ours, made for the same requirement, that were live while it was asked."""
        calls = [call for call in self.session.calls if call.code == finding.code]
        live = [call for call in calls if call.sent < first.started and not over(call, by=first.ended)]
        return live[:_MOST_CALLS]

    def _with_steps(self, finding: Finding, calls: Sequence[Call], depends: str) -> Finding:
        """The finding with all that led to it, in order of time."""
        shown = finding.exchanges
        calls = list({id(c): c for e in shown for c in (*calls, *self._named_in(e))}.values())
        until = max(exchange.started for exchange in shown)
        led = [exchange for call in calls for exchange in (call.exchange, *call.acts) if exchange]
        led += [d.exchange for call in calls for d in call.deliveries[:_MOST_CALLBACKS]]
        unique = {id(e): e for e in (*shown, *led) if e in shown or e.started <= until}
        steps = in_time(unique.values())
        begin = steps[0].started
        if len(steps) == 1 and not calls and not finding.crowd:
            return replace(finding, depends=depends)
        return replace(
            finding,
            depends=depends,
            steps=Steps(
                steps,
                listen=self.session.receiver.address if calls else None,
                crowd=finding.crowd,
                restarts=tuple(time for time in self.session.restarts if begin < time < until),
                watch=max(map(self._lasts, calls)) if calls and finding.absence else 0.0,
            ),
        )

    def _lasts(self, call: Call) -> float:
        """Seconds after which what a call brings should have come."""
        chosen = self.session.config.scenarios.get(call.kind)
        return (chosen.seconds or 0.0 if chosen else 0.0) + self.session.config.timing.race_window
