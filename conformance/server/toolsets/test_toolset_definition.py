"""Discovery: the manifest, and how it is served.

Specification: "Toolsets"; "Protocol Lifecycle", section "Startup"; "Request Transport".
"""

from __future__ import annotations

from urllib.parse import urlsplit

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.scenario import Untested, scenario
from rap_conformance.protocol.messages import JSON, encode, fresh
from rap_conformance.server.manifest import need_manifest, wrong
from rap_conformance.server.peer import Peer


@scenario("DSC002", control=Positive("the manifest has to be there"))
def test_named(peer: Peer) -> None:
    """A name of 1 to 128 characters."""
    manifest, exchange = need_manifest(peer)
    name = manifest.get("name")
    if not isinstance(name, str) or not 1 <= len(name) <= 128:
        got = f"{len(name)} characters" if isinstance(name, str) else f"{name!a:.60}"
        raise wrong("`name` of 1 to 128 characters", got, exchange, "name")


@scenario("DSC003", control=Positive("the manifest has to be there"))
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


@scenario("DSC004", control=Positive("the manifest has to be there"))
def test_has_tools(peer: Peer) -> None:
    """At least one tool."""
    manifest, exchange = need_manifest(peer)
    tools = manifest.get("tools")
    if not isinstance(tools, list) or not tools:
        raise wrong("`tools` with at least one tool", f"{tools!a:.60}", exchange, "tools")
    if any(not isinstance(tool, dict) for tool in tools):
        raise wrong("each tool is an object", "something else", exchange, "tools are objects")
