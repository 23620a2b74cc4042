"""One run's shared state: the live ends, what the preflight found, the calls we made, how we clean up.

Long because it is what scenarios share; what can be told apart stands in facts, history, tools and needs.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from rap_conformance.engine.evidence import Exchange, Failure, Verdict
from rap_conformance.engine.once import Once
from rap_conformance.engine.plan import Plan
from rap_conformance.engine.requirement import Stage
from rap_conformance.engine.run import Target
from rap_conformance.engine.scenario import Halted, PeerDied, Trouble, Untested
from rap_conformance.engine.session import Account, Lack
from rap_conformance.network.credentials import Credentials
from rap_conformance.network.patience import Patience
from rap_conformance.network.probe import Probe
from rap_conformance.network.redaction import Redactor
from rap_conformance.network.supervisor import CommandFailed, Supervisor, run_command
from rap_conformance.protocol.messages import JSON, encode, fresh, query
from rap_conformance.protocol.presence import Presence, State
from rap_conformance.server.call import Call
from rap_conformance.server.config import Config, ScenarioConfig, redacted
from rap_conformance.server.facts import Facts
from rap_conformance.server.history import History
from rap_conformance.server.identity import credentials_of, secrets_of, sources_of
from rap_conformance.server.needs import Needs
from rap_conformance.server.notices import Notices
from rap_conformance.server.openings import openings
from rap_conformance.server.options import ServerOptions
from rap_conformance.server.recovery import RECOVERY, Recovery
from rap_conformance.server.tempo import Tempo
from rap_conformance.server.tools import Tools

T = TypeVar("T")
STAGGER = 0.3
"""Seconds between the starts of what runs beside each other."""
VERY_LATE = 0.3
"""Seconds that an answer takes of a server of which everything is asked beside each other."""
_SIDES = 48
"""Scenarios that may run beside each other."""
_RESTARTED = 45.0
"""Seconds after which a server of ours that answers no ordinary question any more is started again."""
_GLANCE = 64 * 1024
"""Bytes of a manifest that are read only to see whether anybody answers."""
_CLEANING = 20.0
"""Seconds that leaving a server as it was found may take."""


class ServerSession:
    """Everything scenarios share. Raises ConfigError if the receiver's address cannot be bound."""

    def __init__(self, config: Config, options: ServerOptions, common: Plan) -> None:
        self.config, self.options, self.common = config, options, common
        self.patience = Patience(common.max_time)
        self.redactor = Redactor()
        self.facts = Facts()
        self.history = History()
        self.tempo = Tempo()
        self.calls: list[Call] = []
        self.causes: list[str] = []
        self.notes: list[str] = [_on_the_command_line(options.literal)] if options.literal else []
        self.dead = ""
        self.refused = ""
        """Why credentials that were given are of no use; then nothing can be concluded."""
        self.life: list[Exchange] = []
        self.restarts: list[float] = []
        """When the server was killed, in seconds since the run began."""
        self._once = Once()
        self._closing = threading.Lock()
        self._closed = self._died = False
        self._began_beside: float | None = None
        self._beside = 0
        self.supervisor: Supervisor | None = None
        self.pool = ThreadPoolExecutor(max_workers=_SIDES, thread_name_prefix="scenario")
        for text in config.secrets():
            self.redactor.learn(text)
        self.receiver = options.receiver(self.patience, self.redactor)
        if config.server.command:
            self.supervisor = Supervisor(self.patience, self.redactor, config.server.command)
            address = f"{config.server.scheme}://127.0.0.1:{self.supervisor.port}"
            self.facts.base = f"{address}{config.server.prefix}"
        else:
            self.facts.base = config.server.url or ""
        self.facts.status_url = f"{self.facts.base}/tool_call_status"
        auth = config.auth
        self.probe = Probe(
            self.patience,
            self.redactor,
            timeout=config.server.request_timeout,
            credentials=credentials_of(auth),
            origins=[self.facts.base, *auth.origins],
            context=auth.tls(certificate=False),
            headers=config.server.headers,
            sources=sources_of(auth),
            proof=auth.bundle,
        )
        self.probe.referees[self.facts.status_url] = self.ordinary
        self.other = credentials_of(auth.other) if auth.other else Credentials()
        for secret, name in (*secrets_of(self.probe.credentials), *secrets_of(self.other)):
            self.redactor.own(secret, name)
        self.notices = Notices(self.probe, self.facts, self._once, lambda asks: self.tempo.at_once(asks))
        self.tools = Tools(self.facts, config, options.invoke, common.seed)
        self.needs = Needs(
            self.facts,
            self.tools,
            trusted=auth.none,
            identified=bool(self.probe.credentials),
            other=bool(self.other),
            ours=self.supervisor is not None,
        )
        self.recovery = Recovery(self.patience, self.ordinary, self._as_at_first, self._gone)

    # --- what the engine asks ------------------------------------------------

    def over(self) -> str:
        """Why nothing more can be judged; empty as long as something can."""
        return self.dead or ("the run ended before this was judged" if self.patience.halted else "")

    def time_is_up(self) -> bool:
        """Whether the time allowed for the run has passed."""
        return self.patience.time_is_up

    def now(self) -> float:
        """Seconds since the run began."""
        return self.patience.now()

    def lack(self, need: str) -> Lack | None:
        """What is wrong if something of that name is needed; None if it is there, or nobody knows yet."""
        if self.recovery.failed:
            return Lack(Verdict.UNTESTED, self.recovery.failed)
        return self.needs.lack(need)

    def revive(self, death: PeerDied) -> None:
        """Start the server again if it is ours and does not answer, else nothing more can be judged."""
        if self.answers():
            return
        self._died = True
        if self.supervisor is None:
            self.dead = str(death)
            return
        try:
            self.supervisor.kill()
            self.supervisor.start(self.answers)
        except CommandFailed as failed:
            self.dead = f"{death}; it could not be started again: {failed}"

    def broken(self, code: str) -> None:
        """A requirement was found broken."""
        self.history.break_(code)

    def beside(self, work: Callable[[], T]) -> Future[T]:
        """Do something beside all else: not all of it in the first moment, for many servers have limits."""
        if self._began_beside is None:
            self._began_beside = self.patience.now()
        begin = self._began_beside + (0.0 if self.slow() else STAGGER * self._beside)
        self._beside += 1

        def when_due() -> T:
            with contextlib.suppress(Halted):  # the work finds out by itself that the run is over
                self.patience.pace(max(0.0, begin - self.patience.now()))
            return work()

        return self.pool.submit(when_due)

    def slow(self, stage: Stage = Stage.HARMLESS) -> bool:
        """Whether each answer is so late that everything of a stage runs beside each other.

        What kills one of ours is found out afterwards, alone; somebody else's server would be lost.
        """
        ours = self.supervisor is not None and not self._died
        bearable = stage in {Stage.HARMLESS, Stage.FORGED} or (stage is Stage.DEADLY and ours)
        return bearable and self.tempo.sides > 1 and self.tempo.latency > VERY_LATE

    def left(self) -> float:
        """About how many seconds the calls that were started together still pend."""
        pending = self.config.scenarios.get("pending")
        if self._began_beside is None or pending is None or pending.seconds is None:
            return 0.0
        return max(0.0, self._began_beside + pending.seconds - self.patience.now())

    def halt(self) -> None:
        """End every wait, now and from now on."""
        self.patience.halt()

    @property
    def requests(self) -> int:
        """How many requests were sent so far."""
        return self.probe.requests

    def shown(self) -> str:
        """Where the server is."""
        return self.facts.base

    def account(self) -> Account:
        """What to say of this session at its end."""
        config, options = self.config, self.options
        name = (self.facts.manifest or {}).get("name")
        authentication = "credentials given" if self.probe.credentials else "no credentials given"
        if config.auth.none:
            authentication = "declared: a trusted network without authentication"
        doubtful = self.facts.status_without_live and self.facts.status.state is State.ABSENT
        return Account(
            target=Target(
                url=self.facts.base,
                name=name if isinstance(name, str) else "",
                tools=tuple(str(tool.get("name", "")) for tool in self.facts.tools),
                embedded=options.embedded,
                authentication=authentication,
                command="" if options.embedded else self.redactor.text(config.server.command or ""),
            ),
            requests=self.probe.requests,
            duration=self.patience.now(),
            causes=tuple(self.causes),
            notes=tuple(self.notes),
            cut_short=self.dead,
            incomplete=self.refused or self.recovery.failed,
            doubtful=doubtful and config.features.get("status") is None,
            configuration=redacted(config),
            latencies=self.history.latencies,
            life=tuple(self.life),
            openings=openings(self.needs, self.common.requirements, self.common.seed),
        )

    # --- the server ----------------------------------------------------------

    def answers(self) -> bool:
        """Whether discovery gives any HTTP answer at all (asked twice if need be)."""
        for _ in range(2):
            exchange = self.probe.send("GET", self.facts.discovery_url, patient=False, cap=_GLANCE)
            if exchange.status is not None:
                return True
            if exchange.failure == Failure.REFUSED:
                return False
        return False

    def ordinary(self) -> Exchange:
        """One ordinary question about a call that nobody made."""
        body = encode(query(fresh(), fresh("thread")))
        return self.probe.send("POST", self.facts.status_url, body, headers=JSON, patient=False)

    def _gone(self) -> bool:
        return self.supervisor is not None and not self.supervisor.running

    def speaks(self) -> bool:
        """Whether an ordinary question is answered although many others were not."""
        exchange = self.ordinary()
        self.history.ended(exchange, of_status=False)
        return exchange.failure is not Failure.TIMEOUT

    def recover(self) -> None:
        """Wait until an ordinary question is answered again; if it is not, start a server of ours anew."""
        if self.facts.status.state is not State.PRESENT or self.facts.status_plainly is None:
            return
        if self.recovered(_RESTARTED if self.supervisor else RECOVERY):
            return
        if self.supervisor is not None:
            with contextlib.suppress(Trouble):
                why, self.recovery.failed = self.recovery.failed, ""
                self.restart()
                if self.recovered():
                    self.notes.append(f"{why}; it was started again")
                    return
        if self.recovery.failed not in self.causes:
            self.causes.append(self.recovery.failed)

    def recovered(self, within: float = RECOVERY) -> bool:
        """Wait until an ordinary question is answered again: what our own inputs provoked is waited out."""
        return self.recovery.wait(within)

    def _as_at_first(self, exchange: Exchange) -> bool:
        plainly = self.facts.status_plainly
        return plainly is None or exchange.status == plainly

    def restart(self, *, gently: bool = False) -> None:
        """Kill the server, or ask it to end, and start it again on the same port.

        Raises Untested if it is not ours to restart, Trouble if it does not come up: then the run is over.
        """
        if self.supervisor is None:
            raise Untested("only the suite can restart the server: give --server-cmd instead of --server-url")
        self.restarts.append(self.patience.now())
        if gently:
            self.supervisor.stop()
        else:
            self.supervisor.kill()
        try:
            self.supervisor.start(self.answers)
        except CommandFailed as failed:
            raise self.lost(str(failed)) from failed

    def lost(self, why: str) -> Trouble:
        """The server cannot be started again: nobody is left to ask, and no later input gets the blame."""
        self.dead = self.dead or f"the server could not be started again: {why}"
        return Trouble(self.dead)

    @property
    def examples(self) -> int:
        """Generated examples for each generated requirement that there is time for."""
        return self.tempo.examples(self.common.examples)

    def once(self, key: str, make: Callable[[], T]) -> T:
        """The value of `make()`, computed once a run; an exception counts as not computed."""
        return self._once.get(key, make)

    def tool(self, kind: str) -> ScenarioConfig:
        """What to invoke for a call of a kind. Raises Untested (it says what to configure), NotApplicable."""
        return self.tools.of(kind)

    def fire(self) -> None:
        """Cause an event, if the configuration says how. Raises Trouble if the command fails."""
        chosen = self.config.scenarios.get("subscription")
        if chosen is not None and chosen.trigger:
            status, said = run_command(chosen.trigger, within=30.0)
            if status != 0:
                raise Trouble(
                    f"scenario.subscription.trigger ended with status {status}: {self.redactor.text(said)}"
                )

    # --- optional endpoints and cleaning up ----------------------------------

    def exists(self, path: str) -> Presence:
        """Whether an optional endpoint such as "close_thread" is there."""
        return self.notices.exists(path)

    def notify(self, path: str, body: dict[str, Any], who: Credentials | None = None) -> Exchange | None:
        """Send a notification if the server has the endpoint; None if it has not."""
        return self.notices.notify(path, body, who)

    def clean_up(self) -> None:
        """Cancel every call that may still run and close every thread of ours."""
        self.probe.patience = Patience(_CLEANING)
        if not self.dead and self.calls and self.answers():
            self.tempo.at_once(self.notices.ends_of(self.calls, self.other))

    def leaving(self) -> str:
        """What `close` will do, in words."""
        ends = f"cancelling those of our {len(self.calls)} calls that may still run" if self.calls else ""
        stops = "stopping the server" if self.supervisor is not None else ""
        return " and ".join(filter(None, (ends, stops))) or "closing our connections"

    def hurry(self) -> None:
        """Cancel no more calls."""
        self.probe.patience.halt()

    def close(self) -> None:
        """Leave the server as it was found and stop what was started; safe to call twice."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        self.pool.shutdown(wait=False, cancel_futures=True)
        with contextlib.suppress(Exception):
            self.clean_up()
        self.probe.close()
        self.receiver.stop()
        if self.supervisor is not None:
            self.supervisor.close()


def _on_the_command_line(header: str) -> str:
    return (
        f"the credential for {header} stands on the command line, where histories and process lists "
        f"show it; better: export RAP_TOKEN='…' and --auth-header '{header}: env:RAP_TOKEN'"
    )
