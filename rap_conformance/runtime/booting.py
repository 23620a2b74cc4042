"""How a scenario boots the runtime under test: with which calls of which servers, and again after an end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.record import Record, Recorder
from rap_conformance.network.acts import Act, alive, answer
from rap_conformance.network.toolserver import ToolServer
from rap_conformance.protocol.messages import fresh
from rap_conformance.runtime.adapter import AdapterWrong
from rap_conformance.runtime.habits import FOREIGN_THREAD_IDS, KILL, SUBSCRIPTIONS, needs
from rap_conformance.runtime.session import RuntimeSession
from rap_conformance.runtime.state import Waiting

_PATIENT_BOOT = 2.0
"""Seconds after which a boot that has not answered goes on in the background."""
GREETING = "Are you there?"
EVIDENCE = 6000
"""Bytes up to which a boot or a state is worth showing beside a finding."""


class Boots(Recorder):
    """What is waited for, and the boots that begin with it. `attempt` is 1 when a first run is confirmed."""

    def __init__(self, session: RuntimeSession, record: Record, attempt: int = 0) -> None:
        self.session, self.record, self.attempt = session, record, attempt
        self.patience, self.timing, self.servers = session.patience, session.timing, session.servers
        self.habits = session.habits
        self.given: list[str] = []
        """The threads of the last boot, by the ids that they have now."""
        self.mine: list[ToolServer] = []
        """The servers of the last boot."""
        self._calls: list[Waiting] = []
        self._boot: Future[tuple[Exchange, dict[str, Any]]] | None = None
        self._booted: Exchange | None = None
        self._urls: dict[Waiting, str] = {}
        self._began = 0.0

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

    @property
    def kinds(self) -> tuple[bool, ...]:
        """What the runtime can wait for: pending calls (False), subscriptions (True)."""
        return (False,) if self.habits.lacks(SUBSCRIPTIONS) else (False, True)

    def both(self, server: ToolServer, act: Act | None = None, **how: Any) -> list[Waiting]:
        """A pending call and, where there are any, a subscription with the same answer, in own threads."""
        return [self.call(server, act, subscription=kind, **how) for kind in self.kinds]

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
        """Boot the runtime with these calls, in this order of threads, and further threads without any.

        Raises NotApplicable for what its adapter does not support.
        """
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
        self.habits.demand(needs(body))
        self.given, self._calls = [*mine], [*calls]
        known = dict.fromkeys([*servers, *(call.server for call in calls)])
        self._send_boot(known, body, status_timeout)
        self.habits.demand(needs(body))

    def boot_again(self, servers: Iterable[ToolServer], *, kill: bool = False) -> None:
        """Shut the runtime down, or kill it, and boot it from what it persisted.

        Raises NotApplicable if its adapter cannot kill it.
        """
        if kill:
            self.habits.demand([KILL])
        self.session.adapter.shutdown(kill=kill)
        self._send_boot(dict.fromkeys(servers), None, None)

    def _send_boot(
        self,
        servers: Iterable[ToolServer],
        threads: list[dict[str, Any]] | None,
        status_timeout: float | None,
    ) -> None:
        self.booted(self.timing.silence)
        self.habits.forget()
        body = {
            "servers": [server.base for server in servers],
            "toolsets": {server.base: server.toolset for server in servers},
            "threads": threads,
            "status_timeout": status_timeout or self.timing.status_timeout,
        }
        within = self.timing.silence + self.timing.answer
        self.mine = [*servers]
        self._booted = None
        self._urls.clear()
        self.habits.boots += 1
        self._began = self.patience.now()
        self._boot = self.session.pool.submit(self.session.adapter.boot, body, within)
        self.record.exchanges += 1
        self.booted(_PATIENT_BOOT)

    @property
    def since_boot(self) -> float:
        """Seconds since the last boot has answered, or else since it began."""
        return self.patience.now() - self._began

    def booted(self, within: float = 0.0) -> bool:
        """Whether /boot has answered; what it says is taken in. Raises Refused if it failed."""
        if self._boot is None:
            return True
        boot = self._boot
        if not self.patience.until(boot.done, within, every=0.01):
            return False
        self._boot = None
        self._booted, answer = boot.result()
        self._take_in(answer)
        return True

    @property
    def given_to_boot(self) -> tuple[Exchange, ...]:
        """What the last boot began with, to show beside what did not come of it; nothing if it is long."""
        boot = self._booted
        return (boot,) if boot is not None and len(boot.request_body) <= EVIDENCE else ()

    def _take_in(self, answer: dict[str, Any]) -> None:
        self.habits.learn(answer.get("unsupported", ()))
        made = answer.get("thread_ids", {})
        if len({*made.values()}) < len(made):
            raise AdapterWrong("the adapter's answer to POST /boot gives two threads one id in thread_ids")
        if made:
            self.habits.learn([FOREIGN_THREAD_IDS])
            self.given = [made.get(name, name) for name in self.given]
            for call in self._calls:
                if call.thread in made:
                    call.renamed(made[call.thread])
        self._began = self.patience.now()
        if answer.get("lazy"):
            limit = self.timing.silence + self.timing.answer
            say = self.session.adapter.message
            self.habits.wake(self.given, lambda thread: say(thread, GREETING, limit))
