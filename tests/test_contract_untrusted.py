"""Schemas of servers under test: arguments made for them, and what is said about them, bounded in time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from rap_conformance import contract as c


def needs(schema: Any, **more: Any) -> dict[str, Any]:
    """An inputSchema with one required member."""
    return {"type": "object", "properties": {"p": schema}, "required": ["p"], **more}


BOMB = {f"a{i}": {"allOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(40)} | {
    "a40": {"type": "string"}
}
CATASTROPHE = {"type": "string", "pattern": "^(a+)+b$", "default": "a" * 40}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object"}, {}),
        ({}, {}),
        ({"type": "object", "additionalProperties": False}, {}),
        (needs({"type": "string"}), {"p": "a"}),
        (needs({"type": "string", "minLength": 3, "maxLength": 3}), {"p": "aaa"}),
        (needs({"type": "string", "format": "date"}), {"p": "2026-01-01"}),
        (needs({"type": "string", "default": "."}), {"p": "."}),
        (needs({"type": "string", "default": 3}), {"p": "a"}),  # a default that does not fit
        (needs({"type": "string", "examples": ["x"]}), {"p": "x"}),
        (needs({"enum": ["b", "c"]}), {"p": "b"}),
        (needs({"const": None}), {"p": None}),
        (needs({"type": ["null", "integer"]}), {"p": 1}),
        (needs({"type": "integer", "minimum": 5}), {"p": 5}),
        (needs({"type": "integer", "exclusiveMinimum": 5, "multipleOf": 4}), {"p": 8}),
        (needs({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.5}), {"p": 0.25}),
        (needs({"type": "number", "minimum": 1, "exclusiveMinimum": True}), {"p": 2}),  # draft 4
        (needs({"type": "boolean"}), {"p": False}),
        (needs({"type": "array", "items": {"type": "integer"}, "minItems": 2}), {"p": [1, 1]}),
        (needs({"type": "array", "items": {"type": "string"}}), {"p": []}),
        (needs(needs({"type": "null"})), {"p": {"p": None}}),
        (needs({"anyOf": [{"type": "integer"}, {"type": "string"}]}), {"p": 1}),
        (needs({"allOf": [{"type": "integer"}, {"minimum": 3}]}), {"p": 3}),
        ({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": "a"}),
        ({"type": "object", "required": ["undeclared"]}, {"undeclared": "a"}),
        (needs({"$ref": "#/$defs/x"}, **{"$defs": {"x": {"type": "integer"}}}), {"p": 1}),
        (needs({"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}$"}), {"p": "AA-0000"}),
        (needs({"type": "string", "pattern": "^(get|put)/[^/]+$", "minLength": 8}), {"p": "get/aaaa"}),
    ],
)
def test_minimal_arguments(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    assert c.minimal_arguments(schema, 1, seconds=10.0) == expected


@pytest.mark.parametrize(
    "schema",
    [
        needs(False),
        needs({"type": "string", "minLength": 10**12}),
        needs({"type": "array", "minItems": 10**9}),
        needs({"type": "string", "minLength": 3, "maxLength": 2}),
        {"type": "objekt"},
        {"$schema": "https://example.com/mine", "type": "object"},
        {"type": "array"},
        [1],
        None,
        True,
        1,
    ],
)
def test_no_arguments_without_a_schema_that_can_be_met(schema: Any) -> None:
    started = time.monotonic()
    assert c.minimal_arguments(schema, 1) is None
    assert time.monotonic() - started < 5.0


def timed(work: Callable[[], Any]) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started


@pytest.mark.parametrize(
    "schema",
    [
        needs(CATASTROPHE),
        needs({"$ref": "#/$defs/a0"}, **{"$defs": BOMB}),
        {"type": "object", "properties": {"p": {"$ref": "#"}, "q": {"$ref": "#"}}, "required": ["p", "q"]},
        {"type": "object", "properties": {"p": {"enum": [*map(str, range(20_000)), *range(20_000)]}}},
    ],
    ids=["catastrophic pattern", "bomb of references", "endless recursion", "enum compared in squares"],
)
def test_a_schema_that_would_take_for_ever_is_left_in_time(schema: dict[str, Any]) -> None:
    assert timed(lambda: c.minimal_arguments(schema, 1, seconds=0.3)) < 5.0
    assert timed(lambda: c.schema_problem(schema, seconds=0.3)) < 5.0


def test_a_catastrophic_pattern_gives_no_arguments() -> None:
    assert c.minimal_arguments(needs(CATASTROPHE), 1, seconds=0.3) is None


def test_a_remote_reference_is_never_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    reached: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/schema.json"
        schema = needs({"$ref": address})
        assert c.minimal_arguments(schema, 1) is None
        assert c.schema_problem(schema).status == "valid"
        assert c.minimal_arguments({**schema, "$id": address}, 1) is None
        assert c.schema_problem({"$schema": address}).status == "unknown-dialect"
        try:
            reached.append(listener.accept())
        except TimeoutError:
            pass
    assert reached == []


@pytest.mark.parametrize(
    ("schema", "status", "drafts"),
    [
        ({"type": "object"}, "valid", ("2020-12", "2019-09", "7", "6", "4")),
        ({"type": "object", "items": [{"type": "string"}]}, "older", ("2019-09", "7", "6", "4")),
        ({"type": "object", "minimum": 1, "exclusiveMinimum": True}, "older", ("4",)),
        ({"type": "objekt"}, "invalid", ()),
        ({"required": "name"}, "invalid", ()),
        ({"properties": {"a": "string"}}, "invalid", ()),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{}]}, "valid", ("7",)),
        ({"$schema": "https://json-schema.org/draft-07/schema", "items": [{}]}, "valid", ("7",)),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "exclusiveMinimum": 1}, "invalid", ()),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema", "items": [{}]}, "invalid", ()),
        ({"$schema": "https://example.com/mine"}, "unknown-dialect", ()),
        ({"$schema": 7}, "invalid", ()),
        ([], "invalid", ()),
        (None, "invalid", ()),
        (True, "invalid", ()),
    ],
)
def test_what_is_said_about_an_input_schema(schema: Any, status: str, drafts: tuple[str, ...]) -> None:
    judgement = c.schema_problem(schema)
    assert (judgement.status, judgement.drafts) == (status, drafts)
    assert bool(judgement.problem) == (status != "valid")
    assert judgement.problem.isascii()


def test_a_large_schema_is_judged_in_a_process_of_its_own_with_the_same_outcome() -> None:
    large = {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(400)}}
    assert c.schema_problem(large, seconds=20.0).status == "valid"
    large["properties"]["p7"] = {"type": "strnig"}  # type: ignore[index]
    assert "$.properties.p7.type" in c.schema_problem(large, seconds=20.0).problem


def test_a_schema_nested_without_end_is_undecided() -> None:
    schema: dict[str, Any] = {}
    for _ in range(20_000):
        schema = {"properties": {"a": schema}}
    assert c.schema_problem(schema).status == "undecided"
    assert c.minimal_arguments(schema, 1) is None
