"""What servers must survive: hostile identifiers and malformed bodies, read from fixtures/payloads.

The files are data for any language; fixtures/payloads/README.md explains them.
Here they become values. Nothing is sent.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from rap_conformance.places import place

JSON = "application/json"
_Value = TypeVar("_Value")


class PayloadError(ValueError):
    """A payload file is damaged; the message names file and entry."""


@dataclass(frozen=True, slots=True)
class HostileId:
    """A string that a server may be asked about as `tool_call_id` or `thread_id`."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """A status request that is wrong in one way.

    `label` says which way, in a few words that stay the same from run to run.
    `content_type` is the header's value, None where the header is left out.
    """

    label: str
    body: bytes
    content_type: str | None = JSON
    method: str = "POST"


def _hostile_id(name: str, entry: dict[str, Any]) -> HostileId:
    if "json" in entry:
        value = json.loads(entry["json"])
    elif "repeat" in entry:
        value = entry["repeat"] * entry["times"]
    else:
        value = entry["value"]
    if not isinstance(value, str):
        raise TypeError(f"a string is wanted, got {type(value).__name__}")
    return HostileId(name, value)


def _malformed(name: str, entry: dict[str, Any]) -> Malformed:
    if "body_base64" in entry:
        body = base64.b64decode(entry["body_base64"], validate=True)
    elif "parts" in entry:
        body = "".join(part["text"] * part.get("times", 1) for part in entry["parts"]).encode()
    else:
        body = entry["body_text"].encode()
    return Malformed(name, body, entry.get("content_type", JSON))


def _load(path: Path, make: Callable[[str, dict[str, Any]], _Value]) -> tuple[_Value, ...]:
    try:
        entries = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise PayloadError(f"{path.name}: {error}") from error
    found: dict[str, _Value] = {}
    for number, entry in enumerate(entries):
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name or name in found:
            raise PayloadError(f"{path.name}: entry {number} needs a name of its own, got {name!r}")
        try:
            found[name] = make(name, entry)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise PayloadError(f"{path.name}: {name}: {error!r}") from error
    return tuple(found.values())


def load_hostile_ids(path: Path) -> tuple[HostileId, ...]:
    """Read a file of identifiers, in its order. Raises PayloadError if it is damaged."""
    return _load(path, _hostile_id)


def load_malformed(path: Path) -> tuple[Malformed, ...]:
    """Read a file of bodies, in its order. Raises PayloadError if it is damaged."""
    return _load(path, _malformed)


@cache
def _shipped_ids() -> tuple[HostileId, ...]:
    return load_hostile_ids(place("fixtures") / "payloads" / "hostile_ids.json")


@cache
def _shipped_bodies() -> tuple[Malformed, ...]:
    return load_malformed(place("fixtures") / "payloads" / "malformed_bodies.json")


def hostile_ids() -> list[HostileId]:
    """The identifiers this suite ships: up to 1 MiB long, lone surrogates among them."""
    return list(_shipped_ids())


def malformed_payloads() -> list[Malformed]:
    """The malformed bodies this suite ships, up to 2 MiB.

    A few are schema-valid to a lenient reader (another media type, a key twice,
    too large); no call has the identifiers they ask about.
    """
    return list(_shipped_bodies())
