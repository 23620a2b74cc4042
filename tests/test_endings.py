"""What is over, watched on a clock of the test's own: when either answer is right, what concludes nothing."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rap_conformance.engine.evidence import Exchange, Failure
from rap_conformance.engine.scenario import Untested, Violation
from rap_conformance.network.receiver import Delivery
from rap_conformance.server.asking import under_way
from rap_conformance.server.call import Call
from rap_conformance.server.endings import End, Watched, watch
from rap_conformance.server.facts import Facts
from rap_conformance.server.peer import Peer
from rap_conformance.server.tools import HASTY, MOST_IN_VAIN, MOST_TOO_SHORT, Tools

GRACE = 3.0
Said = Callable[[float], bool | str | None]
"""What is said at a time: alive or not, None for what cannot be read, "silence"."""


class World:
    """A clock that waits for nobody, and a server that answers by it; each question takes `took` seconds."""

    slack, grace, race = 0.25, GRACE, 1.0

    def __init__(self, said: Said, took: Callable[[float], float] = lambda _: 0.01) -> None:
        self.time, self.said, self.took = 0.0, said, took
        self.patience = SimpleNamespace(now=lambda: self.time, pace=self.pace)
        self.judgements = 0

    def pace(self, seconds: float) -> None:
        self.time += seconds

    def judged(self, count: int = 1) -> None:
        self.judgements += count

    def ask_about(self, _: Call) -> Exchange:
        start, said = self.time, self.said(self.time)
        self.time += 4.0 if said == "silence" else self.took(start)
        body = b"?" if said is None else f'{{"alive": {str(said).lower()}}}'.encode()
        silent = said == "silence"
        return Exchange(
            "POST",
            "http://127.0.0.1/x",
            (),
            b"",
            None if silent else 200,
            (),
            b"" if silent else body,
            start,
            self.time,
            Failure.TIMEOUT if silent else None,
        )

    def watch(self, watched_for: float = 0.0) -> Watched:
        call = cast("Call", None)
        return watch(cast("Peer", self), End(call, "a call", lambda: 0.0, lambda: GRACE), watched_for)


@pytest.mark.parametrize(
    "said",
    [
        lambda _: False,
        lambda at: at < 2.9,
        lambda at: at < 2.9 and int(at * 10) % 4 != 0,  # two replicas that differ for a while
        lambda at: None if at < 1.0 else False,
        lambda at: "silence" if at < 1.0 else False,
    ],
)
def test_within_the_grace_time_either_answer_is_right(said: Said) -> None:
    world = World(said)
    seen = world.watch(watched_for=4.0)
    seen.judge(cast("Peer", world))
    assert seen.wrong is None
    assert world.judgements


def test_alive_after_the_grace_time_is_an_absence() -> None:
    seen = World(lambda _: True).watch()
    assert seen.wrong is not None
    assert seen.wrong.case == "a call: still alive"
    assert seen.wrong.absence
    with pytest.raises(Violation):
        seen.judge(cast("Peer", None))


def test_back_to_life_is_seen() -> None:
    seen = World(lambda at: at > 5.0).watch(watched_for=6.0)
    assert seen.wrong is not None
    assert seen.wrong.case == "a call: alive again"
    assert not seen.wrong.absence


def test_back_to_life_within_the_grace_time_is_waited_for() -> None:
    assert World(lambda at: 1.0 < at < 2.5).watch(watched_for=2.0).wrong is None
    lasting = World(lambda at: at > 1.0).watch(watched_for=2.0).wrong
    assert lasting is not None
    assert lasting.case == "a call: alive again"


@pytest.mark.parametrize("said", [lambda _: None, lambda _: "silence"])
def test_silence_and_what_cannot_be_read_conclude_nothing(said: Said) -> None:
    seen = World(said).watch()
    assert seen.wrong is None
    with pytest.raises(Untested, match="TCS001"):
        seen.judge(cast("Peer", None))


def test_one_question_that_takes_longer_than_the_grace_time_concludes_nothing() -> None:
    slow_once = World(lambda at: at < 0.1, took=lambda at: GRACE + 1.0 if at < 0.1 else 0.01)
    assert slow_once.watch().wrong is None


# --- how long to wait, and for whom


def delivered(sent: float, arrived: float) -> Any:
    exchange = Exchange("POST", "x", (), b"", 200, (), b"", arrived, arrived, inbound=True)
    delivery = Delivery(exchange, {"type": "tool_result"})
    return SimpleNamespace(kind="quick", acknowledged=sent, deliveries=(delivery,))


@pytest.mark.parametrize(
    ("took", "expected"),
    [([], 0.25), ([0.02, 0.03, 0.02], 0.25), ([0.6, 0.62, 9.0], 0.875), ([7.0], 1.0)],
)
def test_a_delivery_is_under_way_as_long_as_a_quick_call_takes(took: list[float], expected: float) -> None:
    peer = SimpleNamespace(
        slack=0.25, race=1.0, session=SimpleNamespace(calls=[delivered(0.0, t) for t in took])
    )
    assert under_way(cast("Peer", peer)) == pytest.approx(expected)


def tools() -> Tools:
    config = SimpleNamespace(features={}, scenarios={"pending": SimpleNamespace(operation="wait")})
    facts = Facts(manifest={"tools": [{"name": "wait"}]})
    return Tools(facts, cast("Any", config), "configured", 1)


def test_three_calls_that_end_too_early_are_enough() -> None:
    some = tools()
    for _ in range(MOST_TOO_SHORT - 1):
        some.ended_too_early("pending", 0.3)
    assert some.of("pending").operation == "wait"
    some.ended_too_early("pending", 0.4)
    with pytest.raises(Untested, match=r"3 pending calls ended too early .* after 0\.4 s.* last longer"):
        some.of("pending")


def test_who_waited_in_vain_three_times_waits_shorter() -> None:
    some = tools()
    assert some.patience("pending", 3.0, 30.0) == 36.0
    for _ in range(MOST_IN_VAIN):
        some.brought_nothing("pending")
    assert some.patience("pending", 3.0, 30.0) == 6.0 + HASTY
    assert some.patience("quick", 0.0, 30.0) == 30.0
