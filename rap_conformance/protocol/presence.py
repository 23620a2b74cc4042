"""Is an optional endpoint there? Decided by comparing it with a path that cannot exist.

No I/O: takes the exchanges (the endpoint's, and the impossible path's twice) made
with the same request, and says what they show. The rule is written out in
docs/architecture.md, "Is the endpoint there?".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rap_conformance.engine.evidence import Exchange
from rap_conformance.protocol.noise import difference, traits
from rap_conformance.protocol.reading import carries_alive

Asked = tuple[Exchange, Exchange, Exchange]
"""The endpoint's answer to a request, and both answers of a path that cannot exist to the same."""


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


def unlike(asked: Asked, paths: tuple[str, str], ids: Sequence[str] = ()) -> str:
    """In what the endpoint answered unlike a path that cannot exist, in words; empty if in nothing.

    No answer is no answer: a time-out here and a reset there tell no difference. A difference counts only if
    both askings of the impossible path agree with each other in it.
    """
    one, *others = asked
    if one.failure is not None and any(other.failure is not None for other in others):
        return ""
    mine = traits(one, one.url, paths[0], paths[0].lstrip("/"), *ids)
    theirs = [traits(other, other.url, paths[1], paths[1].lstrip("/"), *ids) for other in others]
    return difference(mine, theirs)


def decide(asked: Sequence[Asked], paths: tuple[str, str], ids: Sequence[str] = ()) -> Presence:
    """What all that was asked shows. The first request is the plainest one and gives the reason."""
    for one, *_ in asked:
        if carries_alive(one):
            return Presence(State.PRESENT, "it answered with a JSON object that has a boolean `alive`")
    for each in asked:
        if what := unlike(each, paths, ids):
            return Presence(State.PRESENT, f"it answers unlike a path that cannot exist ({what})")
    status = asked[0][0].status
    if status is None:
        return Presence(State.ERROR, f"no answer: {asked[0][0].failure}")
    if status in {401, 403, 429}:
        return Presence(
            State.UNSURE,
            f"every path answers {status}: credentials are missing or wrong, or the pace too fast",
        )
    if status == 501:
        return Presence(State.ABSENT, "every path answers 501: it is not implemented")
    if status >= 500:
        return Presence(State.ERROR, f"every path answers {status}")
    if status in {404, 405} or 200 <= status < 300:
        return Presence(State.ABSENT, f"it answers like a path that cannot exist (status {status})")
    return Presence(State.UNSURE, f"every path answers {status}")
