"""The live server as one scenario sees it: ask, invoke, cancel, wait; everything is recorded.

A `Peer` belongs to one scenario and shares the run's session. Times are
seconds since the run began, durations seconds.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rap_conformance.engine.evidence import Exchange, Failure, Finding, Headers
from rap_conformance.engine.record import Record, Recorder
from rap_conformance.engine.requirement import Stage
from rap_conformance.engine.scenario import PeerDied, Trouble, Untested, Violation
from rap_conformance.network.pace import NoAnswer
from rap_conformance.network.receiver import Answer, Delivery, Mailbox
from rap_conformance.protocol.messages import JSON, closure, encode, fresh, invocation, query
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asked_again import Replayer
from rap_conformance.server.call import Call
from rap_conformance.server.config import ScenarioConfig
from rap_conformance.server.facts import MANIFEST_CAP
from rap_conformance.server.planting import LENGTH, planted

if TYPE_CHECKING:
    from rap_conformance.server.session import ServerSession

Form = Callable[[dict[str, Any]], dict[str, Any]]
"""What becomes of a body."""

MOST_SILENCES = 10
"""Requests in a row without an answer after which scenarios ask no more: each costs a whole time-out."""


class Peer(Recorder):
    """What a scenario may do with the server under test."""

    def __init__(self, session: ServerSession, record: Record, attempt: int = 0) -> None:
        self.session, self.record, self.attempt = session, record, attempt
        self.patience = session.patience
        self.config = session.config
        timing = session.config.timing
        self.slack, self.grace, self.race = timing.arrival_slack, timing.grace, timing.race_window

    def replayed(self, finding: Finding) -> Finding:
        """The finding, asked again: on what it depends, if it does not show by its one request."""
        return self.session.once("replayer", lambda: Replayer(self.session)).replayed(finding)

    def apart(self) -> Peer:
        """A peer of the same scenario with a record of its own, for what runs beside; `join` its record."""
        return type(self)(self.session, Record(self.record.requirement, self.record.hear), self.attempt)

    # --- plain requests ------------------------------------------------------

    def send(self, method: str, url: str, body: bytes | Iterable[bytes] = b"", **how: Any) -> Exchange:
        """One exchange; `how` as for Probe.send.

        Amid wrong credentials a right request that is refused says nothing: it is sent again once ordinary
        questions are answered. Raises Untested if they are not.
        """
        who, other = how.get("credentials"), self.session.other
        if not self._forging or not (who is None or (other and who == other)):
            return self._send(method, url, body, **how)
        try:
            exchange = self._send(method, url, body, **how)
        except NoAnswer:
            pass
        else:
            refused = exchange.status in {401, 403} or exchange.failure in {Failure.REFUSED, Failure.TLS}
            asked = url == self.session.facts.status_url and exchange.status is None
            if not (refused or asked):
                return exchange
        if not self.session.recovered():
            raise Untested(self.session.recovery.failed)
        return self._send(method, url, body, **how)

    def _send(self, method: str, url: str, body: bytes | Iterable[bytes], **how: Any) -> Exchange:
        self.patience.check()
        history = self.session.history
        if history.silences >= MOST_SILENCES and not self.session.speaks():
            raise Trouble(
                f"the server left {MOST_SILENCES} requests in a row without an answer, so no more are made"
            )
        before = history.last()
        exchange = self.session.probe.send(method, url, body, **how)
        self.record.exchanges += 1
        history.ended(exchange, of_status=url == self.session.facts.status_url)
        if exchange.failure is Failure.REFUSED and url.startswith(self.session.facts.base):
            if not self.session.answers() and not (self._forging and self.session.recovered()):
                raise _died(_epitaph(before) if before else f"nobody answers at {url} any more", before)
        return exchange

    @property
    def _forging(self) -> bool:
        return self.record.requirement.stage is Stage.FORGED

    def discover(self, **how: Any) -> Exchange:
        """GET the manifest, however large."""
        return self.send("GET", self.session.facts.discovery_url, **{"cap": MANIFEST_CAP, **how})

    def post_status(
        self, body: bytes | Iterable[bytes], *, headers: Headers = JSON, method: str = "POST", **how: Any
    ) -> Exchange:
        """Any bytes to the status endpoint."""
        return self.send(method, self.session.facts.status_url, body, headers=headers, **how)

    def ask(self, tool_call_id: str, thread_id: str, **how: Any) -> Exchange:
        """The status check as a runtime sends it."""
        return self.post_status(encode(query(tool_call_id, thread_id)), **how)

    def ask_about(self, call: Call, **how: Any) -> Exchange:
        """The status check about one of our calls, by whoever made it."""
        if call.other and "credentials" not in how:
            how["credentials"] = self.session.other
        return self.ask(call.id, call.thread, **how)

    # --- needs ---------------------------------------------------------------

    @property
    def authenticated(self) -> bool:
        """Whether credentials are configured."""
        return bool(self.session.probe.credentials)

    # --- calls ---------------------------------------------------------------

    def invoke(
        self,
        kind: str,
        *,
        id: str | None = None,
        thread: str | None = None,
        script: Callable[[int], Answer] | None = None,
        other: bool = False,
        arguments: Mapping[str, Any] | None = None,
        **how: Any,
    ) -> Call:
        """Start a call of a configured (or found) kind: quick, pending, subscription, final.

        `how` is what `invoke_tool` takes beside.
        Raises Untested if no such tool may be called, Trouble if the server does not acknowledge the call.
        """
        tool = self.session.tool(kind)
        if arguments is not None:
            tool = replace(tool, arguments=dict(arguments))
        return self.invoke_tool(kind, tool, id=id, thread=thread, script=script, other=other, **how)

    def invoke_tool(
        self,
        kind: str,
        tool: ScenarioConfig,
        *,
        id: str | None = None,
        thread: str | None = None,
        script: Callable[[int], Answer] | None = None,
        other: bool = False,
        mailbox: Mailbox | None = None,
        form: Form | None = None,
    ) -> Call:
        """Call a tool, whatever it is. Raises Trouble if the server does not acknowledge the call.

        `mailbox` is one that another call has, too; `form` makes another body of the usual one.
        """
        canaries = tuple(secrets.token_hex(LENGTH // 2) for _ in range(4))
        mailbox = mailbox or self.session.receiver.mailbox(script, suffix=f"/{canaries[0]}?key={canaries[1]}")
        call = Call(
            kind,
            id or fresh(),
            thread or fresh("thread"),
            mailbox,
            canaries,
            other,
            tool.operation,
            tool.seconds or 0.0,
        )
        call.code = self.record.requirement.code
        for before in tool.setup:
            self._run(before.operation, dict(before.arguments), call.thread, other)
        schema = self.session.facts.free_text(tool.operation)
        self._post_invocation(call, tool.operation, planted(tool.arguments, schema, canaries[2]), form)
        return call

    def _run(self, operation: str, arguments: dict[str, Any], thread: str, other: bool) -> None:
        box = self.session.receiver.mailbox()
        call = Call("setup", fresh("setup"), thread, box, (), other)
        self._post_invocation(call, operation, arguments)
        if not box.until(lambda arrived: any(d.type == "tool_result" for d in arrived), self.grace):
            raise Trouble(f"the set-up call {operation!r} brought no result within {self.grace:g} s")

    def _post_invocation(
        self, call: Call, operation: str, arguments: dict[str, Any], form: Form | None = None
    ) -> None:
        user = call.canaries[3] if call.canaries else None
        body = invocation(operation, arguments, call.id, call.thread, call.mailbox.url, user_id=user)
        body = form(body) if form else body
        self.session.calls.append(call)
        call.sent = self.patience.now()
        credentials = self.session.other if call.other else None
        exchange = self.send(
            "POST", self.session.facts.endpoint, encode(body), headers=JSON, credentials=credentials
        )
        call.exchange, call.acknowledged = exchange, self.patience.now()
        if exchange.status is None or not 200 <= exchange.status < 300:
            self.session.calls.remove(call)
            self.session.facts.invocation_refused = exchange.status
            self.survived(exchange)
            got = exchange.status or exchange.failure
            raise Trouble(f"the server did not accept the invocation of {operation!r}: it answered {got}")

    def need_result(self, call: Call, within: float | None = None) -> Delivery:
        """Wait for the call's result. Raises Untested if none comes in time."""
        limit = within or self.session.tools.patience(call.kind, call.seconds, self.grace)
        if (result := self.result_of(call, limit)) is None:
            self.session.tools.brought_nothing(call.kind)
            raise Untested(f"no result arrived for a {call.kind} call ({call.operation}) within {limit:g} s")
        return result

    def result_of(self, call: Call, within: float) -> Delivery | None:
        """Wait for the call's result; None if none comes in time.

        As long as results come of calls of its kind that were made before it, there may be a queue, and each
        gives it as much time anew.
        """
        start, left = self.patience.now(), within
        while not call.mailbox.until(lambda _: call.result, left):
            before = [c for c in list(self.session.calls) if c.kind == call.kind and c.sent < call.sent]
            latest = max([start, *(c.results[0].arrived for c in before if c.results)])
            left = latest + within - self.patience.now()
            if left <= 0.0:
                return None
        return call.result

    def cancel(self, call: Call) -> Exchange | None:
        """Cancel one of our calls, if the server takes cancellations."""
        call.cancelled = True
        return self._act("cancel_tool_call", query(call.id, call.thread), call)

    def close_thread(self, call: Call) -> Exchange | None:
        """Close the thread of one of our calls, if the server takes closures."""
        call.cancelled = True
        return self._act("close_thread", closure(call.thread), call)

    def _act(self, path: str, body: dict[str, Any], call: Call) -> Exchange | None:
        exchange = self.session.notify(path, body, self.session.other if call.other else None)
        if exchange is not None:
            call.acts.append(exchange)
        return exchange

    # --- survival ------------------------------------------------------------

    def survived(self, culprit: Exchange, before: Exchange | None = None, watch: float = 0.0) -> None:
        """Ask for the manifest. Raises PeerDied, naming the input, if nobody answers any more.

        A server may die a moment after it answered: `watch` looks on for so many seconds, and
        `before`, the input before this one, is named too if it was sent just before.
        """
        began = self.patience.now()
        alive = self.session.answers()
        if alive and self.patience.now() - began < watch:
            alive = not self.patience.until(lambda: not self.session.answers(), watch, every=0.05)
        if not alive:
            message = _epitaph(culprit)
            if before is not None and culprit.started - before.ended < 0.3:
                message += f"; just before it was asked {_shown(before)}"
            raise _died(message, culprit)

    def expect_rejected(self, exchange: Exchange, case: str, *, oversized: bool = False) -> None:
        """An input that need not be understood gets any 4xx, or "not alive"; never alive, 5xx or silence."""
        if oversized and exchange.failure is not None and exchange.status is None:
            if exchange.failure.name in {"RESET", "CUT_SHORT"}:
                return
        if exchange.failure is not None:
            raise Violation("a 4xx or `alive: false`", f"{exchange.failure.value}", exchange, case=case)
        assert exchange.status is not None
        if exchange.status >= 500:
            raise Violation("a 4xx or `alive: false`", f"status {exchange.status}", exchange, case=case)
        alive = means_alive(exchange)
        if alive:
            raise Violation("a 4xx or `alive: false`", "`alive: true`", exchange, case=case)
        if alive is None:
            raise Violation(
                "a 4xx or `alive: false`", f"status {exchange.status} without either", exchange, case=case
            )


def _died(message: str, culprit: Exchange | None) -> PeerDied:
    return PeerDied(message, culprit, expected="the server goes on answering", case="the server died")


def _epitaph(culprit: Exchange) -> str:
    return f"the server stopped answering after {_shown(culprit)}"


def _shown(exchange: Exchange) -> str:
    body = ascii(exchange.request_body[:120].decode("utf-8", "replace"))
    return f"{exchange.method} {exchange.url} with the body {body}"
