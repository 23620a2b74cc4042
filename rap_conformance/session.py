"""One run's shared state: the peers, what the preflight found, the calls we made, how we clean up."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rap_conformance.config import Auth, Config, ScenarioConfig
from rap_conformance.evidence import Exchange, Failure
from rap_conformance.options import ConfigError
from rap_conformance.peer import JSON, Call, encode, query
from rap_conformance.peers.patience import Patience
from rap_conformance.peers.probe import Credentials, NoAnswer, Probe
from rap_conformance.peers.receiver import Receiver
from rap_conformance.peers.redaction import Redactor
from rap_conformance.peers.supervisor import Supervisor, run_command
from rap_conformance.presence import Presence, State, decide
from rap_conformance.scenario import NotApplicable, Trouble, Untested

T = TypeVar("T")
EXAMPLES = {"quick": 20, "standard": 100, "thorough": 1000}
NOT_ASKED = Presence(State.UNSURE, "the preflight did not get that far")


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line decides, beside the configuration. Times are seconds."""

    invoke: str = ""
    profile: str = "standard"
    seed: int = 0
    gentle: bool = False
    level: str = "must"
    strict: bool = False
    selected: tuple[str, ...] = ()
    max_time: float | None = None
    callback_bind: tuple[str, int] = ("127.0.0.1", 0)
    callback_url: str | None = None
    embedded: bool = False

    @property
    def examples(self) -> int:
        """Generated examples for each generated requirement."""
        return EXAMPLES[self.profile]


