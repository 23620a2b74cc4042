"""Where and how the status check is asked: by POST, below the base URL that discovery has.

Specification: "Tool Call Status Check", section "Request".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Control, Positive
from rap_conformance.engine.scenario import NotApplicable, scenario
from rap_conformance.protocol.messages import JSON, encode, fresh, query
from rap_conformance.protocol.presence import State
from rap_conformance.server.controls import need_answer
from rap_conformance.server.peer import Peer


@scenario("TCS017", control=Positive("an answer has to be there"))
def test_beside_discovery(peer: Peer) -> None:
    """Where discovery is below a path prefix, so is the status endpoint."""
    facts = peer.session.facts
    if not facts.status_at_root_only and facts.status.state is not State.PRESENT:
        raise NotApplicable("the server has no /tool_call_status")
    beside = f"{facts.base}/tool_call_status"
    body = encode(query(fresh(), fresh("thread")))
    shown = [peer.send("POST", beside, body, headers=JSON)]
    if facts.status_at_root_only:
        shown.append(peer.ask(fresh(), fresh("thread")))
    peer.expect(
        not facts.status_at_root_only,
        f"an answer at {beside}",
        "an answer at the host's root only",
        *shown,
        case="status at the host's root",
    )


@scenario("TCS023", control=Control("the same URL answers an ordinary query by POST", need_answer))
def test_post_only(peer: Peer) -> None:
    """Other methods are refused as such."""
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        exchange = peer.send(method, peer.session.facts.status_url)
        got = str(exchange.failure or f"status {exchange.status}")
        peer.expect(
            exchange.status == 404 or (exchange.status == 405 and exchange.header("allow")),
            "405 with Allow, or 404",
            "405 without Allow" if exchange.status == 405 else got,
            exchange,
            case=f"{method} instead of POST",
        )
