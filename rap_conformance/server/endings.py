"""Watching what is over: not alive within the grace time, and for good; also when one looks again much later.

Specification: "Tool Call Status Check", section "Query Semantics"; "Subscription Events", section "Liveness".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from rap_conformance.engine.evidence import Exchange, Failure
from rap_conformance.engine.scenario import Part, Untested, Violation
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.beside import at_once
from rap_conformance.server.call import Call
from rap_conformance.server.peer import Peer

WATCH, LONGER = 4.0, 7.0
"""Seconds for which a call is looked at after the first "not alive"; for how many one of many is."""
MUCH_LATER = 9.0
"""Seconds after the end at which a call is looked at once more, at the earliest."""
HASTE, PACE, HASTY = 0.2, 0.5, 2.0
"""Seconds between two questions in the first seconds of waiting for "not alive", and after that; how many
those seconds are."""
MOST_SILENT = 2
"""Questions about one call that may get no answer before it is asked about no more."""


@dataclass(frozen=True, slots=True)
class End:
    """Something that is over. `since`: when something last came of it, in seconds since the run began;
    `within`: seconds from then on in which either answer is right. `until`: when to ask no more, for an end
    that need not have come yet."""

    call: Call
    what: str
    since: Callable[[], float]
    within: Callable[[], float]
    until: Callable[[], float] = field(default=lambda: float("inf"))


@dataclass(slots=True)
class Watched:
    """What was answered about something that is over, and what is wrong with that, or why nobody knows."""

    end: End
    answers: list[Exchange]
    wrong: Violation | None = None
    unknown: str = ""

    def judge(self, peer: Peer) -> None:
        """Say what was found, of which scenario ever. Raises Violation, Untested."""
        if self.wrong is not None:
            raise self.wrong
        if self.unknown:
            raise Untested(self.unknown)
        peer.judged(sum(means_alive(exchange) is False for exchange in self.answers))


def ended(peer: Peer, call: Call, what: str) -> End:
    """The end of a call, now that its last delivery was acknowledged."""
    now = peer.patience.now()
    return End(call, what, lambda: now, lambda: peer.grace)


def watch(peer: Peer, end: End, watched_for: float = WATCH) -> Watched:
    """Ask about something that is over until it is not alive, and for a while after that.

    Within the time that it may take either answer is right, one after the other too: a replica may lag. What
    cannot be read, or does not come, is not `false`; and a question asked in time says nothing of later.
    """
    seen = Watched(end, [])
    gone: Exchange | None = None
    enough = float("inf")
    silent = 0
    while peer.patience.now() < end.until():
        exchange = peer.ask_about(end.call)
        seen.answers.append(exchange)
        alive = means_alive(exchange)
        overdue = exchange.started > end.since() + end.within()
        silent = silent + 1 if exchange.failure is Failure.TIMEOUT else 0
        if alive is False:
            gone = gone or exchange
            enough = min(enough, exchange.ended + watched_for)
        if alive and overdue:
            seen.wrong = _alive(end, exchange, gone)
            return seen
        if alive is None and (silent >= MOST_SILENT or overdue):
            if gone is None:
                seen.unknown = (
                    f"{end.what}: answers could not be read, or did not come, which TCS001 is about"
                )
            return seen
        if alive is False and exchange.ended >= enough:
            return seen
        hasty = gone is None and exchange.ended < end.since() + HASTY
        peer.patience.pace(HASTE if hasty else PACE)
    return seen


def _alive(end: End, exchange: Exchange, gone: Exchange | None) -> Violation:
    if gone is None:
        return Violation(
            f"`alive: false` within {end.within():g} s",
            "`alive: true` all the time",
            exchange,
            case=f"{end.what}: still alive",
            absence=True,
        )
    return Violation(
        "`alive: false` for good",
        f"`alive: true` again, {exchange.started - gone.ended:.1f} s after `alive: false`",
        exchange,
        gone,
        case=f"{end.what}: alive again",
    )


def expect_gone(peer: Peer, watched: Watched, code: str) -> None:
    """Judge what was seen of an end; what is right so far is looked at again later. Raises as `judge`."""
    watched.judge(peer)
    _over(peer, code).append(watched)


def _over(peer: Peer, code: str) -> list[Watched]:
    return peer.session.once(f"over {code}", list[Watched])


def much_later(code: str) -> Part:
    """What is over is still not alive when everything else that waits has run."""

    def look(peer: Peer) -> None:
        over = _over(peer, code)
        if not over:
            return
        with peer.part("much later"):
            last = max(watched.end.since() for watched in over)
            peer.patience.pace(max(0.0, last + MUCH_LATER - peer.patience.now()))
            works = {str(number): partial(_again, peer, seen) for number, seen in enumerate(over)}
            for again in at_once(works).values():
                if (wrong := again.result()) is None:
                    peer.judged()
                else:
                    peer.report(wrong)

    return Part(look)


def _again(peer: Peer, seen: Watched) -> Violation | None:
    again = watch(peer, seen.end, watched_for=0.0)
    if again.wrong is None or len(again.answers) == 0:
        return None
    gone = next(exchange for exchange in reversed(seen.answers) if means_alive(exchange) is False)
    return _alive(seen.end, again.answers[-1], gone)
