"""Discovery: the manifest, and how it is served.

Specification: "Toolsets"; "Protocol Lifecycle", section "Startup"; "Request Transport".
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.scenario import NotApplicable, scenario
from rap_conformance.server.manifest import wrong
from rap_conformance.server.peer import Peer


@scenario("DSC014", control=Positive("the manifest has to be there"))
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
