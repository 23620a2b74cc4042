"""What `alive: true` means: a pending call whose result will come, a subscription that sends events.

Specification: "Tool Call Status Check", section "Query Semantics"; "Subscription Events", section "Liveness".
"""

from __future__ import annotations

from collections.abc import Iterator

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.scenario import Untested, scenario
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import (
    Question,
    Witnessed,
    again_and_again,
    certainly_live,
    under_way,
    witnessed,
)
from rap_conformance.server.beside import beside
from rap_conformance.server.call import Call
from rap_conformance.server.lives import share
from rap_conformance.server.peer import Peer
from rap_conformance.server.variety import various

LEAST = 5
"""Answers about a live call, or a subscription, without which nothing is said of them."""

AT_ONCE = 3
"""Calls that are asked about right after their acknowledgement."""

OFTEN = 0.1
"""Seconds between two questions about a pending call."""

WATCH, PACE = 5.5, 0.15
"""Seconds for which a subscription is asked about at least, and between two questions about it."""


@scenario(
    "TCS005",
    control=Positive("an answer `true` has to be there"),
    overlap=True,
    parts=(share("TCS005", LEAST),),
)
def test_pending_alive(peer: Peer) -> None:
    """Alive without a gap from the acknowledgement until the result arrives, also beside another call."""
    thread = fresh("thread")
    limit = (peer.session.tool("pending").seconds or 0.0) * 2 + peer.grace

    def questions() -> Iterator[Question]:
        peer.invoke("pending", thread=thread)
        yield from again_and_again(peer, limit, OFTEN)

    def others() -> Peer:
        apart = peer.apart()
        with apart.part("calls as other runtimes make them"):
            various(apart)
        return apart

    apart, answers = beside(others, lambda: witnessed(peer, questions(), least=LEAST, thread=thread))
    peer.record.join(apart.record)
    judge_live(peer, answers, "a pending call", "`alive: true` until the result", "before the result arrived")


@scenario(
    "TCS007",
    control=Positive("an answer `true` has to be there"),
    overlap=True,
    parts=(share("TCS007", LEAST),),
)
def test_subscription_alive(peer: Peer) -> None:
    """Alive as long as events come."""

    asked = 0

    def over(call: Call) -> object:
        nonlocal asked
        asked += 1
        assert call.result is not None
        long = peer.patience.now() > call.result.arrived + WATCH and asked > LEAST
        return call.final or (long and len(call.events) >= 4)

    answers = witnessed(
        peer,
        again_and_again(peer, WATCH + peer.grace, PACE, LEAST + 2),
        "subscription",
        least=LEAST,
        until=over,
    )
    judge_live(peer, answers, "an active subscription", "`alive: true`", "before another event arrived")


def judge_live(peer: Peer, answers: list[Witnessed], case: str, expected: str, before: str) -> None:
    """Each answer that can be read is `true`; of what cannot TCS001 and TCS003 speak."""
    readable = [each for each in answers if means_alive(each[1]) is not None]
    if len(readable) < LEAST:
        raise Untested(
            f"{len(readable)} answers about {case} could be read and tell something, {LEAST} are needed"
        )
    for _, exchange, later in readable:
        peer.expect(
            means_alive(exchange) is True,
            expected,
            f"status {exchange.status} with {exchange.response_body[:60]!r}, "
            f"{later.arrived - exchange.ended:.1f} s {before}",
            exchange,
            later.exchange,
            case=case,
        )
    peer.note(
        f"{len(readable)} answers about {case} were judged: asked more than {peer.slack:g} s after it was "
        f"known, answered more than {under_way(peer):.2g} s {before}"
    )


@scenario("TCS029", control=Positive("an answer `true` has to be there"), overlap=True)
def test_alive_at_once(peer: Peer) -> None:
    """Alive from the very acknowledgement on."""
    asked = []
    for _ in range(AT_ONCE):
        call = peer.invoke("pending")
        asked.append((call, peer.ask_about(call)))
    for call, _ in asked:
        peer.need_result(call)
    # Where a limit made us wait, the answer may have come after the call had ended.
    sure = [(call, e) for call, e in asked if certainly_live(peer, call, e, from_the_first=True)]
    if not sure:
        raise Untested("the pending call ended too soon")
    for call, exchange in sure:
        if means_alive(exchange) is None:
            raise Untested("an answer could not be read, or did not come, which TCS001 is about")
        peer.expect(
            means_alive(exchange),
            "`alive: true` from the acknowledgement on",
            f"not alive {exchange.ended - call.acknowledged:.3f} s after it",
            exchange,
            case="right after the acknowledgement",
        )
