"""Manifests that are right in an unusual way, and what is wrong with others."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.server.toolsets.test_input_schema import dangling, is_closed, takes_nothing
from conformance.server.toolsets.test_tool_names import is_plain
from rap_conformance.runtime import embedded
from tests.support import run

NAMES, HOME = embedded.package()
OBJECT = {"type": "object"}


@pytest.mark.parametrize(
    "schema",
    [
        {"propertyNames": False},
        {"propertyNames": {"not": {}}},
        {"propertyNames": {"enum": []}},
        {"maxProperties": 0},
        {"additionalProperties": False},
    ],
)
def test_only_the_empty_object(schema: dict[str, Any]) -> None:
    assert is_closed({**OBJECT, **schema})


@pytest.mark.parametrize(
    "schema",
    [
        {"dependentSchemas": {"a": {"required": ["b"]}}},
        {"additionalProperties": True},
        {"patternProperties": {"^x": {}}},
        {"minProperties": 1},
    ],
)
def test_parameters_that_are_not_listed(schema: dict[str, Any]) -> None:
    assert not takes_nothing({**OBJECT, **schema})


def test_no_parameters_at_all() -> None:
    assert takes_nothing(OBJECT)
    assert not is_closed(OBJECT)


@pytest.mark.parametrize(
    ("schema", "target"),
    [
        ({"properties": {"a": {"$ref": "#/$defs/b"}}}, "#/$defs/b"),
        ({"allOf": [{"$ref": "#/nowhere"}]}, "#/nowhere"),
        ({"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {}}}, None),
        ({"x-ui": {"$ref": "#/widgets/date"}}, None),
        ({"properties": {"$ref": {"type": "string"}}}, None),
        ({"default": {"$ref": "#/nowhere"}}, None),
    ],
)
def test_references_to_nowhere(schema: dict[str, Any], target: str | None) -> None:
    assert dangling({**OBJECT, **schema}) == target


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("\u0645\u06cc\u200c\u0634\u0648\u062f", True),  # a word with a zero width non-joiner
        ("\U0001f468\u200d\U0001f4bb", True),  # an emoji of two, joined
        ("\U0001fae9", True),  # newer than some tables of Unicode
        ("a b", False),
        ("a\u00a0b", False),
        ("a\x07b", False),
        ("a\x85b", False),
    ],
)
def test_white_space_and_control_characters_in_names(name: str, allowed: bool) -> None:
    assert is_plain(name) is allowed


@pytest.mark.parametrize(("path", "verdict"), [("", "pass"), ("/elsewhere", "fail")])
def test_a_404_may_be_about_the_operation(path: str, verdict: str, tmp_path: Path) -> None:
    """No tool may be called, and one that there is not is answered 404: somebody is there all the same."""
    words = [sys.executable, "-m", f"{NAMES}.servers.varied", "--by-name", "--token", "of-no-value", "--port"]
    if path:
        words = [*words[:-1], "--mutant", "endpoint-nowhere", "--port"]
    outcome = run(
        tmp_path,
        "check",
        "--server-cmd",
        shlex.join(words) + " {port}",
        "--auth-header",
        "Authorization: Bearer of-no-value",
        "--invoke",
        "configured",
        "--requirement",
        "DSC003",
        PYTHONPATH=HOME,
    )
    assert outcome.verdicts() == {"DSC003": verdict}, outcome.out
