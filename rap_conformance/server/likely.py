"""Arguments that a tool is likely to take: made from its schema, and from what its parameters are called."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rap_conformance.contract import minimal_arguments
from rap_conformance.server.lasting import WANTED, fixed, milliseconds, numbers

BRIEF = 0.5
"""Seconds between the events of a subscription: soon enough to wait for many."""
_OFTEN = re.compile(r"(?:[Ee]very|[Ii]nterval|[Pp]eriod)(?![a-z])|(?:^|_)tick(?:_|$)")
_COMMAND = re.compile(r"(?:^|_)(?:command|cmd|shell)(?:_|$)")
_TEXTS = (
    (
        re.compile(r"(?:^|_)(?:path|dir|directory|folder|root|cwd|repo)(?:_|$)|[a-z](?:Path|Dir|Folder)$"),
        (".", "/tmp"),  # noqa: S108 - an absolute path that most machines have
    ),
    (re.compile(r"(?:^|_)(?:time_?zone|tz)(?:_|$)|[a-z]Time[zZ]one$"), ("UTC",)),
    (_COMMAND, ("echo hello",)),
)
"""What parameters are called, and what to try for them."""
GUESSES = 2
"""Times that it is worth guessing."""
_OWN = ("const", "enum", "examples", "example", "default")
"""Keywords by which a schema says itself what is good."""


def likely_arguments(schema: Any, seed: int, guess: int = 0) -> dict[str, Any] | None:
    """Small arguments, with what fits the names of the parameters; None if the schema tells of none.

    `guess` is the how manieth this is, from 0.
    """
    plainly = minimal_arguments(schema, seed) if isinstance(schema, dict) else None
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if plainly is None or not isinstance(properties, dict):
        return plainly
    wanted: dict[str, Any] = {}
    for name, each in properties.items():
        value = _value(str(name), each, guess) if name in plainly else None
        # One by one: what one of them is refused for is no reason to leave the others.
        if value is not None and fixed(schema, {**wanted, name: value}, seed) is not None:
            wanted[name] = value
    wanted |= {n: v for n, v in _brief(schema).items() if fixed(schema, {**wanted, n: v}, seed) is not None}
    return fixed(schema, wanted, seed) if wanted else plainly


LASTS = f"sleep {WANTED:g}"
SPEAKS, ENDS = (f"for i in $(seq {n}); do echo $i; sleep 1; done" for n in (60, 8))
"""Commands of a shell: one that only lasts, one that says something all the time, and one that ends soon."""


def with_command(schema: Any, arguments: Mapping[str, Any], command: str, seed: int) -> dict[str, Any] | None:
    """The arguments with another command for a shell, where one of a tool's texts is such a command."""
    name = next((n for n, value in arguments.items() if _COMMAND.search(n) and value == "echo hello"), None)
    return fixed(schema, {**arguments, name: command}, seed) if name else None


def _value(name: str, schema: Any, guess: int) -> str | None:
    """A text for a parameter of that name, unless its schema says what is good."""
    if not isinstance(schema, dict) or schema.get("type") != "string" or any(key in schema for key in _OWN):
        return None
    found = next((values for pattern, values in _TEXTS if pattern.search(name)), ())
    return found[min(guess, len(found) - 1)] if found else None


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
