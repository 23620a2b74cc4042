"""Questions of callers who are not authentic, made from the credentials of one who is.

Specification: "Tool Call Status Check", section "Security Considerations".
"""

from __future__ import annotations

from rap_conformance.engine.evidence import Exchange, Headers
from rap_conformance.engine.scenario import Untested
from rap_conformance.network.credentials import Credentials
from rap_conformance.protocol.messages import fresh
from rap_conformance.server.call import Call
from rap_conformance.server.peer import Peer


def need_headers(peer: Peer) -> Headers:
    """The configured credential headers, which forgeries start from. Raises Untested if there are none."""
    headers = peer.session.probe.credentials.headers
    if not headers:
        raise Untested("the credentials are not headers, so no forged ones can be made")
    return headers


def forged(peer: Peer, headers: Headers) -> Credentials:
    """Credentials that are not ours, hidden in reports like ours."""
    for _, value in headers:
        if len(value) >= 8:
            peer.session.redactor.learn(value)
    return Credentials(headers)


def ask_as(peer: Peer, caller: Credentials, call: Call | None = None) -> Exchange:
    """The status check by somebody else, about a call of ours or else about an unknown one."""
    if call is None:
        return peer.ask(fresh(), fresh("thread"), credentials=caller)
    return peer.ask(call.id, call.thread, credentials=caller)
