"""What makes a tool last: reads from a schema which numbers are a time, and how often it is waited."""

from __future__ import annotations

import re
from typing import Any, TypeGuard

from rap_conformance.contract import minimal_arguments

WANTED = 4.0
"""Seconds that a pending call should last: long enough to ask about, short enough to wait for."""
_BAND = (3.0, 5.0)
_MILLI = re.compile(r"(?:^|_)(?:ms|millis|milliseconds?)(?:_|$)|[a-z](?:Ms|Millis|Milliseconds)$")
_SECOND = re.compile(r"(?:^|_)(?:s|secs?|seconds?|delay|duration|sleep|wait)(?:_|$)|[a-z](?:Secs?|Seconds)$")
_COUNT = re.compile(r"(?:^|_)(?:count|times|rows|steps|items|n|repeats?|rounds|events|limit)(?:_|$)")


def numbers(schema: Any) -> dict[str, dict[str, Any]]:
    """The properties of a schema that are plain numbers."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return {}
    found = {str(n): _number(each) for n, each in properties.items() if isinstance(each, dict)}
    return {name: each for name, each in found.items() if each is not None}


def _number(schema: dict[str, Any]) -> dict[str, Any] | None:
    """The schema of a number, also where null is allowed beside it, in either way to write that."""
    ways = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(ways, list):
        rest = [each for each in ways if isinstance(each, dict) and each.get("type") != "null"]
        return _number({**rest[0], "description": schema.get("description", "")}) if len(rest) == 1 else None
    kinds = schema.get("type")
    kinds = [kind for kind in kinds if kind != "null"] if isinstance(kinds, list) else [kinds]
    return {**schema, "type": kinds[0]} if kinds in (["number"], ["integer"]) else None


def counted(schema: Any) -> str | None:
    """The whole number that says how many, if there is one."""
    found = (n for n, each in numbers(schema).items() if each["type"] == "integer" and _COUNT.search(n))
    return next(found, None)


def fixed(schema: dict[str, Any], values: dict[str, Any], seed: int) -> dict[str, Any] | None:
    """Small arguments with these values in them; None if the schema has no room for them."""
    properties = schema["properties"]
    plain = numbers(schema)
    required = schema.get("required")
    narrowed = {
        **schema,
        "properties": {**properties, **{name: {"const": value} for name, value in values.items()}},
        "required": [*dict.fromkeys([*(required if isinstance(required, list) else []), *values])],
    }
    for name, value in values.items():
        known = plain.get(name, properties[name])
        own = {"type": "object", "properties": {name: {**known, "const": value}}, "required": [name]}
        if not _within(known, value) or minimal_arguments(own, seed) is None:
            return None
    return minimal_arguments(narrowed, seed)


def lasting(schema: Any, seed: int) -> tuple[dict[str, Any], float] | None:
    """Arguments that make a tool last 3 to 5 seconds, and how many; None if the schema tells of none."""
    found = numbers(schema)
    count = counted(schema)
    for name, each in found.items():
        unit = _unit(name, each)
        if name == count or not unit:
            continue
        most = each.get("maximum")
        whole = WANTED / unit
        step = min(whole, most) if _is_number(most) and most > 0 else whole
        value: float = int(step) if each["type"] == "integer" or step == int(step) else step
        for times in [1, *([round(WANTED / (value * unit))] if count and value else [])]:
            seconds = value * unit * times
            if not _BAND[0] <= seconds <= _BAND[1]:
                continue
            made = fixed(schema, {name: value, **({count: times} if count else {})}, seed)
            if made is not None:
                return made, seconds
    return None


def milliseconds(name: str, schema: dict[str, Any]) -> bool:
    """Whether a number of that name is one of milliseconds."""
    return bool(_MILLI.search(name)) or "millisecond" in str(schema.get("description", "")).lower()


def _unit(name: str, schema: dict[str, Any]) -> float:
    """How many seconds one of it is; 0 if it does not look like a time."""
    said = str(schema.get("description", "")).lower()
    if milliseconds(name, schema):
        return 0.001
    return 1.0 if _SECOND.search(name) or re.search(r"\bseconds?\b", said) else 0.0


def _within(schema: dict[str, Any], value: Any) -> bool:
    if not _is_number(value):
        return True
    low, high = schema.get("minimum"), schema.get("maximum")
    return not (_is_number(low) and value < low) and not (_is_number(high) and value > high)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
