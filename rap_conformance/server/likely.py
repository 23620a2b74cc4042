"""Arguments that a tool is likely to take: made from its schema, and from what its parameters are called."""

from __future__ import annotations

import re
from typing import Any

from rap_conformance.contract import minimal_arguments
from rap_conformance.server.lasting import fixed, milliseconds, numbers

BRIEF = 0.5
"""Seconds between the events of a subscription: soon enough to wait for many."""
_OFTEN = re.compile(r"(?:[Ee]very|[Ii]nterval|[Pp]eriod)(?![a-z])|(?:^|_)tick(?:_|$)")
_TEXTS = (
    (re.compile(r"(?:^|_)(?:path|dir|directory|folder|root|cwd)(?:_|$)|[a-z](?:Path|Dir|Folder)$"), "."),
    (re.compile(r"(?:^|_)(?:time_?zone|tz)(?:_|$)|[a-z]Time[zZ]one$"), "UTC"),
    (re.compile(r"(?:^|_)(?:command|cmd|shell)(?:_|$)"), "echo hello"),
)
_OWN = ("const", "enum", "examples", "example", "default")
"""Keywords by which a schema says itself what is good."""


def likely_arguments(schema: Any, seed: int) -> dict[str, Any] | None:
    """Small arguments, with what fits the names of the parameters; None if the schema tells of none."""
    plainly = minimal_arguments(schema, seed) if isinstance(schema, dict) else None
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if plainly is None or not isinstance(properties, dict):
        return plainly
    wanted: dict[str, Any] = {}
    for name, each in properties.items():
        value = _value(str(name), each) if name in plainly else None
        # One by one: what one of them is refused for is no reason to leave the others.
        if value is not None and fixed(schema, {**wanted, name: value}, seed) is not None:
            wanted[name] = value
    wanted |= {n: v for n, v in _brief(schema).items() if fixed(schema, {**wanted, n: v}, seed) is not None}
    return fixed(schema, wanted, seed) if wanted else plainly


def _value(name: str, schema: Any) -> str | None:
    """A text for a parameter of that name, unless its schema says what is good."""
    if not isinstance(schema, dict) or schema.get("type") != "string" or any(key in schema for key in _OWN):
        return None
    return next((value for pattern, value in _TEXTS if pattern.search(name)), None)


def _brief(schema: dict[str, Any]) -> dict[str, float]:
    """How often, for parameters that say it: as often as the schema allows, but no more than needed."""
    found: dict[str, float] = {}
    for name, each in numbers(schema).items():
        if not _OFTEN.search(name) or any(key in each for key in _OWN):
            continue
        value: float = BRIEF * 1000 if milliseconds(name, each) else BRIEF
        least = each.get("minimum")
        if isinstance(least, (int, float)) and not isinstance(least, bool):
            value = max(value, least)
        if each["type"] == "integer":
            value = max(1, round(value))
        found[name] = value
    return found
