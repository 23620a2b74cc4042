"""The messages a runtime sends, as bytes. Specification: "Tool Invocation", "Tool Call Status Check"."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any

from rap_conformance.engine.evidence import Headers

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
