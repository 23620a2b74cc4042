"""How the manifest is served.

Specification: "Toolsets", section "Discovery Endpoint".
"""

from __future__ import annotations

import json
from typing import Any

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.scenario import NotApplicable, Trouble, Untested, Violation, scenario
from rap_conformance.protocol.reading import DuplicateKey, lenient_json, strict_json, unasked_encoding
from rap_conformance.server.facts import MANIFEST_CAP, parse_manifest
from rap_conformance.server.manifest import discovery_of
from rap_conformance.server.peer import Peer


@scenario("DSC001", control=Positive("the manifest has to be there"))
def test_served(peer: Peer) -> None:
    """200, application/json, a JSON object; asked for once more, too."""
    exchange = discovery_of(peer)
    if exchange.failure is not None:
        raise Violation("status 200 with a manifest", str(exchange.failure), exchange, case="no whole answer")
    if exchange.status != 200:
        raise Violation("status 200", f"status {exchange.status}", exchange, case="status")
    with peer.part("once more"):
        judge_again(peer)
    with peer.part("while a call is pending"):
        judge_busy(peer)
    with peer.part("its form"):
        judge_served(peer, exchange)


def judge_again(peer: Peer) -> None:
    """Who asks a second time, and without a condition, gets a whole answer again (RFC 9110, 15.4.5)."""
    exchange = peer.discover()
    peer.expect(
        exchange.status == 200,
        "status 200 again, as nothing was asked on a condition",
        str(exchange.failure or f"status {exchange.status}"),
        exchange,
        case="asked once more",
    )


def judge_busy(peer: Peer) -> None:
    """A server that works answers discovery as one that rests. Raises NotApplicable without such a tool."""
    try:
        call = peer.invoke("pending")
    except (Untested, Trouble) as missing:
        raise NotApplicable(str(missing)) from missing
    exchange = peer.discover()
    peer.cancel(call)
    peer.expect(
        exchange.status == 200,
        "status 200, whatever the server works on",
        str(exchange.failure or f"status {exchange.status}"),
        exchange,
        case="while a call is pending",
        depends="a call is pending",
    )


def judge_served(peer: Peer, exchange: Exchange) -> None:
    """What came is declared as JSON, and is one object."""
    if exchange.truncated:
        raise Violation("a manifest", f"a body of more than {MANIFEST_CAP >> 20} MiB", exchange, case="size")
    media = (exchange.header("content-type") or "").split(";")[0].strip().lower()
    peer.expect(
        media == "application/json",
        "Content-Type: application/json",
        media or "no Content-Type",
        exchange,
        case="media type",
    )
    encoding = unasked_encoding(exchange)
    peer.expect(
        not encoding,
        "no Content-Encoding, as `identity` was asked for",
        f"Content-Encoding: {encoding}",
        exchange,
        case="an encoding that nobody asked for",
        level=Level.ADVICE,
    )
    try:
        value = strict_json(exchange.response_body)
    except DuplicateKey as twice:
        got = f"twice: {str(twice)[:60]}"
        peer.report(Violation("each key once", got, exchange, case="a key twice", level=Level.ADVICE))
        value = lenient_json(exchange.response_body)
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


def unordered(manifest: dict[str, Any] | None) -> dict[str, Any] | None:
    """A manifest whose tools are in no order: what they are called tells them apart, not where they stand."""
    if manifest is None or not isinstance(tools := manifest.get("tools"), list):
        return manifest
    return {**manifest, "tools": sorted(tools, key=lambda tool: json.dumps(tool, sort_keys=True))}


@scenario("DSC012", control=Positive("the manifest has to be there"))
def test_stable(peer: Peer) -> None:
    """Two fetches agree, and a fetch with a foreign Host header does not change what others get."""
    first = peer.discover()
    manifest = parse_manifest(first)
    if manifest is None:
        raise Untested("discovery gives no manifest any more")
    second = peer.discover()
    if not peer.expect(
        unordered(parse_manifest(second)) == unordered(manifest),
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
        unordered(parse_manifest(after)) == unordered(manifest),
        "the same manifest after somebody's fetch with a foreign Host header",
        "another one",
        after,
        foreign,
        first,
        case="after a foreign Host header",
    )
