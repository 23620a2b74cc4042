"""What bytes mean: how a runtime reads a status answer. No I/O.

Serves the page "Tool Call Status Check", section "Runtime Error Semantics",
at revision 2026-07-pr62. Two readings live here: `read_liveness` is what a
runtime makes of an answer; `means_alive` is the lenient reading by which
checks of meaning judge, so that an error of form is reported once, by the
requirement about that form.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

from rap_conformance.engine.evidence import Exchange


class Liveness(StrEnum):
    """What a runtime knows about a call after asking."""

    ALIVE = "alive"
    GONE = "gone"
    UNKNOWN = "unknown"


class DuplicateKey(ValueError):
    """A JSON object holds one key twice."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = {key for key, _ in pairs if key in seen or seen.add(key)}  # type: ignore[func-returns-value]
        raise DuplicateKey(", ".join(sorted(ascii(key) for key in twice)))
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def strict_json(body: bytes) -> Any:
    """The JSON value of exactly these bytes, in UTF-8, without a byte order mark.

    Raises DuplicateKey for a doubled key and ValueError for anything that RFC
    8259 does not allow (NaN included).
    """
    if body.startswith(b"\xef\xbb\xbf"):
        raise ValueError("starts with a byte order mark")
    try:
        return json.loads(body.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def lenient_json(body: bytes) -> Any:
    """The JSON value a benevolent reader finds; None where there is none.

    Byte order mark, doubled keys (the last wins) and wrong encodings are forgiven.
    """
    try:
        return json.loads(body.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None


def read_liveness(exchange: Exchange) -> Liveness:
    """What a runtime makes of the answer: stated, but for 1xx and 3xx (unknown, as the reference client)."""
    status = exchange.status
    if status is None or exchange.failure is not None:
        return Liveness.UNKNOWN
    if 400 <= status < 500:
        return Liveness.GONE
    if not 200 <= status < 300:
        return Liveness.UNKNOWN
    try:
        value = strict_json(exchange.response_body)
    except ValueError:
        return Liveness.GONE
    if isinstance(value, dict) and value.get("alive") is True:
        return Liveness.ALIVE
    return Liveness.GONE


def carries_alive(exchange: Exchange) -> bool:
    """Whether the answer, whatever its status, is a JSON object with a boolean `alive`."""
    value = lenient_json(exchange.response_body)
    return isinstance(value, dict) and isinstance(value.get("alive"), bool)


def means_alive(exchange: Exchange) -> bool | None:
    """The lenient reading: alive, not alive, or None where nobody could tell.

    A truthy `alive` in a list's only member, in any status, still means alive;
    a 4xx without one means not alive, as a runtime would read it.
    """
    value = lenient_json(exchange.response_body)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool):
        return value
    if isinstance(value, dict) and "alive" in value:
        alive = value["alive"]
        if isinstance(alive, str):
            return alive.strip().lower() in {"true", "yes", "1", "alive"}
        return bool(alive)
    if exchange.status is not None and 400 <= exchange.status < 500:
        return False
    return None


def runtime_reading(exchange: Exchange) -> str:
    """One sentence: what a restarted runtime would do with this answer."""
    match read_liveness(exchange):
        case Liveness.ALIVE:
            return "alive: a restarted runtime keeps waiting for this call"
        case Liveness.GONE:
            return "gone: a restarted runtime gives this call up and tells the agent that it failed"
        case Liveness.UNKNOWN:
            return "unknown: a restarted runtime keeps waiting and knows no more than before"
