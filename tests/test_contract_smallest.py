"""The smallest input that still shows what was found: a search within bounds of time and requests."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from rap_conformance import contract as c


def test_the_smallest_ordinary_query() -> None:
    found = c.smallest("ordinary", lambda query: "7" in query["tool_call_id"], 1, 10.0, 200)
    assert found == {"thread_id": "rapc-0", "tool_call_id": "rapc-7"}


def test_the_smallest_hostile_query() -> None:
    found = c.smallest("hostile", lambda query: not query["tool_call_id"].isascii(), 1, 10.0, 200)
    assert found == {"thread_id": "", "tool_call_id": "\x80"}


def test_a_known_query_is_cut_down() -> None:
    known = {"thread_id": "\u202e" * 300, "tool_call_id": "rapc-" + "a" * 300 + "\0" + "b" * 300}
    found = c.smallest("hostile", lambda query: "\0" in query["tool_call_id"], 1, 10.0, 100, known=[known])
    assert found == {"thread_id": "", "tool_call_id": "\0"}


def test_the_smallest_malformed_body() -> None:
    found = c.smallest("malformed", lambda request: request.label == "thread_id missing", 1, 10.0, 200)
    assert found.label == "thread_id missing"
    assert len(found.body) < 50


def test_a_search_keeps_to_its_requests_and_asks_nothing_twice() -> None:
    asked: list[str] = []

    def violates(query: Any) -> bool:
        asked.append(json.dumps(query, sort_keys=True))
        return len(query["tool_call_id"]) > 9

    assert c.smallest("ordinary", violates, 1, 10.0, 30) is not None
    assert len(asked) <= 30
    assert len(set(asked)) == len(asked)


def test_a_search_keeps_to_its_time() -> None:
    def violates(query: Any) -> bool:
        time.sleep(0.02)
        return len(query["tool_call_id"]) > 6

    c.smallest("ordinary", violates, 1, 0.0, 1)
    started = time.monotonic()
    assert c.smallest("ordinary", violates, 1, 0.3, 100_000) is not None
    assert time.monotonic() - started < 5.0


def never(value: Any) -> bool:
    return False


def test_nothing_found_is_none_and_what_is_known_stays() -> None:
    assert c.smallest("ordinary", never, 1, 0.2, 50) is None
    query = {"thread_id": "rapc-known", "tool_call_id": "rapc-known"}
    assert c.smallest("ordinary", never, 1, 0.2, 50, known=[query]) == query
    body = c.malformed_bodies(1, 1)[0]
    assert c.smallest("malformed", never, 1, 0.2, 50, known=[body]) == body


def test_a_server_that_changes_its_mind_does_no_harm() -> None:
    answers = iter([True] + [False, True, True] * 10_000)
    assert c.smallest("hostile", lambda query: query is not None and next(answers), 1, 0.5, 200) is not None


def test_an_error_of_the_question_comes_out_only_if_nothing_was_found() -> None:
    def refuse(query: Any) -> bool:
        raise ConnectionError("the server died")

    with pytest.raises(ConnectionError):
        c.smallest("ordinary", refuse, 1, 1.0, 10)
    counted = iter(range(1000))

    def dies_later(query: Any) -> bool:
        if next(counted) > 5:
            raise ConnectionError("the server died")
        return True

    assert c.smallest("ordinary", dies_later, 1, 1.0, 100) is not None
