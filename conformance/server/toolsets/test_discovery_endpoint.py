"""How the manifest is served.

Specification: "Toolsets", section "Discovery Endpoint".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.protocol.reading import strict_json
from rap_conformance.server.facts import parse_manifest
from rap_conformance.server.manifest import discovery_of
from rap_conformance.server.peer import Peer


@scenario("DSC001", control=Positive("the manifest has to be there"))
def test_served(peer: Peer) -> None:
    """200, application/json, a JSON object."""
    exchange = discovery_of(peer)
    if exchange.failure is not None:
        raise Violation("status 200 with a manifest", str(exchange.failure), exchange, case="no whole answer")
    if exchange.status != 200:
        raise Violation("status 200", f"status {exchange.status}", exchange, case="status")
    if exchange.truncated:
        raise Violation("a manifest", "a body of more than 1 MiB", exchange, case="size")
    media = (exchange.header("content-type") or "").split(";")[0].strip().lower()
    peer.expect(
        media == "application/json",
        "Content-Type: application/json",
        media or "no Content-Type",
        exchange,
        case="media type",
    )
    try:
        value = strict_json(exchange.response_body)
    except ValueError as error:
        raise Violation("one JSON object in UTF-8", str(error)[:120], exchange, case="JSON") from None
    peer.expect(
        isinstance(value, dict),
        "a JSON object",
        f"{exchange.response_body[:60]!r}",
        exchange,
        case="JSON object",
    )
    if isinstance(value, dict):
        peer.expect(
            parse_manifest(exchange) is not None,
            "a manifest, which names its endpoint and its tools",
            "a JSON object that names neither; is the base URL right?",
            exchange,
            case="no manifest",
        )


@scenario("DSC012", control=Positive("the manifest has to be there"))
def test_stable(peer: Peer) -> None:
    """Two fetches agree, and a fetch with a foreign Host header does not change what others get."""
    first = peer.discover()
    manifest = parse_manifest(first)
    if manifest is None:
        raise Untested("discovery gives no manifest any more")
    second = peer.discover()
    if not peer.expect(
        parse_manifest(second) == manifest,
        "the same manifest twice",
        "another one",
        second,
        first,
        case="two fetches",
    ):
        return
    foreign = peer.discover(headers=(("Host", "rapc.invalid"),), credentials=None)
    after = peer.discover()
    peer.expect(
        parse_manifest(after) == manifest,
        "the same manifest after somebody's fetch with a foreign Host header",
        "another one",
        after,
        foreign,
        first,
        case="after a foreign Host header",
    )
