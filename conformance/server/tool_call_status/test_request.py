"""The status check's answers: their form, and what they say of calls that are not live.

Specification: "Tool Call Status Check", sections "Response" and "Query Semantics".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Control, Positive
from rap_conformance.engine.scenario import NotApplicable, Violation, scenario
from rap_conformance.protocol.messages import encode, fresh, query
from rap_conformance.protocol.presence import State
from rap_conformance.server.controls import need_answer
from rap_conformance.server.peer import Peer


@scenario("TCS017", control=Positive("an answer has to be there"))
def test_beside_discovery(peer: Peer) -> None:
    """Where discovery is below a path prefix, so is the status endpoint."""
    facts = peer.session.facts
    prefix = facts.base.split("://", 1)[1].partition("/")[2]
    if not prefix:
        raise NotApplicable("the base URL has no path prefix")
    if facts.status_at_root_only:
        raise Violation(
            f"an answer at {facts.base}/tool_call_status",
            "an answer at the host's root only",
            peer.ask(fresh(), fresh("thread")),
            peer.send("POST", f"{facts.base}/tool_call_status", encode(query(fresh(), fresh("thread")))),
            case="status at the host's root",
        )
    if facts.status.state is not State.PRESENT:
        raise NotApplicable("the server has no /tool_call_status")


@scenario("TCS023", control=Control("the same URL answers an ordinary query by POST", need_answer))
def test_post_only(peer: Peer) -> None:
    """Other methods are refused as such."""
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        exchange = peer.send(method, peer.session.facts.status_url)
        case = f"{method} instead of POST"
        if exchange.status == 404 or (exchange.status == 405 and exchange.header("allow")):
            continue
        got = exchange.failure or f"status {exchange.status}"
        if exchange.status == 405:
            got = "405 without Allow"
        peer.report(Violation("405 with Allow, or 404", str(got), exchange, case=case))
