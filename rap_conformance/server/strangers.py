"""The status check is for authentic callers only, and a rejection tells nothing.

Specification: "Tool Call Status Check", section "Security Considerations".
"""

from __future__ import annotations

from rap_conformance.engine.evidence import Exchange, Headers
from rap_conformance.engine.scenario import Untested
from rap_conformance.network.probe import Credentials
from rap_conformance.protocol.messages import fresh
from rap_conformance.server.call import Call
from rap_conformance.server.peer import Peer


def need_headers(peer: Peer) -> Headers:
    """The configured credential headers, which forgeries start from."""
    credentials = peer.need_credentials()
    if not credentials.headers:
        raise Untested("the credentials are not headers, so no forged ones can be made")
    return credentials.headers


def disguise(peer: Peer, headers: Headers) -> Credentials:
    """Credentials that are not ours, hidden in reports like ours."""
    for _, value in headers:
        if len(value) >= 8:
            peer.session.redactor.learn(value)
    return Credentials(headers)


def rejected_asking(peer: Peer, credentials: Credentials, call: Call | None = None) -> Exchange:
    """The status check by somebody who is not authentic, about a live call or an unknown one."""
    if call is None:
        return peer.ask(fresh(), fresh("thread"), credentials=credentials)
    return peer.ask(call.id, call.thread, credentials=credentials)
