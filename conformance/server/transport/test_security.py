"""HTTPS wherever others may listen.

Specification: "Request Transport", section "Security Considerations".
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.scenario import NotApplicable, scenario
from rap_conformance.server.manifest import discovery_of
from rap_conformance.server.peer import Peer


@scenario("DSC014", control=Positive("a target or endpoint beyond loopback has to be there"))
def test_https(peer: Peer) -> None:
    """A target or endpoint that is not on loopback is HTTPS."""
    facts = peer.session.facts
    far = [url for url in (facts.base, facts.endpoint) if url and not on_loopback(url)]
    if not far:
        raise NotApplicable("target and endpoint are on loopback")
    for url in far:
        what = "base URL" if url == facts.base else "endpoint"
        peer.expect(
            url.lower().startswith("https:"),
            "HTTPS beyond loopback",
            f"{what} {url[:100]!a}",
            discovery_of(peer),
            case=f"{what} without TLS",
        )


def on_loopback(url: str) -> bool:
    """Whether a URL's host is this machine by its name."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
