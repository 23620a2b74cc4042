"""What answers about known calls tell: values that differ, and noise that only seems to."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from rap_conformance.engine.evidence import Exchange
from rap_conformance.protocol.messages import encode, fresh, query
from rap_conformance.protocol.telling import Told, of_headers, of_members
from tests.runs import exchange

NUMBER = count(1)


def asked(body: Any, **headers: str) -> Exchange:
    """An answer about some call; `{id}` in it stands for the id that was asked about."""
    call = fresh()
    raw = json.dumps(body).replace("{id}", call).encode()
    one = exchange(encode(query(call, fresh("thread"))), raw)
    return replace(
        one, status=200, response_headers=tuple((k.replace("_", "-"), v) for k, v in headers.items())
    )


def told(known: list[Exchange], unknown: list[Exchange]) -> list[Told]:
    return [*of_members(known, unknown), *of_headers(known, unknown)]


LIVE_AND_UNKNOWN = [
    ({"state": "running", "operation": "wait"}, {"state": None, "operation": None}),
    ({"age": 3.5}, {"age": 0}),
    ({"events": [{"n": 1}]}, {"events": []}),
    ({"call": {"operation": "wait"}}, {"call": None}),
    ({"message": "{id} runs since 04:00"}, {"message": "{id} is unknown at 04:00"}),
    ({"operation": "wait"}, {}),
]


@pytest.mark.parametrize(("mine", "theirs"), LIVE_AND_UNKNOWN)
def test_another_value_or_member_tells(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    live = asked({"alive": True, **mine})
    unknown = [asked({"alive": False, **theirs}) for _ in range(5)]
    found = told([live], unknown)
    assert found
    assert not any(each.mirrors for each in found)
    assert all(each.exchanges[0] is live for each in found), "the answer that tells comes first"


def noise() -> dict[str, Any]:
    n = next(NUMBER)
    letters = "".join(chr(ord("a") + int(digit)) for digit in str(1234567 + 7919 * n))
    return {
        "request": f"fra1::k{n}w2",
        "trace": letters,
        "took": n % 3,
        "at": f"2026-12-01T04:00:{n % 60:02}Z",
        "served": n,
        "node": ("ant", "bee")[n % 2],
        "echo": "{id}",
        "calls": {"{id}": "asked about"},
        "text": f"{{id}} was asked about at {n}",
    }


def test_noise_tells_nothing() -> None:
    def headers() -> dict[str, str]:
        n = next(NUMBER)
        return {"X_Served": str(n), "X_Trace": f"fra1::k{n}; took {n % 3}", "X_Node": ("ant", "bee")[n % 2]}

    live = [asked({"alive": True, **noise()}, **headers()) for _ in range(6)]
    unknown = [asked({"alive": False, **noise()}, **headers()) for _ in range(40)]
    assert told(live, unknown) == []


def test_nothing_in_place_of_something_tells_nothing() -> None:
    nothing: tuple[Any, ...] = (None, "", [], {})
    live = [asked({"alive": True, "error": each}) for each in nothing]
    unknown = [asked({"alive": False, "error": "unknown call"}) for _ in range(3)]
    assert told(live, unknown) == []


@pytest.mark.parametrize("mirror", [bool, lambda alive: not alive])
def test_alive_said_twice_is_marked_as_such(mirror: Callable[[bool], bool]) -> None:
    live = [asked({"alive": True, "found": mirror(True)})]
    unknown = [asked({"alive": False, "found": mirror(False)}) for _ in range(3)]
    (found,) = told(live, unknown)
    assert found.mirrors
    ended = asked({"alive": False, "found": mirror(True)})
    (found,) = told([*live, ended], unknown)
    assert not found.mirrors, "it tells a call that ended from one that never was"


@pytest.mark.parametrize(
    "form", [lambda alive: [{"alive": alive}], lambda alive: alive, lambda alive: {"alive": str(alive)}]
)
def test_alive_itself_may_be_told_in_whatever_form(form: Callable[[bool], Any]) -> None:
    assert told([asked(form(True))], [asked(form(False)) for _ in range(3)]) == []


def test_words_in_a_header_that_is_another_one_each_time() -> None:
    live = [asked({"alive": True}, X_Trace=f"k{next(NUMBER)}; about=wait")]
    unknown = [asked({"alive": False}, X_Trace=f"k{next(NUMBER)}; about=none") for _ in range(5)]
    (found,) = told(live, unknown)
    assert found.place == "x-trace"


def test_headers_of_the_body_differ_with_it() -> None:
    live = [asked({"alive": True}, ETag="1", Content_Length="14")]
    unknown = [asked({"alive": False}, ETag="0", Content_Length="15") for _ in range(3)]
    assert told(live, unknown) == []
    assert [
        each.place for each in told([asked({"alive": False}, ETag="7", Content_Length="15")], unknown)
    ] == ["etag"]
