"""The schema of a tool's arguments.

Specification: "Toolsets", section "Input Schema".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from rap_conformance.contract import schema_problem
from rap_conformance.engine.controls import Positive
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.scenario import NotApplicable, Untested, Violation, scenario
from rap_conformance.server.manifest import need_tools
from rap_conformance.server.peer import Peer

OPEN_ENDED = frozenset(
    "anyOf oneOf allOf $ref $dynamicRef if not patternProperties dependentSchemas dependencies "
    "enum const".split()
)
"""Keywords by which a schema may have parameters although it lists no properties."""
MAPS = frozenset("properties patternProperties $defs definitions dependentSchemas dependencies".split())
SCHEMAS = frozenset(
    "allOf anyOf oneOf not if then else items prefixItems additionalItems unevaluatedItems contains "
    "additionalProperties unevaluatedProperties propertyNames contentSchema".split()
)
"""Keywords whose values are schemas, or lists of them; those in which each member is one."""
NO_NAMES: tuple[Any, ...] = (False, {"not": {}}, {"not": True}, {"enum": []}, {"maxLength": -1})
"""Schemas of names that no name meets."""


@scenario("DSC008", control=Positive("a tool has to be there"))
def test_input_schema_valid(peer: Peer) -> None:
    """`inputSchema` is an object and valid against the meta-schema of its draft."""
    undecided = []
    for title, tool, exchange in need_tools(peer):
        if "inputSchema" not in tool:
            peer.report(Violation("`inputSchema`", f"{title}: none", exchange, case="inputSchema is missing"))
            continue
        judgement = schema_problem(tool["inputSchema"])
        if judgement.status in {"unknown-dialect", "undecided"}:
            undecided.append(f"{title}: {judgement.problem}")
        elif judgement.status == "older":
            peer.report(
                Violation(
                    "valid against draft 2020-12, or `$schema` names the draft",
                    f"{title}: valid against {', '.join(judgement.drafts)} only",
                    exchange,
                    case="draft of an inputSchema",
                    level=Level.SHOULD,
                )
            )
        else:
            peer.expect(
                judgement.status == "valid",
                "a valid JSON Schema object",
                f"{title}: {judgement.problem}",
                exchange,
                case="inputSchema",
            )
            declared = tool["inputSchema"]
            nowhere = dangling(declared) if isinstance(declared, dict) else None
            peer.expect(
                nowhere is None,
                "references to what is there",
                f"{title}: {nowhere!a:.80} is nowhere in the schema",
                exchange,
                case="a reference in an inputSchema",
                level=Level.SHOULD,
            )
    if undecided and not peer.record.judged:
        raise Untested("; ".join(undecided[:3]))
    for text in undecided[:3]:
        peer.note(text)


def dangling(declared: dict[str, Any]) -> str | None:
    """The first reference by a JSON pointer to what the schema does not hold; None if there is none.

    Where the schema names bases of its own, what a pointer is relative to is another's business.
    """
    waiting: list[Any] = [declared]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            if "$id" in each or "id" in each:
                return None
            target = each.get("$ref")
            if isinstance(target, str) and target.startswith("#/") and not is_there(declared, target):
                return target
            waiting += inside(each)
    return None


def inside(schema: dict[str, Any]) -> Iterator[Any]:
    """The schemas in a schema. What is none, as under a keyword of one's own, may hold anything."""
    for key, value in schema.items():
        if key in MAPS and isinstance(value, dict):
            yield from value.values()
        elif key in SCHEMAS:
            yield from value if isinstance(value, list) else [value]


def is_there(declared: Any, pointer: str) -> bool:
    """Whether a JSON pointer, as the fragment of a URL, leads to something (RFC 6901, 6)."""
    for part in unquote(pointer)[2:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(declared, dict) and key in declared:
            declared = declared[key]
        elif isinstance(declared, list) and key.isdecimal() and int(key) < len(declared):
            declared = declared[int(key)]
        else:
            return False
    return True


@scenario("DSC009", control=Positive("a tool without parameters has to be there"))
def test_closed_when_empty(peer: Peer) -> None:
    """A tool without parameters allows only the empty object."""
    without = [
        (title, declared, exchange)
        for title, tool, exchange in need_tools(peer)
        if isinstance(declared := tool.get("inputSchema"), dict) and takes_nothing(declared)
    ]
    if not without:
        raise NotApplicable("every tool has parameters")
    for title, declared, exchange in without:
        peer.expect(
            is_closed(declared),
            "`additionalProperties: false` for a tool without parameters",
            f"{title} takes anything",
            exchange,
            case="a tool without parameters",
        )


def takes_nothing(declared: dict[str, Any]) -> bool:
    """Whether a schema names no parameter at all. One that says that any may come has those: a free map."""
    free = [
        word
        for word in ("additionalProperties", "unevaluatedProperties")
        if declared.get(word) is True or isinstance(declared.get(word), dict)
    ]
    wanted = declared.get("required") or declared.get("minProperties") or declared.get("dependentRequired")
    named = declared.get("properties") or wanted or OPEN_ENDED & declared.keys()
    return not named and not free


def is_closed(declared: dict[str, Any]) -> bool:
    """Whether a schema without parameters allows only the empty object."""
    return (
        declared.get("additionalProperties") is False
        or declared.get("unevaluatedProperties") is False
        or declared.get("maxProperties") == 0
        or declared.get("propertyNames") in NO_NAMES
    )
