"""A status check says nothing of deliveries: the server goes on trying as if nobody had asked, and says so.

Specification: "Tool Call Status Check", section "Query Semantics", with "Transport", "Tool to Runtime".
"""

from __future__ import annotations

from itertools import pairwise

from rap_conformance.engine.controls import Control, Positive
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.network.receiver import Answer
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import FAILING, POLL, attempts_of, between
from rap_conformance.server.call import Call
from rap_conformance.server.controls import need_answer
from rap_conformance.server.lives import AFTERWARDS, share
from rap_conformance.server.peer import Peer


@scenario(
    "TCS025",
    control=Positive("an answer `true` has to be there while attempts go on"),
    overlap=True,
    parts=(share("TCS025"), AFTERWARDS),
)
def test_honest_while_retrying(peer: Peer) -> None:
    """Alive while the server goes on trying to deliver; nothing arrives after a steady false."""
    call = peer.invoke("quick", script=lambda number: FAILING if number < 3 else Answer())
    if not call.mailbox.until(attempts_of(call), peer.grace):
        raise Untested("the quick call brought no result")
    answers = asked_while_retrying(peer, call)
    between_two = [
        (exchange, later)
        for earlier, later in pairwise(call.results)
        for exchange in between(answers, earlier.arrived + peer.slack, later.arrived - peer.slack)
    ]
    for exchange, later in between_two:
        peer.expect(
            means_alive(exchange),
            "`alive: true` while the server goes on trying to deliver",
            f"`alive: false`, and another attempt {later.arrived - exchange.ended:.1f} s later",
            exchange,
            later.exchange,
            case="between two attempts to deliver",
        )
    if not between_two:
        raise Untested(f"no question came between two attempts more than {2 * peer.slack:g} s apart")


def asked_while_retrying(peer: Peer, call: Call) -> list[Exchange]:
    """Every answer about a call from its first attempt until one was taken, or none is to be expected."""
    answers: list[Exchange] = []
    end = peer.patience.now() + peer.grace
    steady: float | None = None
    while not call.result and peer.patience.now() < end:
        answers.append(peer.ask_about(call))
        if means_alive(answers[-1]):
            steady = None
        elif steady is None:
            steady = answers[-1].started
        elif peer.patience.now() - steady > peer.race:
            # Given up, it says. Another attempt would have to come within the time that pauses grow to.
            call.mailbox.until(attempts_of(call, len(call.results) + 1), peer.race)
            break
        peer.patience.pace(POLL)
    if len(call.results) == 1 and steady is None and not call.result:
        peer.note(f"the server neither tried again nor gave up within {peer.grace:g} s")
    return answers


@scenario(
    "TCS026",
    control=Control(
        "a question is answered; a twin that nobody asks about gets its second attempt", need_answer
    ),
    overlap=True,
    parts=(share("TCS026"),),
)
def test_query_implies_nothing(peer: Peer) -> None:
    """A question between two attempts neither stops nor repeats delivery."""

    def once_failing(number: int) -> Answer:
        return FAILING if number == 0 else Answer()

    asked, twin = (peer.invoke("quick", script=once_failing) for _ in range(2))
    for call in (asked, twin):
        if not call.mailbox.until(attempts_of(call), peer.grace):
            raise Untested("the quick call brought no result")
    question = [peer.ask_about(asked) for _ in range(3)][-1]
    if not twin.mailbox.until(lambda _: twin.result, peer.grace):
        raise Untested("the server does not try again after a 503, so there is nothing between two attempts")
    assert twin.result is not None
    peer.controlled(twin.result, "the twin gets no second attempt")
    took = twin.result.arrived - twin.results[0].arrived
    if not asked.mailbox.until(lambda _: asked.result, took * 2 + peer.race):
        raise Violation(
            "another attempt to deliver, as for a call that nobody asked about",
            f"none within {took * 2 + peer.race:.0f} s of the question",
            question,
            case="a question stops delivery",
            absence=True,
        )
    peer.judged()
    question = [peer.ask_about(asked) for _ in range(3)][-1]
    more = asked.mailbox.until(lambda _: sum(d.acknowledged for d in asked.results) > 1, max(1.0, took * 2))
    peer.expect(
        not more or sum(d.acknowledged for d in twin.results) > 1,
        "one delivery, as for a call that nobody asked about",
        "the result again after it was acknowledged",
        question,
        asked.results[-1].exchange,
        case="a question repeats delivery",
    )
