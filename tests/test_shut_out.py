"""What our own inputs provoke is waited out, and never held against a server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from types import SimpleNamespace
from typing import Any

import pytest

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Untested
from rap_conformance.network.patience import Patience
from rap_conformance.server import merit, recovery
from rap_conformance.server.recovery import Recovery
from rap_conformance.server.tempo import Tempo
from tests.runs import exchange


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "_FIRST", 0.01)
    monkeypatch.setattr(merit, "PAUSES", (0.01, 0.01))


def answered(status: int, *headers: tuple[str, str]) -> Exchange:
    return replace(exchange(), status=status, response_headers=headers)


class Doorman:
    """Shuts out everybody for some right questions after so many wrong ones."""

    def __init__(self, most: int, lasts: int) -> None:
        self.most, self.lasts, self.wrong, self.shut, self.heard = most, lasts, 0, 0, list[str]()

    def right(self) -> Exchange:
        """An ordinary question."""
        if self.shut:
            self.shut -= 1
            return answered(403)
        return answered(200)

    def forged(self, name: str) -> Exchange:
        """One that is not authentic."""
        if self.shut:
            return answered(403)
        self.heard.append(name)
        self.wrong += 1
        if self.wrong >= self.most:
            self.wrong, self.shut = 0, self.lasts
        return answered(401)


def recovering(doorman: Doorman, gone: bool = False) -> Recovery:
    return Recovery(Patience(), doorman.right, lambda e: e.status == 200, lambda: gone)


def peer(recovers: Recovery) -> Any:
    session = SimpleNamespace(recovery=recovers, recovered=recovers.wait, tempo=Tempo())
    return SimpleNamespace(session=session, patience=Patience())


def asked(doorman: Doorman, count: int) -> tuple[Recovery, Iterator[tuple[str, Exchange]]]:
    recovers = recovering(doorman)
    asks = [(str(n), lambda n=n: doorman.forged(str(n))) for n in range(count)]
    return recovers, merit.on_merit(peer(recovers), asks)


@pytest.mark.parametrize("most", [1, 3, 10, 100])
def test_each_question_is_answered_on_its_merit_once_at_least(most: int) -> None:
    doorman = Doorman(most, 3)
    recovers, answers = asked(doorman, 25)
    assert [(title, exchange.status) for title, exchange in answers] == [(str(n), 401) for n in range(25)]
    assert set(doorman.heard) == {str(n) for n in range(25)}
    assert recovers.locks_out is (most < 100)
    assert not recovers.failed


def test_what_was_answered_before_it_shut_for_good_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "MOST_RECOVERY", 0.2)
    doorman = Doorman(10, 10**6)
    recovers, answers = asked(doorman, 25)
    assert [title for title, _ in islice(answers, 8)] == [str(n) for n in range(8)]
    with pytest.raises(Untested, match="status 403"):
        next(answers)
    assert "no ordinary question" in recovers.failed
    assert not recovers.wait(), "it is not waited for twice"


def test_nobody_waits_for_who_is_gone() -> None:
    doorman = Doorman(1, 10**6)
    doorman.forged("x")
    recovers = recovering(doorman, gone=True)
    assert not recovers.wait()
    assert doorman.shut == 10**6 - 1


def test_a_stranger_slows_down_when_asked_to() -> None:
    answers = [answered(429, ("Retry-After", "0")), answered(503), answered(401)]
    heard = list(answers)
    assert merit.unhurried(peer(recovering(Doorman(1, 1))), lambda: heard.pop(0)).status == 401
    assert merit.unhurried(peer(recovering(Doorman(1, 1))), lambda: answers[0]).status == 429
