"""Discovery: the manifest, and how it is served.

Specification: "Toolsets"; "Protocol Lifecycle", section "Startup"; "Request Transport".
"""

from __future__ import annotations

from typing import Any

from rap_conformance.contract import schema_problem
from rap_conformance.engine.controls import Positive
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.scenario import NotApplicable, Untested, scenario
from rap_conformance.server.manifest import need_tools, wrong
from rap_conformance.server.peer import Peer


@scenario("DSC008", control=Positive("the manifest has to be there"))
def test_input_schema_valid(peer: Peer) -> None:
    """`inputSchema` is an object and valid against the meta-schema of its draft."""
    unknown = []
    judged = 0
    for title, tool, exchange in need_tools(peer):
        if "inputSchema" not in tool:
            peer.report(wrong("`inputSchema`", f"{title}: none", exchange, "inputSchema is missing"))
            judged += 1
            continue
        judgement = schema_problem(tool["inputSchema"])
        if judgement.status in {"unknown-dialect", "undecided"}:
            unknown.append(f"{title}: {judgement.problem}")
            continue
        judged += 1
        if judgement.status == "invalid":
            peer.report(
                wrong("a valid JSON Schema object", f"{title}: {judgement.problem}", exchange, "inputSchema")
            )
        elif judgement.status == "older":
            drafts = ", ".join(judgement.drafts)
            peer.report(
                wrong(
                    "valid against draft 2020-12, or `$schema` names the draft",
                    f"{title}: valid against {drafts} only",
                    exchange,
                    "draft of an inputSchema",
                    Level.SHOULD,
                )
            )
    if unknown and not judged:
        raise Untested("; ".join(unknown[:3]))
    for text in unknown[:3]:
        peer.note(text)


@scenario("DSC009", control=Positive("the manifest has to be there"))
def test_closed_when_empty(peer: Peer) -> None:
    """A tool without parameters allows only the empty object."""
    judged = 0
    for title, tool, exchange in need_tools(peer):
        declared = tool.get("inputSchema")
        if not isinstance(declared, dict) or not takes_nothing(declared):
            continue
        judged += 1
        if not closed(declared):
            peer.report(
                wrong(
                    "`additionalProperties: false` for a tool without parameters",
                    f"{title} takes anything",
                    exchange,
                    "a tool without parameters",
                )
            )
    if not judged:
        raise NotApplicable("every tool has parameters")


def takes_nothing(declared: dict[str, Any]) -> bool:
    """Whether a schema names no parameter at all."""
    open_ended = (
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "$dynamicRef",
        "if",
        "not",
        "patternProperties",
        "enum",
        "const",
    )
    extra = declared.get("additionalProperties", declared.get("unevaluatedProperties"))
    return (
        not declared.get("properties")
        and not any(key in declared for key in open_ended)
        and not isinstance(extra, dict)
    )


def closed(declared: dict[str, Any]) -> bool:
    """Whether a schema without parameters allows only the empty object."""
    return (
        declared.get("additionalProperties") is False
        or declared.get("unevaluatedProperties") is False
        or declared.get("maxProperties") == 0
        or declared.get("propertyNames") is False
    )
