"""The manifest as scenarios look at it: whole, tool by tool, and the members that it knows.

Specification: "Toolsets", sections "Toolset Definition", "Tool Definition" and "Annotations".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Trouble, Untested
from rap_conformance.server.peer import Peer

ANNOTATIONS: dict[str, type] = {
    "requiresAuth": str,
    "readOnly": bool,
    "destructive": bool,
    "idempotent": bool,
    "longRunning": bool,
}
"""The annotations that the specification defines, and their types."""

LONGEST_NAME = 128
"""Characters that the name of a toolset or of a tool may have."""


def discovery_of(peer: Peer) -> Exchange:
    """The preflight's question for the manifest. Raises Trouble if it was never asked."""
    exchange = peer.session.facts.discovery
    if exchange is None:
        raise Trouble("discovery was not asked")
    return exchange


def manifest_of(peer: Peer) -> tuple[dict[str, Any], Exchange]:
    """The manifest, for those who need it, and the exchange of the preflight that brought it."""
    manifest = peer.session.facts.manifest
    assert manifest is not None
    return manifest, discovery_of(peer)


def need_tools(peer: Peer) -> Iterator[tuple[str, dict[str, Any], Exchange]]:
    """Each tool with the way to name it. Raises Untested without any."""
    _, exchange = manifest_of(peer)
    tools = peer.session.facts.tools
    if not tools:
        raise Untested("the manifest lists no tools, which DSC004 is about")
    for number, tool in enumerate(tools):
        name = tool.get("name")
        yield (ascii(name)[:60] if isinstance(name, str) else f"tool number {number + 1}"), tool, exchange


def is_name(value: object) -> bool:
    """Whether a toolset or a tool may be called that."""
    return isinstance(value, str) and 1 <= len(value) <= LONGEST_NAME


def length_of(name: object) -> str:
    """How long a name is, or what stands in its place."""
    return f"{len(name)} characters" if isinstance(name, str) else f"{name!a:.60}"
