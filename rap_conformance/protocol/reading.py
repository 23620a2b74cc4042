"""What bytes mean: how a runtime reads a status answer. No I/O.

Serves the page "Tool Call Status Check", section "Runtime Error Semantics",
at revision 2026-07-pr62. Two readings live here: `read_liveness` is what a
runtime makes of an answer; `means_alive` is the lenient reading by which
checks of meaning judge, so that an error of form is reported once, by the
requirement about that form.
"""

from __future__ import annotations

from enum import StrEnum

from rap_conformance.engine.evidence import Exchange
from rap_conformance.protocol.messages import DuplicateKey as DuplicateKey
from rap_conformance.protocol.messages import lenient_json as lenient_json
from rap_conformance.protocol.messages import strict_json as strict_json


class Liveness(StrEnum):
    """What a runtime knows about a call after asking."""

    ALIVE = "alive"
    GONE = "gone"
    UNKNOWN = "unknown"


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


def unasked_encoding(exchange: Exchange) -> str:
    """The encoding of an answer's body where the request asked for none; empty if it has none either.

    RFC 9110, 12.5.3: a server may send one all the same, so that is no fault; clients may not read it.
    """
    asked = [value for name, value in exchange.request_headers if name.lower() == "accept-encoding"]
    encoding = (exchange.header("content-encoding") or "").strip().lower()
    return "" if encoding == "identity" or asked not in ([], ["identity"]) else encoding


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
