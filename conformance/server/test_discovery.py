"""Discovery: the manifest, and how it is served.

Specification: "Toolsets"; "Protocol Lifecycle", section "Startup"; "Request Transport".
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from rap_conformance.catalogue import Level
from rap_conformance.contract import schema_problem
from rap_conformance.evidence import Exchange
from rap_conformance.peer import JSON, Peer, encode, fresh
from rap_conformance.scenario import NotApplicable, Trouble, Untested, Violation, scenario
from rap_conformance.session import parse_manifest
from rap_conformance.wire import strict_json

ALPHABET = re.compile(r"[A-Za-z0-9_-]+")
NAMESPACED = re.compile(r"(x-.+)|(.+[./:].+)", re.IGNORECASE)
ANNOTATIONS: dict[str, type] = {
    "requiresAuth": str,
    "readOnly": bool,
    "destructive": bool,
    "idempotent": bool,
    "longRunning": bool,
}


def need_manifest(peer: Peer) -> tuple[dict[str, Any], Exchange]:
    """The manifest as it was found in the preflight, and the exchange that brought it."""
    facts = peer.session.facts
    if facts.manifest is None or facts.discovery is None:
        raise Untested("discovery gave no manifest, which DSC001 is about")
    return facts.manifest, facts.discovery


def need_tools(peer: Peer) -> Iterator[tuple[str, dict[str, Any], Exchange]]:
    """Each tool with the way to name it. Raises Untested without any."""
    _, exchange = need_manifest(peer)
    tools = peer.session.facts.tools
    if not tools:
        raise Untested("the manifest lists no tools, which DSC004 is about")
    for number, tool in enumerate(tools):
        name = tool.get("name")
        yield (ascii(name)[:60] if isinstance(name, str) else f"tool number {number + 1}"), tool, exchange


def wrong(expected: str, actual: str, exchange: Exchange, case: str, level: Level | None = None) -> Violation:
    """A violation found in the manifest."""
    return Violation(expected, actual, exchange, case=case, level=level)


@scenario("DSC001")
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


@scenario("DSC002")
def test_named(peer: Peer) -> None:
    """A name of 1 to 128 characters."""
    manifest, exchange = need_manifest(peer)
    name = manifest.get("name")
    if not isinstance(name, str) or not 1 <= len(name) <= 128:
        got = f"{len(name)} characters" if isinstance(name, str) else f"{name!a:.60}"
        raise wrong("`name` of 1 to 128 characters", got, exchange, "name")


@scenario("DSC003")
def test_endpoint_url(peer: Peer) -> None:
    """`endpoint` is an absolute URL, and invocations are accepted there as it is written."""
    manifest, exchange = need_manifest(peer)
    endpoint = manifest.get("endpoint")
    with peer.part("an absolute URL"):
        try:
            parts = urlsplit(endpoint) if isinstance(endpoint, str) else None
            sound = parts is not None and parts.scheme in {"http", "https"} and bool(parts.hostname)
            if parts is not None:
                _ = parts.port
        except ValueError:
            sound = False
        if not sound:
            raise wrong("an absolute http or https URL", f"{endpoint!a:.80}", exchange, "endpoint")
    with peer.part("invocations are accepted there"):
        if not isinstance(endpoint, str) or not sound:
            raise Untested("endpoint is no absolute URL")
        if peer.session.probe.credentials and not peer.session.probe.trusts(endpoint):
            raise Untested(
                "the endpoint's origin gets no credentials; list it in auth.origins if it is yours"
            )
        if peer.session.options.invoke == "none":
            raise Untested("no tool may be called (--invoke none)")
        box = peer.session.receiver.mailbox()
        body = {
            "operation": fresh("no-such-operation"),
            "arguments": {},
            "id": fresh(),
            "callback_url": box.url,
            "group_id": fresh("thread"),
        }
        answer = peer.send("POST", endpoint, encode(body), headers=JSON)
        status = answer.status
        # 401 and 403 are a question of credentials, 400 and 422 of the invocation: somebody is there.
        if status is None or status in {404, 405, 410} or status >= 500 or 300 <= status < 400:
            if status is not None and peer.session.calls and peer.session.facts.endpoint == endpoint:
                peer.note(f"an operation that does not exist is answered {status}; others are accepted there")
                return
            got = answer.failure or f"status {status}"
            raise wrong("an invocation endpoint", str(got), answer, "invocation at the endpoint")
        if status >= 300 and not peer.session.calls:
            raise Untested(f"no invocation was accepted (status {status})")


@scenario("DSC004")
def test_has_tools(peer: Peer) -> None:
    """At least one tool."""
    manifest, exchange = need_manifest(peer)
    tools = manifest.get("tools")
    if not isinstance(tools, list) or not tools:
        raise wrong("`tools` with at least one tool", f"{tools!a:.60}", exchange, "tools")
    if any(not isinstance(tool, dict) for tool in tools):
        raise wrong("each tool is an object", "something else", exchange, "tools are objects")


@scenario("DSC005")
def test_tool_names(peer: Peer) -> None:
    """Names of 1 to 128 characters, unique, without white space or control characters."""
    seen: set[str] = set()
    for title, tool, exchange in need_tools(peer):
        name = tool.get("name")
        if not isinstance(name, str) or not 1 <= len(name) <= 128:
            got = f"{len(name)} characters" if isinstance(name, str) else f"{name!a:.60}"
            peer.report(
                wrong("a name of 1 to 128 characters", f"{title}: {got}", exchange, "length of a name")
            )
            continue
        if name in seen:
            peer.report(wrong("a name for one tool only", f"{title} twice", exchange, "a name twice"))
        seen.add(name)
        if any(c.isspace() or unicodedata.category(c).startswith("C") for c in name):
            peer.report(
                wrong("no white space or control characters", title, exchange, "white space in a name")
            )


@scenario("DSC006")
def test_tool_name_alphabet(peer: Peer) -> None:
    """Letters, digits, underscore and hyphen only."""
    for title, tool, exchange in need_tools(peer):
        name = tool.get("name")
        # White space and control characters are DSC005's.
        if isinstance(name, str) and name and not ALPHABET.fullmatch("".join(name.split())):
            peer.report(wrong("ASCII letters, digits, `_` and `-`", title, exchange, "alphabet of a name"))


@scenario("DSC007")
def test_tool_described(peer: Peer) -> None:
    """Every tool has a description that is a string."""
    for title, tool, exchange in need_tools(peer):
        if not isinstance(tool.get("description"), str):
            got = f"{tool.get('description')!a:.60}" if "description" in tool else "none"
            peer.report(
                wrong("`description`, a string", f"{title}: {got}", exchange, "description of a tool")
            )


@scenario("DSC008")
def test_input_schema_valid(peer: Peer) -> None:
    """`inputSchema` is an object and valid against the meta-schema of its draft."""
    unknown = []
    judged = 0
    for title, tool, exchange in need_tools(peer):
        if "inputSchema" not in tool:
            peer.report(wrong("`inputSchema`", f"{title}: none", exchange, "inputSchema is missing"))
            judged += 1
            continue
        judgement = schema_problem(tool["inputSchema"])
        if judgement.status in {"unknown-dialect", "undecided"}:
            unknown.append(f"{title}: {judgement.problem}")
            continue
        judged += 1
        if judgement.status == "invalid":
            peer.report(
                wrong("a valid JSON Schema object", f"{title}: {judgement.problem}", exchange, "inputSchema")
            )
        elif judgement.status == "older":
            drafts = ", ".join(judgement.drafts)
            peer.report(
                wrong(
                    "valid against draft 2020-12, or `$schema` names the draft",
                    f"{title}: valid against {drafts} only",
                    exchange,
                    "draft of an inputSchema",
                    Level.SHOULD,
                )
            )
    if unknown and not judged:
        raise Untested("; ".join(unknown[:3]))
    for text in unknown[:3]:
        peer.note(text)


@scenario("DSC009")
def test_closed_when_empty(peer: Peer) -> None:
    """A tool without parameters allows only the empty object."""
    judged = 0
    for title, tool, exchange in need_tools(peer):
        declared = tool.get("inputSchema")
        if not isinstance(declared, dict) or not takes_nothing(declared):
            continue
        judged += 1
        if not closed(declared):
            peer.report(
                wrong(
                    "`additionalProperties: false` for a tool without parameters",
                    f"{title} takes anything",
                    exchange,
                    "a tool without parameters",
                )
            )
    if not judged:
        raise NotApplicable("every tool has parameters")


def takes_nothing(declared: dict[str, Any]) -> bool:
    """Whether a schema names no parameter at all."""
    open_ended = (
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "$dynamicRef",
        "if",
        "not",
        "patternProperties",
        "enum",
        "const",
    )
    extra = declared.get("additionalProperties", declared.get("unevaluatedProperties"))
    return (
        not declared.get("properties")
        and not any(key in declared for key in open_ended)
        and not isinstance(extra, dict)
    )


def closed(declared: dict[str, Any]) -> bool:
    """Whether a schema without parameters allows only the empty object."""
    return (
        declared.get("additionalProperties") is False
        or declared.get("unevaluatedProperties") is False
        or declared.get("maxProperties") == 0
        or declared.get("propertyNames") is False
    )


@scenario("DSC010")
def test_optional_fields_typed(peer: Peer) -> None:
    """Optional members, where they are, have their types."""
    manifest, exchange = need_manifest(peer)
    for name, kind in (("needsMigration", bool), ("description", str)):
        if name in manifest and not isinstance(manifest[name], kind):
            what = f"{manifest[name]!a:.60}"
            peer.report(wrong(f"`{name}` is a {english(kind)}", what, exchange, f"type of {name}"))
    if not peer.session.facts.tools:
        return
    for title, tool, _ in need_tools(peer):
        if "displayScript" in tool and not isinstance(tool["displayScript"], str):
            what = f"{title}: {tool['displayScript']!a:.60}"
            peer.report(wrong("`displayScript` is a string", what, exchange, "type of displayScript"))
        annotations = tool.get("annotations", {})
        if not isinstance(annotations, dict):
            what = f"{title}: {annotations!a:.60}"
            peer.report(wrong("`annotations` is an object", what, exchange, "type of annotations"))
            continue
        for name, wanted in ANNOTATIONS.items():
            if name in annotations and not isinstance(annotations[name], wanted):
                what = f"{title}: {annotations[name]!a:.60}"
                peer.report(wrong(f"`{name}` is a {english(wanted)}", what, exchange, f"type of {name}"))


def english(kind: type) -> str:
    """A type's name in JSON's words."""
    return {bool: "boolean", str: "string"}[kind]


@scenario("DSC011")
def test_custom_annotations_namespaced(peer: Peer) -> None:
    """Annotation keys of one's own carry some namespace."""
    judged = 0
    for title, tool, exchange in need_tools(peer):
        annotations = tool.get("annotations")
        for key in annotations if isinstance(annotations, dict) else ():
            if key in ANNOTATIONS:
                continue
            judged += 1
            if not NAMESPACED.fullmatch(key):
                what = f"{title}: {key!a:.60}"
                peer.report(wrong("a namespace, such as `x-company-…`", what, exchange, "an annotation key"))
    if not judged:
        raise NotApplicable("no tool has an annotation of one's own")


@scenario("DSC012")
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


@scenario("DSC014")
def test_https(peer: Peer) -> None:
    """A target or endpoint that is not on loopback is HTTPS."""
    facts = peer.session.facts
    far = [url for url in (facts.base, facts.endpoint) if url and not on_loopback(url)]
    if not far:
        raise NotApplicable("target and endpoint are on loopback")
    exchange = facts.discovery
    for url in far:
        if not url.lower().startswith("https:") and exchange is not None:
            what = "base URL" if url == facts.base else "endpoint"
            peer.report(
                wrong("HTTPS beyond loopback", f"{what} {url[:100]!a}", exchange, f"{what} without TLS")
            )


def on_loopback(url: str) -> bool:
    """Whether a URL's host is this machine by its name."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
