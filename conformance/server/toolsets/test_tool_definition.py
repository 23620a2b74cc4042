"""What each tool of the manifest says of itself.

Specification: "Toolsets", section "Tool Definition".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.scenario import NotApplicable, scenario
from rap_conformance.server.manifest import ANNOTATIONS, manifest_of, need_tools
from rap_conformance.server.peer import Peer

Member = tuple[str, str, object, type, Level]
"""An optional member that is there: whose it is (empty for the toolset's own), name, value, type wanted, and
how much it is wanted."""

IN_WORDS = {bool: "a boolean", str: "a string", dict: "an object"}


@scenario("DSC007", control=Positive("a tool has to be there"))
def test_tool_described(peer: Peer) -> None:
    """Every tool has a description that is a string."""
    for title, tool, exchange in need_tools(peer):
        got = f"{tool.get('description')!a:.60}" if "description" in tool else "none"
        peer.expect(
            isinstance(tool.get("description"), str),
            "`description`, a string",
            f"{title}: {got}",
            exchange,
            case="description of a tool",
        )


@scenario("DSC010", control=Positive("an optional member has to be there"))
def test_optional_fields_typed(peer: Peer) -> None:
    """Optional members, where they are, have their types."""
    manifest, exchange = manifest_of(peer)
    members = list(of_toolset(manifest))
    if peer.session.facts.tools:
        members += [member for title, tool, _ in need_tools(peer) for member in of_tool(title, tool)]
    if not members:
        raise NotApplicable("the manifest has no optional members")
    for whose, name, value, kind, level in members:
        peer.expect(
            isinstance(value, kind),
            f"`{name}` is {IN_WORDS[kind]}",
            f"{whose}{value!a:.60}",
            exchange,
            case=f"type of {name}",
            level=level,
        )


def of_toolset(manifest: dict[str, Any]) -> Iterator[Member]:
    """The optional members of the toolset itself."""
    for name, kind in (("needsMigration", bool), ("description", str)):
        if name in manifest:
            yield "", name, manifest[name], kind, Level.MUST


def of_tool(title: str, tool: dict[str, Any]) -> Iterator[Member]:
    """The optional members of a tool, and of its annotations.

    What is said of annotations is information, and display scripts are cosmetic: wrong ones break nothing, so
    that their types are a SHOULD (note N24).
    """
    if "annotations" in tool:
        yield f"{title}: ", "annotations", tool["annotations"], dict, Level.MUST
    if "displayScript" in tool:
        yield f"{title}: ", "displayScript", tool["displayScript"], str, Level.SHOULD
    if isinstance(annotations := tool.get("annotations"), dict):
        for name in [name for name in ANNOTATIONS if name in annotations]:
            yield f"{title}: ", name, annotations[name], ANNOTATIONS[name], Level.SHOULD
