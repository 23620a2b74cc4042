"""The runtime under test as one scenario sees it: boot it, watch whom it asks, call it back, look at it.

A `RuntimePeer` belongs to one attempt at one scenario. Times are seconds since the run began.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.record import Record, Recorder
from rap_conformance.engine.scenario import PeerDied, Refused, Untested, Violation
from rap_conformance.network.acts import Act, Gate, alive, answer
from rap_conformance.network.toolserver import Query, ToolServer
from rap_conformance.protocol.messages import JSON, encode, event, fresh, result
from rap_conformance.runtime.adapter import AdapterSilent, AdapterWrong
from rap_conformance.runtime.session import RuntimeSession
from rap_conformance.runtime.state import State, Waiting

T = TypeVar("T")
NOBODY_ASKED = "the runtime asked nobody about anything after its boot (see RTS003)"
_PATIENT_BOOT = 2.0
"""Seconds after which a boot that has not answered goes on in the background."""
_LARGE = 0.1
"""Seconds from which on a state counts as long in coming."""
_SECRET = 16
"""Characters from which on a part of a callback URL may be a secret, and is hidden in reports."""
_EVIDENCE = 6000
"""Bytes up to which a state is worth showing beside a finding."""


class RuntimePeer(Recorder):
    """What a scenario may do with the runtime under test. `attempt` is 1 when a first run is confirmed."""

    def __init__(self, session: RuntimeSession, record: Record, attempt: int = 0) -> None:
        self.session, self.record, self.attempt = session, record, attempt
        self.patience, self.timing, self.servers = session.patience, session.timing, session.servers
        self.culprit: Exchange | None = None
        """The last callback, as long as the runtime has not shown that it survived it."""
        self._boot: Future[Exchange] | None = None
        self._given: tuple[str, ...] = ()

    def death(self, refused: Refused) -> PeerDied | None:
        """A runtime that is gone right after something was posted to it died of that."""
        if not isinstance(refused, AdapterSilent) or self.culprit is None:
            return None
        if not self.patience.until(self.session.adapter.gone, 1.0):
            return None
        actual = "it was gone right after this callback, and its adapter with it"
        case = "the runtime died of a callback"
        return PeerDied(actual, self.culprit, expected="the runtime goes on", case=case)

    # --- tool servers and what waits for them --------------------------------

    def server(self, **how: Any) -> ToolServer:
        """A new tool server; `how` as for ScriptedServers.server."""
        return self.servers.server(**how)

    def call(
        self,
        server: ToolServer,
        act: Act | None = None,
        *,
        subscription: bool = False,
        thread: str | None = None,
        id: str | None = None,
        hidden: bool = False,
    ) -> Waiting:
        """Something to wait for, with the answer its server gives about it (else: no such call)."""
        kind = "sub" if subscription else "call"
        waiting = Waiting(
            thread or fresh("thread"), id or fresh(kind), subscription, server, hidden, thread is None
        )
        if act is not None:
            server.play(waiting.thread, waiting.id, act)
        return waiting

    def both(self, server: ToolServer, act: Act | None = None) -> list[Waiting]:
        """A pending call and a subscription with the same answer, each in a thread of its own."""
        return [self.call(server, act), self.call(server, act, subscription=True)]

    def prunable(self) -> list[Waiting]:
        """Calls and subscriptions to give up, by both ways of saying so: `alive: false`, and 404."""
        return [*self.both(self.server(), alive(False)), *self.both(self.server(), answer(404))]

    # --- the runtime's life --------------------------------------------------

    def boot(
        self,
        calls: Sequence[Waiting],
        *,
        threads: Iterable[str] = (),
        servers: Iterable[ToolServer] = (),
        status_timeout: float | None = None,
    ) -> None:
        """Boot the runtime with these calls, in this order of threads, and further threads without any."""
        mine: dict[str, list[Waiting]] = {}
        for call in calls:
            mine.setdefault(call.thread, []).append(call)
        mine.update({name: [] for name in threads})
        body = [
            {
                "thread_id": name,
                "pending": [call.given for call in inside if not call.subscription],
                "subscriptions": [call.given for call in inside if call.subscription],
            }
            for name, inside in mine.items()
        ]
        known = dict.fromkeys([*(server.base for server in servers), *(call.server.base for call in calls)])
        self._given = tuple(mine)
        self._send_boot({"servers": [*known], "threads": body}, status_timeout)

    def boot_again(self, servers: Iterable[ToolServer]) -> None:
        """Shut the runtime down and boot it from what it persisted."""
        self.session.adapter.shutdown()
        self._send_boot({"servers": [server.base for server in servers], "threads": None}, None)

    def _send_boot(self, body: dict[str, Any], status_timeout: float | None) -> None:
        self._booted(self.timing.silence)
        body["status_timeout"] = status_timeout or self.timing.status_timeout
        within = self.timing.silence + self.timing.answer
        self._boot = self.session.pool.submit(self.session.adapter.boot, body, within)
        self.record.exchanges += 1
        self._booted(_PATIENT_BOOT)

    def _booted(self, within: float) -> bool:
        """Whether /boot has answered. Raises Refused if it failed."""
        if self._boot is None:
            return True
        boot = self._boot
        if not self.patience.until(boot.done, within, every=0.01):
            return False
        boot.result()
        return True

    def state(self) -> State:
        """What the runtime waits for and what it injected, now. Raises Refused."""
        exchange, body = self.session.adapter.state()
        self.record.exchanges += 1
        self.culprit = None
        state = State.of(exchange, body)
        missing = next((name for name in self._given if name not in state.threads), None)
        if missing is not None and self._booted(0.0):
            raise AdapterWrong(
                f"the adapter's answer to GET /state lacks the thread {missing} that POST /boot gave it"
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
            open_now = any(query.ended is None for call in left for query in self._about(call.server, call))
            wait = self.timing.silence if open_now else self.timing.settle
            self.servers.until(lambda now=seen: over() or self._activity() != now, wait)  # type: ignore[misc]
            self._booted(0.0)
        over()
        return [call for call in left if not self._about(call.server, call)]

    def asked(self, calls: Sequence[Waiting]) -> list[tuple[Waiting, list[Query]]]:
        """Boot with these calls, and give each call's requests. Raises Untested if there is none at all."""
        self.boot(calls)
        self.wait_for_checks(calls)
        found = [(call, self.queries(call)) for call in calls]
        if not any(queries for _, queries in found):
            raise Untested(NOBODY_ASKED)
        return found

    def _activity(self) -> int:
        return sum(len(server.queries) + server.ended for server in self.servers.all)

    def settled(self, calls: Sequence[Waiting], gone: Sequence[Waiting] = ()) -> State:
        """The state once every check had its answer, `gone` is pruned (or too late), and a moment passed."""
        self.wait_for_checks(calls)
        self.patience.until(lambda: self._booted(0.0), self.timing.silence)
        state = self.until(lambda now: not now.checking, self.timing.silence)
        tells = state.checking is not None
        if gone:
            limit = self.timing.settle * (0.4 if tells else 1.0)
            state = self.until(lambda now: all(now.pruned(call) for call in gone), limit)
        self.patience.pace(self.timing.watch * (1.0 if tells else 4.0))
        return self.state()

    def gate(self, limit: float) -> Gate:
        """Holds answers back for `limit` seconds at most."""
        return Gate(limit)

    # --- calling it back -----------------------------------------------------

    def call_back(self, call: Waiting, message: Any) -> Exchange:
        """POST a message (or raw bytes) to the callback URL of a call. Raises Refused."""
        url = self.session.adapter.callback_url(call.thread, call.id)
        for part in re.split(r"[/?&=]", url.split("//", 1)[1])[1:]:
            if len(part) >= _SECRET and call.id not in part and call.thread not in part:
                self.session.redactor.learn(part)
        body = message if isinstance(message, bytes) else encode(message)
        self.record.exchanges += 2
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

    def say(self, thread: str, text: str = "Are you there?", within: float | None = None) -> Exchange:
        """A message of the user. Raises Refused."""
        self.record.exchanges += 1
        return self.session.adapter.message(thread, text, within)

    def say_beside(self, thread: str, text: str = "Are you there?") -> Future[Exchange]:
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
        if state is not None and len(state.exchange.response_body) <= _EVIDENCE:
            shown.append(state.exchange)
        return tuple(shown)


def outcome(call: Waiting, text: str, **more: Any) -> dict[str, Any]:
    """A tool_result for a pending call, a subscription_event for a subscription."""
    body = event if call.subscription else result
    return body(call.id, call.thread, text, **more)
