"""The runtime under test as one scenario sees it: boot it, watch whom it asks, call it back, look at it.

A `RuntimePeer` belongs to one attempt at one scenario. Times are seconds since the run began.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.record import Record
from rap_conformance.engine.scenario import PeerDied, Refused, Untested, Violation
from rap_conformance.network.acts import Gate
from rap_conformance.network.toolserver import Query, ToolServer
from rap_conformance.protocol.messages import JSON, encode, event, result
from rap_conformance.runtime.adapter import AdapterSilent, AdapterWrong
from rap_conformance.runtime.booting import EVIDENCE, GREETING, Boots
from rap_conformance.runtime.session import RuntimeSession
from rap_conformance.runtime.state import State, Waiting

T = TypeVar("T")
NOBODY_ASKED = "the runtime asked nobody about anything after its boot (see RTS003)"
_LARGE = 0.1
"""Seconds from which on a state counts as long in coming."""
_SECRET = 16
"""Characters from which on a part of a callback URL may be a secret, and is hidden in reports."""
_NAMED = 5
"""Calls that are named one by one in a sentence."""


class RuntimePeer(Boots):
    """What a scenario may do with the runtime under test."""

    def __init__(self, session: RuntimeSession, record: Record, attempt: int = 0) -> None:
        super().__init__(session, record, attempt)
        self.culprit: Exchange | None = None
        """The last callback, as long as the runtime has not shown that it survived it."""

    def death(self, refused: Refused) -> PeerDied | None:
        """A runtime that is gone right after something was posted to it died of that."""
        if not isinstance(refused, AdapterSilent) or self.culprit is None:
            return None
        if not self.patience.until(self.session.adapter.gone, 1.0):
            return None
        actual = "it was gone right after this callback, and its adapter with it"
        case = "the runtime died of a callback"
        return PeerDied(actual, self.culprit, expected="the runtime goes on", case=case)

    # --- what it says of itself ----------------------------------------------

    def state(self) -> State:
        """What the runtime waits for and what it injected, now. Raises Refused."""
        booted = self.booted()
        exchange, body = self.session.adapter.state()
        self.record.exchanges += 1
        self.culprit = None
        state = State.of(exchange, body)
        missing = next((name for name in self.given if name not in state.threads), None)
        if booted and missing is not None:
            raise AdapterWrong(
                f"the adapter's answer to GET /state lacks the thread {missing} that POST /boot gave it; a "
                "runtime that makes its own ids says which in thread_ids"
            )
        return state

    def until(self, condition: Callable[[State], object], within: float) -> State:
        """The state as soon as the condition holds in it, else as it is after `within` seconds."""
        last: list[State] = []

        def holds() -> object:
            began = self.patience.now()
            last[:] = [self.state()]
            took = self.patience.now() - began
            if took > _LARGE:
                self.patience.pace(2 * took)  # a state that is long in coming is not asked for all the time
            return condition(last[0])

        self.patience.until(holds, within, every=0.05)
        return last[0]

    # --- whom it asks --------------------------------------------------------

    def queries(self, call: Waiting) -> list[Query]:
        """Every request about a call, to whichever server, in the order of arrival."""
        found = [query for server in self.servers.all for query in self._about(server, call)]
        return sorted(found, key=lambda query: query.arrived)

    def _about(self, server: ToolServer, call: Waiting) -> list[Query]:
        return server.about.get(call.id) or (server.about.get(call.thread, []) if call.alone else [])

    def wait_for_checks(self, calls: Iterable[Waiting]) -> list[Waiting]:
        """Wait until each call's server was asked and has ended its answer; gives those never asked about.

        Waits as long as requests come or are open. A call whose server cannot be reached is not waited for.
        """
        left = [call for call in calls if call.server.listening and call.server.tls is None]

        def over() -> bool:
            left[:] = [c for c in left if not any(q.ended is not None for q in self._about(c.server, c))]
            return not left

        seen = -1
        while left and seen != (seen := self._activity()):
            open_now = any(query.ended is None for server in self.mine for query in server.queries)
            wait = self.timing.silence if open_now else self.quiet
            self.servers.until(lambda now=seen: over() or self._activity() != now, wait)  # type: ignore[misc]
            self.booted()
        over()
        return [call for call in left if not self._about(call.server, call)]

    @property
    def quiet(self) -> float:
        """Seconds without a request after which the runtime is thought to ask no more."""
        return max(self.timing.settle, 2 * (self.habits.asking or 0.0))

    def asked(self, calls: Sequence[Waiting]) -> list[tuple[Waiting, list[Query]]]:
        """Boot with these calls, and give each call's requests. Raises Untested if there is none at all.

        Calls that nobody was asked about are named, and leave no plain pass.
        """
        self.boot(calls)
        self.wait_for_checks(calls)
        found = [(call, self.queries(call)) for call in calls]
        if not any(queries for _, queries in found):
            raise Untested(NOBODY_ASKED)
        if missed := [call for call, queries in found if not queries]:
            self.partial(f"never asked about: {named(missed)} (see RTS003)")
        return found

    def _activity(self) -> int:
        return sum(len(server.queries) + server.ended for server in self.servers.all)

    def settled(
        self,
        calls: Sequence[Waiting],
        gone: Sequence[Waiting] = (),
        *,
        patient: bool = False,
        wary: bool = False,
    ) -> State:
        """The state once every check had its answer, `gone` is pruned (or too late), and a moment passed.

        `patient`: allow for graces and second opinions of any length that can be waited for. `wary`: let
        pass as much time as the runtime is known to take before it gives up, so that what it keeps is kept.
        """
        self.wait_for_checks(calls)
        self.patience.until(self.booted, self.timing.silence)
        state = self.until(lambda now: not now.checking, self.timing.silence)
        moment = self.timing.watch * (1.0 if state.checking is not None else 4.0)
        if gone:
            self._wait_for_pruning(gone, patient)
        if wary:
            moment = max(moment, min(1.2 * self.habits.pruning, self.timing.settle))
        self.patience.pace(moment)
        return self.state()

    def _wait_for_pruning(self, gone: Sequence[Waiting], patient: bool) -> None:
        """Until these are given up, or it is too late; keeps how long what was given up took."""
        began = changed = self.patience.now()
        pruned = -1

        def over(state: State) -> bool:
            nonlocal changed, pruned
            before, pruned = pruned, sum(state.pruned(call) for call in gone)
            if before not in {-1, pruned}:
                changed = self.patience.now()
            return pruned == len(gone)

        known = max(self.timing.settle, 3.0 + 2 * self.habits.pruning)
        self.until(over, self.timing.patience if patient else known)
        self.habits.pruning = max(self.habits.pruning, changed - began)
        self.habits.gave_up = True

    def learn_pruning(self) -> None:
        """Find out how long the runtime takes to give a call up, if no other requirement has done so: in a
        boot of its own, before the one that it matters in."""
        if not self.habits.gave_up:
            lost = self.prunable()
            self.boot(lost)
            self.settled(lost, lost, patient=True)

    def gate(self, limit: float) -> Gate:
        """Holds answers back for `limit` seconds at most."""
        return Gate(limit)

    # --- calling it back -----------------------------------------------------

    def call_back(self, call: Waiting, message: Any) -> Exchange:
        """POST a message (or raw bytes) to the callback URL of a call. Raises Refused."""
        return self.post(self.callback_url(call), message)

    def callback_url(self, call: Waiting) -> str:
        """Where the server of a call posts to; what may be secret in it stays out of reports.

        Asked once in each boot: servers keep what they were given, also when a call is over.
        """
        if call in self._urls:
            return self._urls[call]
        url = self._urls[call] = self.session.adapter.callback_url(call.thread, call.id)
        self.record.exchanges += 1
        for part in re.split(r"[/?&=]", url.split("//", 1)[1])[1:]:
            if len(part) >= _SECRET and call.id not in part and call.thread not in part:
                self.session.redactor.learn(part)
        return url

    def post(self, url: str, message: Any) -> Exchange:
        """POST a message (or raw bytes) to a callback URL."""
        body = message if isinstance(message, bytes) else encode(message)
        self.record.exchanges += 1
        self.culprit = self.session.probe.send("POST", url, body, headers=JSON, patient=False)
        return self.culprit

    def deliver(self, call: Waiting, text: str, **more: Any) -> Exchange:
        """What the tool server would post for a call: its result, or an event of the subscription."""
        return self.call_back(call, outcome(call, text, **more))

    def survived(self, culprit: Exchange, case: str) -> bool:
        """Whether a callback was taken or refused; a 5xx, or no answer, is a finding.

        That it survived judges nothing by itself. Raises AdapterSilent if the runtime is gone.
        """
        if culprit.status is not None and culprit.status < 500:
            self.state()
            return True
        if culprit.status is None and self.patience.until(self.session.adapter.gone, 1.0):
            raise AdapterSilent("the adapter is gone")
        got = f"status {culprit.status}" if culprit.status is not None else f"{culprit.failure}"
        self.report(Violation("the callback is taken or refused", got, culprit, case=case))
        return False

    def say(self, thread: str, text: str = GREETING, within: float | None = None) -> Exchange:
        """A message of the user. Raises Refused."""
        self.record.exchanges += 1
        return self.session.adapter.message(thread, text, within)

    def say_beside(self, thread: str, text: str = GREETING) -> Future[Exchange]:
        """The same, while the scenario goes on."""
        self.record.exchanges += 1
        limit = self.timing.silence + self.timing.answer
        said = self.session.pool.submit(self.session.adapter.message, thread, text, limit)
        said.add_done_callback(lambda _: self.servers.bell.ring())
        return said

    # --- evidence ------------------------------------------------------------

    def evidence(self, call: Waiting, state: State | None = None) -> tuple[Exchange, ...]:
        """What to show beside a finding: the last query about the call, and the state if it is short."""
        shown = [query.exchange for query in self.queries(call)[-1:]]
        if state is not None and len(state.exchange.response_body) <= EVIDENCE:
            shown.append(state.exchange)
        return tuple(shown)


def named(calls: Sequence[Waiting]) -> str:
    """Some calls by their ids, for a sentence."""
    shown = [f"{call.id[:60]!a} in thread {call.thread[:60]!a}" for call in calls[:_NAMED]]
    more = f" and {len(calls) - _NAMED} more" if len(calls) > _NAMED else ""
    return ", ".join(shown) + more


def outcome(call: Waiting, text: str, **more: Any) -> dict[str, Any]:
    """A tool_result for a pending call, a subscription_event for a subscription."""
    body = event if call.subscription else result
    return body(call.id, call.thread, text, **more)
