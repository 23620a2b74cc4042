"""Is an endpoint there? Only what two askings of an impossible path agree in tells it from them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest

from rap_conformance.engine.evidence import Exchange, Failure
from rap_conformance.protocol.presence import State, decide
from tests.runs import exchange

PATHS = ("/tool_call_status", "/rapc-no-such-path-1234")
NUMBER = count(1)


def answer(path: str, status: int, body: bytes, media: str = "application/json") -> Exchange:
    one = exchange(answer=body, url=f"http://127.0.0.1:3001{path}")
    return replace(one, status=status, response_headers=(("content-type", media),))


def decided(make: Callable[[str], Exchange]) -> State:
    asked = make(PATHS[1]), make(PATHS[0]), make(PATHS[1])
    return decide([(asked[1], asked[0], asked[2])], PATHS).state


def request_id(path: str) -> Exchange:
    return answer(path, 404, json.dumps({"error": "NOT_FOUND", "id": f"fra1::k{next(NUMBER)}w2m9x"}).encode())


def letters(path: str) -> Exchange:
    name = "".join(chr(ord("a") + int(digit)) for digit in str(1234567 + 7919 * next(NUMBER)))
    return answer(path, 404, json.dumps({"error": "NOT_FOUND", "trace": name}).encode())


def duration(path: str) -> Exchange:
    return answer(path, 404, b"no route, took %d us" % (next(NUMBER) * 13), "text/plain")


def counter(path: str) -> Exchange:
    return answer(path, 404, json.dumps({"n": next(NUMBER), "left": 1000 - next(NUMBER)}).encode())


def echo(path: str) -> Exchange:
    return answer(path, 404, f"<pre>Cannot POST {path}</pre>".encode(), "text/html")


def any_post(path: str) -> Exchange:
    return answer(path, 200, b"OK", "text/plain")


@pytest.mark.parametrize("make", [request_id, letters, duration, counter, echo, any_post])
def test_noise_is_no_difference(make: Callable[[str], Exchange]) -> None:
    assert decided(make) is State.ABSENT


@pytest.mark.parametrize(
    "there",
    [
        answer(PATHS[0], 400, b'{"error":"NOT_FOUND","id":"fra1::k0"}'),
        answer(PATHS[0], 404, b'{"error":"NO_SUCH_CALL","id":"fra1::k0"}'),
        answer(PATHS[0], 404, b'{"error":"NOT_FOUND"}'),
        answer(PATHS[0], 404, b"NOT FOUND", "text/plain"),
        answer(PATHS[0], 404, b'{"error":"NOT_FOUND","id":"fra1::k0","call":"x"}'),
        answer(PATHS[0], 500, b'{"alive": false}'),
    ],
)
def test_what_noise_does_not_explain_is_a_difference(there: Exchange) -> None:
    asked = there, request_id(PATHS[1]), request_id(PATHS[1])
    assert decide([asked], PATHS).state is State.PRESENT


def test_a_difference_in_which_the_impossible_path_differs_from_itself_counts_for_nothing() -> None:
    wavering = answer(PATHS[1], 404, b"not found", "text/plain"), answer(PATHS[1], 404, b"{}")
    assert decide([(answer(PATHS[0], 404, b"{}"), *wavering)], PATHS).state is State.ABSENT


def test_no_answer_tells_nothing() -> None:
    silent = replace(answer(PATHS[0], 200, b""), status=None, failure=Failure.TIMEOUT)
    reset = replace(silent, failure=Failure.RESET)
    assert decide([(silent, reset, reset)], PATHS).state is State.ERROR


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (401, State.UNSURE),
        (403, State.UNSURE),
        (429, State.UNSURE),
        (503, State.ERROR),
        (405, State.ABSENT),
        (501, State.ABSENT),
    ],
)
def test_what_every_path_answers_decides(status: int, state: State) -> None:
    assert decided(lambda path: answer(path, status, b"no")) is state
