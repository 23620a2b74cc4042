"""Discovery: the manifest, and how it is served.

Specification: "Toolsets"; "Protocol Lifecycle", section "Startup"; "Request Transport".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.scenario import Trouble, Untested, Violation, scenario
from rap_conformance.protocol.reading import strict_json
from rap_conformance.server.facts import parse_manifest
from rap_conformance.server.manifest import need_manifest, wrong
from rap_conformance.server.peer import Peer


@scenario("DSC001", control=Positive("the manifest has to be there"))
def test_served(peer: Peer) -> None:
    """200, application/json, a JSON object."""
    exchange = peer.session.facts.discovery
    if exchange is None:
        raise Trouble("discovery was not asked")
    if exchange.failure is not None:
        raise wrong("status 200 with a manifest", str(exchange.failure), exchange, "no whole answer")
    if exchange.status != 200:
        raise wrong("status 200", f"status {exchange.status}", exchange, "status")
    if exchange.truncated:
        raise wrong("a manifest", "a body of more than 1 MiB", exchange, "size")
    media = (exchange.header("content-type") or "").split(";")[0].strip().lower()
    if media != "application/json":
        peer.report(
            wrong("Content-Type: application/json", media or "no Content-Type", exchange, "media type")
        )
    try:
        value = strict_json(exchange.response_body)
    except ValueError as error:
        raise wrong("one JSON object in UTF-8", str(error)[:120], exchange, "JSON") from None
    if not isinstance(value, dict):
        raise wrong("a JSON object", f"{exchange.response_body[:60]!r}", exchange, "JSON object")


@scenario("DSC012", control=Positive("the manifest has to be there"))
def test_stable(peer: Peer) -> None:
    """Two fetches agree, and a fetch with a foreign Host header does not change what others get."""
    need_manifest(peer)
    first = peer.discover()
    if parse_manifest(first) is None:
        raise Untested("discovery gives no manifest any more")
    second = peer.discover()
    if parse_manifest(first) != parse_manifest(second):
        raise Violation("the same manifest twice", "another one", first, second, case="two fetches")
    peer.discover(headers=(("Host", "rapc.invalid"),), credentials=None)
    after = peer.discover()
    if parse_manifest(after) != parse_manifest(first):
        raise Violation(
            "the same manifest after somebody's fetch with a foreign Host header",
            "another one",
            first,
            after,
            case="after a foreign Host header",
        )
