"""Where and how the status check is asked: by POST, below the base URL that discovery has.

Specification: "Tool Call Status Check", section "Request".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Control, Positive
from rap_conformance.engine.evidence import Exchange
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


METHODS = ("GET", "PUT", "PATCH", "DELETE", "OPTIONS")
NOT_IMPLEMENTED = 501
"""A library that does not know a method says so by this, whatever the path (RFC 9110, 15.6.2)."""


@scenario("TCS023", control=Control("the same URL answers an ordinary query by POST", need_answer))
def test_post_only(peer: Peer) -> None:
    """Other methods are refused as such; OPTIONS may say what there is instead."""
    for method in METHODS:
        exchange = peer.send(method, peer.session.facts.status_url)
        got = str(exchange.failure or f"status {exchange.status}")
        peer.expect(
            is_refused(exchange) or (method == "OPTIONS" and tells_methods(exchange)),
            "405 with Allow, or 404" if method != "OPTIONS" else "what is allowed, 405 with Allow, or 404",
            "405 without Allow" if exchange.status == 405 else got,
            exchange,
            case=f"{method} instead of POST",
        )


def is_refused(exchange: Exchange) -> bool:
    """Whether a method is refused as one that is not there."""
    if exchange.status == 405:
        return exchange.header("allow") is not None
    return exchange.status in {404, NOT_IMPLEMENTED}


def tells_methods(exchange: Exchange) -> bool:
    """Whether an answer to OPTIONS says which methods there are, for any client or for browsers (CORS)."""
    names = [name.lower() for name, _ in exchange.response_headers]
    told = "allow" in names or any(name.startswith("access-control-allow-") for name in names)
    return exchange.status in {200, 204} and told
