"""After a crash: the status check tells which calls will still deliver, and discovery is up with the port.

Specification: "Tool Call Status Check", introduction; "Protocol Lifecycle", "Startup" and "Shutdown".
"""

from __future__ import annotations

from urllib.parse import urlsplit

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.evidence import Exchange, Failure
from rap_conformance.engine.scenario import Trouble, Untested, Violation, scenario
from rap_conformance.network.supervisor import CommandFailed, listens
from rap_conformance.protocol.messages import JSON, encode, fresh
from rap_conformance.server.peer import Peer


@scenario("DSC013", control=Positive("the manifest has to be there"))
def test_ready_first(peer: Peer) -> None:
    """From the moment the port answers, discovery and invocation do."""
    supervisor, facts = peer.session.supervisor, peer.session.facts
    assert supervisor is not None
    supervisor.kill()
    supervisor.start(None)
    probe = peer.session.probe
    parts = urlsplit(facts.base)
    open_at = peer.patience.until(
        lambda: listens(parts.hostname or "", parts.port or 80) or not supervisor.running, 30.0, every=0.005
    )
    if not open_at or not supervisor.running:
        raise CommandFailed(supervisor.output()[-200:].strip() or "it said nothing")
    first = probe.send("GET", facts.discovery_url, patient=False)
    try:
        box = peer.session.receiver.mailbox()
        tool = peer.session.tool("quick")
        body = {
            "operation": tool.operation,
            "arguments": dict(tool.arguments),
            "id": fresh(),
            "callback_url": box.url,
            "group_id": fresh("thread"),
        }
        second: Exchange | None = probe.send(
            "POST", facts.endpoint, encode(body), headers=JSON, patient=False
        )
    except Untested:
        second = None
    if not peer.patience.until(peer.session.answers, 30.0, every=0.05):
        raise Trouble("the server did not answer discovery within 30 s of its restart")
    for exchange, what in ((first, "discovery"), (second, "invocation")):
        if exchange is None:
            peer.note("invocation was not asked: no tool may be called")
        elif exchange.status is None and exchange.failure is not Failure.REFUSED:
            raise Violation(
                f"{what} answers", str(exchange.failure), exchange, case=f"{what} right after the start"
            )
        elif exchange.status is None or exchange.status >= 400:
            got = exchange.failure or f"status {exchange.status}"
            raise Violation("no error", str(got), exchange, case=f"{what} right after the start")
