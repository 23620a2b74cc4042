"""What one exchange shows by itself, where evidence is asked again: its form, its names, its calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rap_conformance.engine.evidence import Exchange
from rap_conformance.network.recipes import Recipe, whole
from rap_conformance.protocol.messages import lenient_json, strict_json
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.call import Call


def only_asks(recipe: Recipe) -> bool:
    """Whether a request can be made again without doing anything: it fetches, or asks about a call."""
    path = recipe.url.partition("?")[0]
    if recipe.method not in {"GET", "HEAD"} and not path.endswith("/tool_call_status"):
        return False
    body = whole(recipe.body)
    return body is not None and b'"callback_url"' not in body


def in_time(exchanges: Iterable[Exchange]) -> tuple[Exchange, ...]:
    """Exchanges in the order in which they began."""
    return tuple(sorted(exchanges, key=lambda exchange: exchange.started))


def named(exchange: Exchange) -> list[str]:
    """The texts that a request names: an echo of them tells nothing."""
    value = lenient_json(exchange.request_body)
    return [text for text in value.values() if isinstance(text, str)] if isinstance(value, dict) else []


def proper(exchange: Exchange) -> bool:
    """Whether an answer has the form that it should have: then it is wrong by what it is about alone."""
    media = (exchange.header("content-type") or "").split(";")[0].strip().lower()
    try:
        value: Any = strict_json(exchange.response_body)
    except ValueError:
        return False
    alone = isinstance(value, dict) and value.keys() == {"alive"} and isinstance(value["alive"], bool)
    return alone and exchange.status == 200 and media == "application/json"


def asks_about(exchange: Exchange, call: Call) -> bool:
    """Whether a question names exactly this call."""
    value = lenient_json(exchange.request_body)
    if not isinstance(value, dict):
        return False
    return (value.get("tool_call_id"), value.get("thread_id")) == (call.id, call.thread)


def over(call: Call, by: float | None = None) -> bool:
    """Whether a call has ended, by some time."""
    end = call.final if call.kind in {"subscription", "final"} else call.result
    return end is not None and (by is None or end.arrived < by)


def instead(other: Exchange, when: str) -> str:
    """What the same request got elsewhere, or at another time."""
    alive = means_alive(other) if other.status == 200 else None
    got = str(other.failure or f"status {other.status}")
    if alive is not None:
        got = f"`alive: {str(alive).lower()}`"
    return f"{when} the same request got {got}"
