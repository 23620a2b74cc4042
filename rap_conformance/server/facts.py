"""What is known about the server under test, as the preflight finds it out."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from rap_conformance.engine.evidence import Exchange
from rap_conformance.protocol.presence import Presence, State
from rap_conformance.server.config import ScenarioConfig

MANIFEST_CAP = 32 << 20
"""Bytes of a manifest that are read."""
NOT_ASKED = Presence(State.UNSURE, "the preflight did not get that far")


@dataclass(slots=True)
class Facts:
    """What is known about the server. `manifest` is as it came, however wrong."""

    base: str = ""
    discovery: Exchange | None = None
    manifest: dict[str, Any] | None = None
    endpoint: str = ""
    status_url: str = ""
    status: Presence = NOT_ASKED
    status_at_root_only: bool = False
    status_without_live: bool = False
    status_plainly: int | None = None
    invocation_refused: int | None = None
    found: dict[str, ScenarioConfig] = field(default_factory=dict)
    """Tools that discovery showed and that were tried, by the kind they turned out to be."""
    mistaken: dict[str, str] = field(default_factory=dict)
    """Kinds whose configured tool does not do what they need, and why."""
    no_calls: str = ""
    literal: set[str] = field(default_factory=set)
    """Tools that do not take a secret of ours in a text, although their schema does: called as configured."""
    extra: dict[str, Presence] = field(default_factory=dict)

    @property
    def discovery_url(self) -> str:
        """Where the manifest is."""
        return f"{self.base}/.well-known/rap-toolset"

    @property
    def prefix(self) -> str:
        """The path prefix of the base URL, without its first slash; empty if it has none."""
        return self.base.split("://", 1)[-1].partition("/")[2]

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The manifest's tools, those that are objects."""
        tools = (self.manifest or {}).get("tools")
        return [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []

    def tool(self, name: str) -> dict[str, Any] | None:
        """The tool of that name."""
        return next((tool for tool in self.tools if tool.get("name") == name), None)

    def free_text(self, name: str) -> object:
        """The schema of a tool whose texts may hold a secret of ours; None if they are better left alone."""
        tool = self.tool(name) or {}
        annotations = tool.get("annotations")
        destructive = isinstance(annotations, dict) and annotations.get("destructive") is True
        return None if destructive or name in self.literal else tool.get("inputSchema")


def is_wildcard(url: str) -> bool:
    """Whether a URL's host stands for all addresses of a machine, such as 0.0.0.0: no address to call."""
    try:
        parts = urlsplit(url)
        _ = parts.port
        return ipaddress.ip_address(parts.hostname or "").is_unspecified
    except ValueError:
        return False


def parse_manifest(exchange: Exchange) -> dict[str, Any] | None:
    """The manifest, read leniently: a JSON object that names tools or an endpoint, in any answer."""
    try:
        value = json.loads(exchange.response_body.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and ("tools" in value or "endpoint" in value) else None
