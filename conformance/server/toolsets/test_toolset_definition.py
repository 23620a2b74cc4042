"""The toolset as a whole: its name, its endpoint, its list of tools.

Specification: "Toolsets", section "Toolset Definition".
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.evidence import Exchange, Headers
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.protocol.messages import JSON, encode, fresh, invocation
from rap_conformance.protocol.presence import State
from rap_conformance.server.endpoints import Inquiry
from rap_conformance.server.facts import is_wildcard
from rap_conformance.server.manifest import is_name, length_of, manifest_of
from rap_conformance.server.peer import Peer


@scenario("DSC002", control=Positive("the manifest has to be there"))
def test_named(peer: Peer) -> None:
    """A name of 1 to 128 characters."""
    manifest, exchange = manifest_of(peer)
    name = manifest.get("name")
    peer.expect(is_name(name), "`name` of 1 to 128 characters", length_of(name), exchange, case="name")


@scenario("DSC003", control=Positive("the manifest has to be there"))
def test_endpoint_url(peer: Peer) -> None:
    """`endpoint` is an absolute URL, and invocations are accepted there as it is written."""
    manifest, exchange = manifest_of(peer)
    endpoint = manifest.get("endpoint")
    with peer.part("an absolute URL"):
        peer.expect(
            is_absolute(endpoint),
            "an absolute http or https URL",
            f"{endpoint!a:.80}",
            exchange,
            case="endpoint",
        )
        peer.expect(
            not isinstance(endpoint, str) or not is_wildcard(endpoint),
            "an address that others can use",
            f"{endpoint!a:.80}, which stands for all addresses of the server's own machine",
            exchange,
            case="endpoint on a wildcard address",
        )
    with peer.part("invocations are accepted there"):
        if not isinstance(endpoint, str) or not is_absolute(endpoint):
            raise Untested("endpoint is no absolute URL")
        expect_endpoint(peer, peer.session.facts.endpoint if is_wildcard(endpoint) else endpoint)


def is_absolute(endpoint: object) -> bool:
    """Whether this is an absolute http(s) URL, its port a number if it names one."""
    if not isinstance(endpoint, str):
        return False
    try:
        parts = urlsplit(endpoint)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def expect_endpoint(peer: Peer, endpoint: str) -> None:
    """Somebody takes invocations at the URL, exactly as it is written."""
    if peer.session.probe.credentials and not peer.session.probe.trusts(endpoint):
        raise Untested("the endpoint's origin gets no credentials; list it in auth.origins if it is yours")
    if peer.session.options.invoke == "none":
        raise Untested("no tool may be called (--invoke none)")
    box = peer.session.receiver.mailbox()
    body = invocation(fresh("no-such-operation"), {}, fresh(), fresh("thread"), box.url)
    answer = peer.send("POST", endpoint, encode(body), headers=JSON)
    status, accepted = answer.status, bool(peer.session.calls)
    # 401 and 403 are a question of credentials, 400 and 422 of the invocation: somebody is there.
    if status is None or status in {404, 405, 410} or status >= 500 or 300 <= status < 400:
        ours = accepted and peer.session.facts.endpoint == endpoint
        if status is None or not (ours or is_somebody(peer, endpoint, body)):
            raise Violation(
                "an invocation endpoint",
                str(answer.failure or f"status {status}"),
                answer,
                case="invocation at the endpoint",
            )
        peer.note(
            f"an operation that does not exist is answered {status}, but not as at a path without anybody"
        )
    elif status >= 300 and not accepted:
        raise Untested(f"no invocation was accepted (status {status})")
    peer.judged()


def is_somebody(peer: Peer, endpoint: str, body: dict[str, Any]) -> bool:
    """Whether an invocation is answered there otherwise than at a path that cannot exist.

    A 404 may be about the operation; that one is acknowledged with 200 is asked by another page.
    """
    parts = urlsplit(endpoint)

    def send(method: str, url: str, sent: bytes, headers: Headers) -> Exchange:
        return peer.send(method, url, sent, headers=headers)

    inquiry = Inquiry(send, f"{parts.scheme}://{parts.netloc}", parts.path or "/")
    inquiry.ask("POST", encode(body), str(body["id"]), str(body["group_id"]), str(body["operation"]))
    return inquiry.shown().state is State.PRESENT


@scenario("DSC004", control=Positive("the manifest has to be there"))
def test_has_tools(peer: Peer) -> None:
    """At least one tool."""
    manifest, exchange = manifest_of(peer)
    tools = manifest.get("tools")
    if not isinstance(tools, list) or not tools:
        raise Violation("`tools` with at least one tool", f"{tools!a:.60}", exchange, case="tools")
    peer.expect(
        all(isinstance(tool, dict) for tool in tools),
        "each tool is an object",
        "something else",
        exchange,
        case="tools are objects",
    )
