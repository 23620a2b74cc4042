"""Answers after a crash, held against what was delivered: lies, claims, silence, and what loads late."""

from __future__ import annotations

import pytest

from rap_conformance.engine.evidence import Exchange, Failure
from rap_conformance.protocol.aftermath import LOAD, Aftermath

EDGE = 0.3


def answer(at: float, said: bool | None, status: int | None = 200) -> Exchange:
    """An answer, asked then; None: nothing that could be read."""
    body = b"?" if said is None else f'{{"alive": {str(said).lower()}}}'.encode()
    failure = Failure.TIMEOUT if status is None else None
    return Exchange("POST", "http://127.0.0.1/x", (), b"", status, (), body, at, at + 0.01, failure)


def after(answers: list[tuple[float, bool | None]], arrived: list[float], work: float = 0.0) -> Aftermath:
    """What was seen of a call of a server that was up again at 0."""
    return Aftermath([answer(*each) for each in answers], arrived, 0.0, EDGE, work)


@pytest.mark.parametrize(
    "seen",
    [
        after([(0.1, False), (1.0, False), (3.2, False)], []),  # lost, and says so
        after([(0.1, True), (1.0, True)], [1.5, 2.0]),  # goes on, and says so
        after([(0.1, False), (1.0, False), (2.1, True), (3.2, True)], [2.3, 2.6]),  # state that loads late
        after([(0.1, False), (1.0, False), (2.1, True)], [5.0], work=3.0),  # work that begins after that
        after([(0.1, True), (3.2, False)], []),  # reconciled: nobody will resume it
        after([(1.0, True), (1.9, False)], [2.0], work=2.0),  # `false` as the result is under way
        after([(0.1, None), (3.2, False)], []),  # not up to it at first
    ],
)
def test_what_agrees(seen: Aftermath) -> None:
    assert seen.lie() is None
    assert seen.claim() is None
    assert seen.mute() is None


@pytest.mark.parametrize(
    "seen",
    [
        after([(0.1, False), (1.0, False)], [0.5, 1.5]),  # it delivered, so its state was there
        after([(LOAD + 0.1, False)], [LOAD + 1.0]),
        after([(0.2, False), (1.5, False)], [2.0], work=2.0),  # the work had been begun
        after([(0.2, False), (1.5, False), (1.9, True)], [2.0, 2.6, 3.2], work=2.0),
    ],
)
def test_not_alive_and_delivered_all_the_same(seen: Aftermath) -> None:
    assert seen.lie() is not None


def test_alive_and_nothing_comes() -> None:
    seen = after([(0.1, False), (3.5, True)], [])
    claim = seen.claim()
    assert claim is not None
    assert claim.started == 3.5
    assert seen.lie() is None


@pytest.mark.parametrize("status", [200, 500, None])
def test_silence_and_what_cannot_be_read_are_no_answer(status: int | None) -> None:
    seen = Aftermath([answer(0.1, None, status), answer(LOAD + 0.5, None, status)], [], 0.0, EDGE, 0.0)
    assert seen.mute() is seen.answers[-1]
    assert seen.told() is None


def test_of_what_was_delivered_nobody_has_to_be_told() -> None:
    assert after([(0.1, None), (LOAD + 0.5, None)], [1.0]).mute() is None
