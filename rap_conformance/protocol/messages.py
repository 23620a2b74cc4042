"""Messages as bytes: those a runtime sends and gets back, and the JSON in whatever is received.

Specification: "Tool Invocation", "Tool Call Status Check", "Tool Result"; "Transport", "Message Encoding".
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any

from rap_conformance.engine.evidence import Headers

RESULT, EVENT = "tool_result", "subscription_event"
"""The types of what a tool sends back. Specification: "Tool Result", "Subscription Events"."""
CALLBACKS = (RESULT, EVENT, "user_choice", "oauth", "view_update")
"""The types of everything that is posted to a callback URL."""
STATUS_PATH = "/tool_call_status"
MANIFEST_PATH = "/.well-known/rap-toolset"
"""Paths below a server's base URL. Specification: "Tool Call Status Check", "Toolset Discovery"."""
JSON: Headers = (("Content-Type", "application/json"),)
"""The headers of every message with a body. Specification: "Transport", "Message Encoding"."""


def fresh(kind: str = "call") -> str:
    """An id nobody ever used, ours by its prefix: `rapc-call-…`."""
    return f"rapc-{kind}-{secrets.token_hex(8)}"


def encode(value: Any) -> bytes:
    """JSON bytes of any value; lone surrogates travel as escapes."""
    return json.dumps(value).encode("ascii")


def query(tool_call_id: str, thread_id: str) -> dict[str, Any]:
    """The body of a status check, a cancellation likewise."""
    return {"thread_id": thread_id, "tool_call_id": tool_call_id}


def closure(thread_id: str) -> dict[str, Any]:
    """The body of a thread closure."""
    return {"thread_id": thread_id}


def result(tool_call_id: str, thread_id: str, text: str, **more: Any) -> dict[str, Any]:
    """The body of a tool's result."""
    return {"type": RESULT, "group_id": thread_id, "id": tool_call_id, "text": text, **more}


def event(tool_call_id: str, thread_id: str, text: str, **more: Any) -> dict[str, Any]:
    """The body of an event of a subscription."""
    return {"type": EVENT, "group_id": thread_id, "tool_call_id": tool_call_id, "text": text, **more}


def invocation(
    operation: str,
    arguments: Mapping[str, Any],
    call_id: str,
    thread_id: str,
    callback_url: str,
    *,
    user_id: str | None = None,
) -> dict[str, Any]:
    """The body of an invocation; what the specification lets be null and nobody needs is null."""
    return {
        "operation": operation,
        "arguments": dict(arguments),
        "id": call_id,
        "call_id": None,
        "callback_url": callback_url,
        "group_id": thread_id,
        "thread_ancestors": None,
        "user_id": user_id,
    }


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
