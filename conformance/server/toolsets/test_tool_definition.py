"""Discovery: the manifest, and how it is served.

Specification: "Toolsets"; "Protocol Lifecycle", section "Startup"; "Request Transport".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.scenario import scenario
from rap_conformance.server.manifest import need_manifest, need_tools, wrong
from rap_conformance.server.peer import Peer


@scenario("DSC007", control=Positive("the manifest has to be there"))
def test_tool_described(peer: Peer) -> None:
    """Every tool has a description that is a string."""
    for title, tool, exchange in need_tools(peer):
        if not isinstance(tool.get("description"), str):
            got = f"{tool.get('description')!a:.60}" if "description" in tool else "none"
            peer.report(
                wrong("`description`, a string", f"{title}: {got}", exchange, "description of a tool")
            )


ANNOTATIONS: dict[str, type] = {
    "requiresAuth": str,
    "readOnly": bool,
    "destructive": bool,
    "idempotent": bool,
    "longRunning": bool,
}


@scenario("DSC010", control=Positive("the manifest has to be there"))
def test_optional_fields_typed(peer: Peer) -> None:
    """Optional members, where they are, have their types."""
    manifest, exchange = need_manifest(peer)
    for name, kind in (("needsMigration", bool), ("description", str)):
        if name in manifest and not isinstance(manifest[name], kind):
            what = f"{manifest[name]!a:.60}"
            peer.report(wrong(f"`{name}` is a {english(kind)}", what, exchange, f"type of {name}"))
    if not peer.session.facts.tools:
        return
    for title, tool, _ in need_tools(peer):
        if "displayScript" in tool and not isinstance(tool["displayScript"], str):
            what = f"{title}: {tool['displayScript']!a:.60}"
            peer.report(wrong("`displayScript` is a string", what, exchange, "type of displayScript"))
        annotations = tool.get("annotations", {})
        if not isinstance(annotations, dict):
            what = f"{title}: {annotations!a:.60}"
            peer.report(wrong("`annotations` is an object", what, exchange, "type of annotations"))
            continue
        for name, wanted in ANNOTATIONS.items():
            if name in annotations and not isinstance(annotations[name], wanted):
                what = f"{title}: {annotations[name]!a:.60}"
                peer.report(wrong(f"`{name}` is a {english(wanted)}", what, exchange, f"type of {name}"))


def english(kind: type) -> str:
    """A type's name in JSON's words."""
    return {bool: "boolean", str: "string"}[kind]
