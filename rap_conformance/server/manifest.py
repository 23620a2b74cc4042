"""Discovery: the manifest, and how it is served.

Specification: "Toolsets"; "Protocol Lifecycle", section "Startup"; "Request Transport".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.scenario import Untested, Violation
from rap_conformance.server.peer import Peer


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