@dataclass(slots=True)
class Facts:
    """What is known about the server. `manifest` is as it came, however wrong."""

    base: str = ""
    discovery: Exchange | None = None
    manifest: dict[str, Any] | None = None
    endpoint: str = ""
    status_url: str = ""
    status: Presence = NOT_ASKED
    status_at_root_only: bool = False
    status_without_live: bool = False
    status_plainly: int | None = None
    invocation_refused: int | None = None
    quick_seconds: float | None = None
    no_calls: str = ""
    extra: dict[str, Presence] = field(default_factory=dict)

    @property
    def discovery_url(self) -> str:
        """Where the manifest is."""
        return f"{self.base}/.well-known/rap-toolset"

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The manifest's tools, those that are objects."""
        tools = (self.manifest or {}).get("tools")
        return [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []

    def tool(self, name: str) -> dict[str, Any] | None:
        """The tool of that name."""
        return next((tool for tool in self.tools if tool.get("name") == name), None)


class Session:
    """Everything scenarios share. Raises OSError if the receiver's address cannot be bound."""

    def __init__(self, config: Config, options: Options) -> None:
        self.config, self.options = config, options
        self.patience = Patience(options.max_time)
        self.redactor = Redactor()
        self.facts = Facts()
        self.calls: list[Call] = []
        self.causes: list[str] = []
        self.notes: list[str] = []
        self.dead = ""
        self.broken: set[str] = set()
        """Codes that were found broken so far: what follows from them is not held against others."""
        self.last: Exchange | None = None
        self.silences = 0
        self.latencies: list[float] = []
        self.life: list[Exchange] = []
        self.provoked: list[Exchange] = []
        self._made: dict[str, Any] = {}
        self._once_lock = threading.Lock()
        self._once_locks: dict[str, threading.RLock] = {}
        self.supervisor: Supervisor | None = None
        self.pool = ThreadPoolExecutor(max_workers=24, thread_name_prefix="scenario")
        for text in config.secrets():
            self.redactor.learn(text)
        host, port = options.callback_bind
        self.receiver = Receiver(self.patience, self.redactor, host, port, options.callback_url)
        if config.server.command:
            self.supervisor = Supervisor(self.patience, self.redactor, config.server.command)
            self.facts.base = f"http://127.0.0.1:{self.supervisor.port}{config.server.prefix}"
        else:
            self.facts.base = config.server.url or ""
        self.facts.status_url = f"{self.facts.base}/tool_call_status"
        auth = config.auth
        self.probe = Probe(
            self.patience,
            self.redactor,
            timeout=config.server.request_timeout,
            credentials=_credentials(auth),
            origins=[self.facts.base, *auth.origins],
            context=auth.tls(),
        )
        self.other = _credentials(auth.other) if auth.other else Credentials()

    # --- the server ----------------------------------------------------------

    def start(self) -> None:
        """Start receiver and server. Raises CommandFailed if the command gives up first."""
        self.receiver.start()
        if self.supervisor is not None:
            self.supervisor.start(self.answers)

    def answers(self) -> bool:
        """Whether discovery gives any HTTP answer at all (asked twice if need be)."""
        for _ in range(2):
            exchange = self.probe.send("GET", self.facts.discovery_url, patient=False)
            if exchange.status is not None:
                return True
            if exchange.failure == Failure.REFUSED:
                return False
        return False

    def restart(self, *, kill: bool = True) -> None:
        """Kill the server and start it again on the same port. Raises Trouble if it does not come up."""
        if self.supervisor is None:
            raise Untested("only the suite can restart the server: give --server-cmd instead of --server-url")
        if kill:
            self.supervisor.kill()
        self.supervisor.start(self.answers)

    def once(self, key: str, make: Callable[[], T]) -> T:
        """The value of `make()`, computed once a run; an exception counts as not computed."""
        with self._once_lock:
            lock = self._once_locks.setdefault(key, threading.RLock())
        with lock:
            if key not in self._made:
                self._made[key] = make()
            value: T = self._made[key]
            return value

    # --- tools ---------------------------------------------------------------

    def tool(self, kind: str) -> ScenarioConfig:
        """What to invoke for a call of a kind. Raises Untested, saying what to configure."""
        if self.facts.no_calls:
            raise Untested(self.facts.no_calls)
        policy = self.options.invoke
        if policy == "none":
            raise Untested("no tool may be called (--invoke none)")
        name = "subscription" if kind == "final" else kind
        if self.config.features.get(name) is False:
            raise NotApplicable(f"the configuration declares that the server has none (features.{name})")
        chosen = (
            None if policy == "any" and name not in self.config.scenarios else self.config.scenarios.get(name)
        )
        if chosen is None:
            return self._found(kind)
        listed = self.facts.tool(chosen.operation)
        if listed is None:
            raise Untested(f"scenario.{name}.operation {chosen.operation!r} is not among the server's tools")
        if policy == "read-only" and not _annotated(listed, "readOnly"):
            raise Untested(
                f"scenario.{name} calls a tool that is not annotated readOnly (--invoke read-only)"
            )
        if kind == "final":
            if chosen.final_arguments is None:
                raise Untested(
                    "no subscription that ends by itself: configure scenario.subscription.final_arguments"
                )
            return ScenarioConfig(chosen.operation, chosen.final_arguments, setup=chosen.setup)
        return chosen

    def _found(self, kind: str) -> ScenarioConfig:
        missing = (
            f"no tool for a {kind} call; configure [scenario.{'subscription' if kind == 'final' else kind}]"
        )
        if kind not in {"quick", "pending"} or (self.options.invoke == "configured"):
            raise Untested(missing)
        found = self.once("found tool", self._search)
        if found is None:
            raise Untested(missing + " (no tool is annotated readOnly and callable with generated arguments)")
        lasting = self.facts.quick_seconds or 0.0
        if kind == "pending":
            if lasting < 8 * self.config.timing.arrival_slack:
                raise Untested("no tool that stays pending; configure [scenario.pending]")
            return ScenarioConfig(found.operation, found.arguments, seconds=lasting)
        return found

    def _search(self) -> ScenarioConfig | None:
        from rap_conformance.contract import minimal_arguments

        for tool in self.facts.tools:
            allowed = _annotated(tool, "readOnly") or self.options.invoke == "any"
            if not allowed or _annotated(tool, "destructive") or not isinstance(tool.get("name"), str):
                continue
            schema = tool.get("inputSchema")
            arguments = minimal_arguments(schema, self.options.seed) if isinstance(schema, dict) else None
            if arguments is not None:
                return ScenarioConfig(tool["name"], arguments)
        return None

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
        """Whether an optional endpoint such as "close_thread" is there, asked once a run, harmlessly."""

        def look() -> Presence:
            thread, call = "rapc-thread-nobody", "rapc-call-nobody"
            impossible = f"/rapc-no-such-path-{os.urandom(6).hex()}"
            body = {"thread_id": thread} if path == "close_thread" else query(call, thread)
            pairs = []
            for method, data in (("POST", encode(body)), ("GET", b"")):
                mine, theirs = (
                    self.probe.send(method, self.facts.base + place, data, headers=JSON if data else ())
                    for place in (f"/{path}", impossible)
                )
                pairs.append((mine, theirs))
            return decide(pairs, (f"/{path}", impossible), (thread, call))

        return self.once(f"exists {path}", look)

    def notify(
        self, path: str, body: dict[str, Any], credentials: Credentials | None = None
    ) -> Exchange | None:
        """Send a notification if the server has the endpoint; None if it has not."""
        if self.exists(path).state is not State.PRESENT:
            return None
        return self.probe.send(
            "POST",
            f"{self.facts.base}/{path}",
            encode(body),
            headers=JSON,
            credentials=credentials,
            within=10.0,
        )

    def clean_up(self) -> None:
        """Cancel every call that may still run and close every thread of ours; never raises."""
        self.probe.patience = Patience(20.0)
        threads: dict[str, Credentials | None] = {}
        if not self.dead and self.calls and self.answers():
            with contextlib.suppress(Exception):
                for call in self.calls:
                    who = self.other if call.other else None
                    threads.setdefault(call.thread, who)
                    over = call.final if call.kind in {"subscription", "final"} else call.result
                    if not over and not call.cancelled:
                        with contextlib.suppress(NoAnswer):
                            self.notify("cancel_tool_call", query(call.id, call.thread), who)
                for thread, who in threads.items():
                    with contextlib.suppress(NoAnswer):
                        self.notify("close_thread", {"thread_id": thread}, who)

    def close(self) -> None:
        """Stop everything we started."""
        self.pool.shutdown(wait=False, cancel_futures=True)
        with contextlib.suppress(Exception):
            self.clean_up()
        self.probe.close()
        self.receiver.stop()
        if self.supervisor is not None:
            self.supervisor.close()


def parse_manifest(exchange: Exchange) -> dict[str, Any] | None:
    """The manifest, read leniently: any JSON object in any answer."""
    try:
        value = json.loads(exchange.response_body.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _annotated(tool: dict[str, Any], name: str) -> bool:
    annotations = tool.get("annotations")
    return isinstance(annotations, dict) and annotations.get(name) is True


def _credentials(auth: Auth) -> Credentials:
    signer = None
    if auth.sigv4 is not None:
        from rap_conformance.peers import sigv4

        try:
            signer = sigv4.signer(auth.sigv4.service, auth.sigv4.region)
        except sigv4.NoAwsCredentials as missing:
            raise ConfigError(str(missing)) from None
    return Credentials(tuple((name, secret.reveal()) for name, secret in auth.headers), signer)


__all__ = ["Facts", "Options", "Session", "Trouble", "parse_manifest"]
