"""Is an optional endpoint there? Decided by comparing it with a path that cannot exist.

No I/O: takes pairs of exchanges (the endpoint's, the impossible path's) made
with the same request, and says what they show. The rule is written out in
docs/architecture.md, "Is the endpoint there?".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rap_conformance.engine.evidence import Exchange
from rap_conformance.protocol.reading import carries_alive

Pair = tuple[Exchange, Exchange]

_VOLATILE = (
    re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^\s\"<]*"),
    re.compile(rb"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"),
    re.compile(rb"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"),
    re.compile(rb"\b[0-9a-fA-F]{12,}\b"),
    re.compile(rb"\b\d{10,}\b"),
)


class State(StrEnum):
    """What the pairs show about an endpoint."""

    PRESENT = "present"
    ABSENT = "absent"
    UNSURE = "unsure"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Presence:
    """Whether an endpoint is there, and why we think so."""

    state: State
    reason: str


def essence(exchange: Exchange, *names: str) -> tuple[int | None, str, bytes]:
    """Status, media type and body without what differs between any two requests."""
    media = (exchange.header("content-type") or "").split(";")[0].strip().lower()
    body = exchange.response_body
    for name in sorted(filter(None, names), key=len, reverse=True):
        body = body.replace(name.encode("utf-8", "surrogatepass"), b"*")
    for pattern in _VOLATILE:
        body = pattern.sub(b"*", body)
    return exchange.status, media, body


def agree(pair: Pair, paths: tuple[str, str], ids: Sequence[str] = ()) -> bool:
    """Whether endpoint and impossible path answered alike."""
    one, two = pair
    if one.failure is not None and two.failure is not None:
        return True  # no answer is no answer: a time-out here and a reset there tell no difference
    mine = essence(one, one.url, paths[0], paths[0].lstrip("/"), *ids)
    theirs = essence(two, two.url, paths[1], paths[1].lstrip("/"), *ids)
    return (one.failure is None) == (two.failure is None) and mine == theirs


def decide(pairs: Sequence[Pair], paths: tuple[str, str], ids: Sequence[str] = ()) -> Presence:
    """What all pairs together show. The first pair asked is the plainest one and gives the reason."""
    for one, _ in pairs:
        if carries_alive(one):
            return Presence(State.PRESENT, "it answered with a JSON object that has a boolean `alive`")
    for pair in pairs:
        if not agree(pair, paths, ids):
            got, other = (side.status or side.failure for side in pair)
            return Presence(
                State.PRESENT, f"it answers unlike a path that cannot exist ({got} against {other})"
            )
    status = pairs[0][0].status
    if status is None:
        return Presence(State.ERROR, f"no answer: {pairs[0][0].failure}")
    if status in {401, 403, 429}:
        return Presence(
            State.UNSURE,
            f"every path answers {status}: credentials are missing or wrong, or the pace too fast",
        )
    if status >= 500:
        return Presence(State.ERROR, f"every path answers {status}")
    if status in {404, 405} or 200 <= status < 300:
        return Presence(State.ABSENT, f"it answers like a path that cannot exist (status {status})")
    return Presence(State.UNSURE, f"every path answers {status}")
