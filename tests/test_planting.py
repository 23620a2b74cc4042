"""Secrets go where the configuration says, else wherever a tool takes any text."""

from __future__ import annotations

from typing import Any

import pytest

from rap_conformance.server.config import ScenarioConfig
from rap_conformance.server.facts import Facts
from rap_conformance.server.planting import is_bold, planted
from rap_conformance.server.rehearsal import triggered

TEXT = {"type": "string"}


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_marks_are_replaced_and_nothing_else_is_touched() -> None:
    arguments = {"a": "x {canary}", "b": "y", "c": [{"d": "{canary}{canary}"}], "e": 1}
    made = planted(arguments, schema(a=TEXT, b=TEXT), "s3")
    assert made == {"a": "x s3", "b": "y", "c": [{"d": "s3s3"}], "e": 1}
    assert not is_bold(arguments, schema(a=TEXT, b=TEXT))
    assert arguments["a"] == "x {canary}"


@pytest.mark.parametrize(
    "kind", [TEXT, {"type": ["string", "null"]}, {**TEXT, "maxLength": 100}, {**TEXT, "minLength": 1}]
)
def test_any_text_takes_one(kind: dict[str, Any]) -> None:
    assert planted({"a": "x"}, schema(a=kind), "s3") == {"a": "x s3"}
    assert planted({"a": ""}, schema(a=kind), "s3") == {"a": "s3"}
    assert is_bold({"a": "x"}, schema(a=kind))


@pytest.mark.parametrize(
    "kind",
    [
        {},
        {"type": "integer"},
        {**TEXT, "enum": ["x", "y"]},
        {**TEXT, "const": "x"},
        {**TEXT, "pattern": "^x"},
        {**TEXT, "format": "uri"},
        {**TEXT, "maxLength": 3},
        {"$ref": "#/$defs/name"},
        {**TEXT, "anyOf": [{"minLength": 1}]},
        True,
        None,
    ],
)
def test_what_may_want_some_form_is_left_alone(kind: Any) -> None:
    assert planted({"a": "x", "b": 1}, schema(a=kind), "s3") == {"a": "x", "b": 1}
    assert not is_bold({"a": "x"}, schema(a=kind))


def test_texts_within() -> None:
    inner = schema(a={"type": "array", "items": TEXT}, b=schema(c=TEXT))
    assert planted({"a": ["x", "y"], "b": {"c": "z", "d": "w"}}, inner, "s3") == {
        "a": ["x s3", "y s3"],
        "b": {"c": "z s3", "d": "w"},
    }


@pytest.mark.parametrize(
    "odd", [None, 1, "x", [], {"properties": 1}, {"properties": {"a": 7}}, {"items": {}}]
)
def test_an_odd_schema_says_nothing(odd: object) -> None:
    assert planted({"a": "x"}, odd, "s3") == {"a": "x"}


def facts(**annotations: Any) -> Facts:
    return Facts(
        manifest={"tools": [{"name": "t", "inputSchema": schema(a=TEXT), "annotations": annotations}]}
    )


def test_destructive_tools_and_those_that_do_not_like_it_are_called_as_configured() -> None:
    assert facts().free_text("t") == schema(a=TEXT)
    assert facts(destructive=True).free_text("t") is None
    assert facts().free_text("another") is None
    spoilt = facts()
    spoilt.literal.add("t")
    assert spoilt.free_text("t") is None


def test_what_has_a_trigger_is_called_as_configured() -> None:
    fired = ScenarioConfig("watch", {"of": "a"}, trigger="curl -sf http://127.0.0.1:1/fire")
    assert triggered([ScenarioConfig("echo", {"text": "a"}), fired]) == {"watch"}
