"""The lifecycle table as judge: what it lets pass and what it does not."""

from __future__ import annotations

import pytest

from rap_conformance.engine.evidence import Exchange
from rap_conformance.protocol.life_seen import Edges, Seen, executed, judge, lacking, walk
from rap_conformance.protocol.lifecycle import ANSWERS, CODES, TRANSITIONS, Event, State

EDGES = Edges(slack=0.2, grace=2.0, race=1.0, under_way=0.6)
NOTHING = Exchange("POST", "http://127.0.0.1/x", (), b"", 200, (), b"", 0.0, 0.0)
Entry = tuple[float, Event] | tuple[float, bool]


def seen(*entries: Entry) -> list[Seen]:
    """What was seen, from times and events; a boolean is a question with that answer."""
    made = []
    for at, what in entries:
        event, alive = (Event.ASK, what) if isinstance(what, bool) else (what, None)
        made.append(Seen(event, at, at + 0.01, NOTHING, alive))
    return made


RIGHT: dict[str, list[Entry]] = {
    "an ordinary life": [(0, False), (1, Event.INVOKE), (2, True), (3, Event.RESULT), (6, False)],
    "false right after the acknowledgement is an edge": [
        (1, Event.INVOKE),
        (1.1, False),
        (2, True),
        (3, Event.RESULT),
    ],
    "false just before the result is an edge": [
        (1, Event.INVOKE),
        (2.9, False),
        (3, Event.RESULT),
        (6, False),
    ],
    "true for a while after the end": [(1, Event.INVOKE), (3, Event.RESULT), (4, True), (6, False)],
    "true after false while a server settles": [
        (1, Event.INVOKE),
        (3, Event.RESULT),
        (3.5, False),
        (4, True),
        (6, False),
    ],
    "true after false while a cancellation settles": [
        (1, Event.INVOKE),
        (2, Event.CANCEL),
        (2.5, False),
        (3, True),
        (5, False),
    ],
    "false while a delivery is under way that is refused": [
        (1, Event.INVOKE),
        (2, True),
        (2.9, False),
        (3.4, Event.REFUSED),
        (3.5, False),
        (5, True),
        (6.9, False),
        (7.4, Event.RESULT),
        (10, False),
    ],
    "retried": [(1, Event.INVOKE), (2, Event.REFUSED), (3, True), (4, Event.RESULT), (7, False)],
    "given up": [(1, Event.INVOKE), (2, Event.REFUSED), (3, False), (9, False)],
    "a cancellation ignored": [
        (1, Event.INVOKE),
        (2, Event.CANCEL),
        (3, True),
        (4, Event.RESULT),
        (7, False),
    ],
    "a cancellation heeded": [(1, Event.INVOKE), (2, Event.CANCEL), (3, False), (4, False)],
    "a subscription": [
        (1, Event.INVOKE),
        (2, Event.CONFIRMED),
        (3, True),
        (4, Event.EVENT),
        (5, True),
        (6, Event.FINAL),
        (9, False),
    ],
    "lost in a crash": [(1, Event.INVOKE), (2, True), (3, Event.RESTART), (4, False), (5, False)],
    "kept over a crash": [(1, Event.INVOKE), (2, True), (3, Event.RESTART), (4, True), (5, Event.RESULT)],
}

WRONG: dict[str, tuple[str, list[Entry]]] = {
    "known before it was invoked": ("TCS004", [(0, True), (1, Event.INVOKE)]),
    "gone while pending": ("TCS005", [(1, Event.INVOKE), (2, False), (4, Event.RESULT)]),
    "flapping while pending": (
        "TCS005",
        [(1, Event.INVOKE), (2, True), (3, False), (4, True), (6, Event.RESULT)],
    ),
    "alive for ever": ("TCS006", [(1, Event.INVOKE), (2, Event.RESULT), (6, True)]),
    "back from the dead": ("TCS006", [(1, Event.INVOKE), (2, Event.RESULT), (2.5, False), (5, True)]),
    "back from the dead after a cancellation": (
        "TCS025",
        [(1, Event.INVOKE), (2, Event.CANCEL), (2.5, False), (5, True)],
    ),
    "dead between two attempts": (
        "TCS025",
        [(1, Event.INVOKE), (2, Event.REFUSED), (4, False), (6, True), (8, Event.RESULT)],
    ),
    "gone while subscribed": (
        "TCS007",
        [(1, Event.INVOKE), (2, Event.CONFIRMED), (3, False), (4, Event.EVENT)],
    ),
    "gone and delivered all the same": (
        "TCS025",
        [(1, Event.INVOKE), (2, Event.REFUSED), (3, False), (4, Event.RESULT)],
    ),
    "cancelled, gone, delivered late": (
        "TCS025",
        [(1, Event.INVOKE), (2, Event.CANCEL), (3, False), (5, Event.RESULT)],
    ),
    "lost and delivered all the same": (
        "TCS016",
        [(1, Event.INVOKE), (2, Event.RESTART), (3, False), (5, Event.RESULT)],
    ),
    "a second result after a question": (
        "TCS026",
        [(1, Event.INVOKE), (2, Event.RESULT), (2.1, True), (2.2, Event.RESULT)],
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_lives_pass(name: str) -> None:
    assert judge(seen(*RIGHT[name]), EDGES) is None


@pytest.mark.parametrize("name", WRONG)
def test_wrong_lives_are_named_by_the_requirement_they_break(name: str) -> None:
    code, entries = WRONG[name]
    found = judge(seen(*entries), EDGES)
    assert found is not None
    assert found.code == code


def test_the_table_is_whole() -> None:
    assert set(ANSWERS) == set(CODES) == set(State)
    assert {state for state, _ in TRANSITIONS} == set(State)
    assert all((state, Event.ASK) in TRANSITIONS for state in State)
    assert all(TRANSITIONS[state, Event.ASK] is state for state in State), "asking changes nothing"


def test_transitions_are_counted() -> None:
    counts = executed(seen((0, False), (1, Event.INVOKE), (2, True), (3, Event.RESULT), (4, False)))
    assert counts[State.PENDING, Event.ASK] == 1
    assert counts[State.ENDED, Event.ASK] == 1
    assert list(lacking(counts, 1, {(State.DELIVERING, Event.ASK), (State.PENDING, Event.ASK)})) == [
        "delivering --ask--> delivering: 0"
    ]
    assert walk(seen((1, Event.INVOKE), (2, Event.CANCEL))) == [State.UNKNOWN, State.PENDING]
