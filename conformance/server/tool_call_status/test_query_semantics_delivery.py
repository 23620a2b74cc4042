"""As long as a server means to deliver it says so, no longer; and a question says nothing of deliveries.

Specification: "Tool Call Status Check", section "Query Semantics", with "Transport", "Tool to Runtime", and
"Tool Cancellation", "Best-Effort Semantics".
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from rap_conformance.engine.controls import Control, Positive
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.network.receiver import OK, Answer
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server import states, twins
from rap_conformance.server.asking import FAILING, attempts_of, between, under_way, until_alive
from rap_conformance.server.beside import at_once
from rap_conformance.server.call import Call
from rap_conformance.server.controls import need_alive, need_answer
from rap_conformance.server.endings import End, Watched, watch
from rap_conformance.server.lives import AFTERWARDS, share
from rap_conformance.server.peer import Peer
from rap_conformance.server.twins import Pair

LOOK = 6.0
"""Seconds for which a call is looked at whose result is refused each time."""
GROWTH = 2.5
"""By how much a pause may exceed the one before: whoever is silent for longer may have given up."""
GONE, MISSING, HANGING_UP = Answer(status=410), Answer(status=404), Answer(reset=True)
TRIED_NO_MORE = "a call whose result is tried no more"
REFUSED_FOR_GOOD = "a call whose result was answered 410"
NOBODY_THERE = "a call whose result was answered 404"


@scenario(
    "TCS025",
    control=Positive("an answer `true` has to be there while attempts go on"),
    overlap=True,
    parts=(share("TCS025"), AFTERWARDS),
)
def test_honest_while_retrying(peer: Peer) -> None:
    """Alive while the server goes on trying to deliver; not alive once it has given up, or was cancelled."""
    watched = at_once(
        {
            "a result that is taken at last": lambda: refused(peer, TRIED_NO_MORE, taken_at_last),
            "a result that is never taken": lambda: refused(peer, TRIED_NO_MORE, lambda _: FAILING),
            "a result that is refused for good": lambda: refused(peer, REFUSED_FOR_GOOD, lambda _: GONE),
            "a result that nobody is there for": lambda: refused(peer, NOBODY_THERE, lambda _: MISSING),
            "a result whose receiver hangs up": lambda: refused(peer, TRIED_NO_MORE, hung_up_at_first),
            "a cancelled call": lambda: stopped(peer, "a cancelled call", peer.cancel),
            "a closed call": lambda: stopped(peer, "a call whose thread was closed", peer.close_thread),
        }
    )
    for title, seen in watched.items():
        with peer.part(title):
            judge_attempts(peer, seen.result())


def taken_at_last(number: int) -> Answer:
    """Refuse three times."""
    return FAILING if number < 3 else OK


def hung_up_at_first(number: int) -> Answer:
    """Hang up three times."""
    return HANGING_UP if number < 3 else OK


def refused(peer: Peer, what: str, script: Callable[[int], Answer]) -> Watched:
    """Watch a quick call whose result is refused, until it is taken or the server has given up."""
    call = peer.invoke("quick", script=script)
    if not call.mailbox.until(attempts_of(call), peer.grace):
        raise Untested("the quick call brought no result")

    def since() -> float:
        return call.results[-1].arrived

    def usual() -> float:
        # Pauses grow; nobody who is silent for no longer than that has given up.
        arrived = [delivery.arrived for delivery in call.results]
        return GROWTH * max((later - earlier for earlier, later in pairwise(arrived)), default=0.0)

    def until() -> float:
        if call.result:
            return 0.0
        return float("inf") if peer.patience.now() - since() > usual() else call.acknowledged + LOOK

    return watch(peer, End(call, what, since, lambda: max(peer.grace, usual()), until))


def stopped(peer: Peer, what: str, stop: Callable[[Call], Exchange | None]) -> Watched:
    """Watch a pending call that was cancelled. The server may ignore that, and goes on until the result."""
    call = peer.invoke("pending")
    known = until_alive(peer, call)
    states.halt(peer, call, stop)
    when = peer.patience.now()

    def since() -> float:
        # As long as any call of its kind took, whether it was asked to stop or not.
        took = [
            c.results[0].arrived - c.sent for c in peer.session.calls if c.kind == "pending" and c.results
        ]
        due = call.sent + max([call.seconds, *took])
        return max(when, due, *(delivery.arrived for delivery in call.deliveries))

    seen = watch(peer, End(call, what, since, lambda: peer.grace))
    if seen.wrong is None:
        need_alive(peer, known, "the pending call")
    return seen


def judge_attempts(peer: Peer, seen: Watched) -> None:
    """Judge the answers between two attempts, then those after the last. Raises Violation, Untested."""
    edge, attempts = under_way(peer), seen.end.call.results
    if (taken := seen.end.call.result) is not None:  # whatever comes after that is TCS026's
        attempts = attempts[: attempts.index(taken) + 1]
    between_two = [
        (exchange, later)
        for earlier, later in pairwise(attempts)
        for exchange in between(seen.answers, earlier.arrived + edge, later.arrived - edge)
        if means_alive(exchange) is not None
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
    if seen.wrong is not None:
        raise seen.wrong
    last = max((delivery.arrived for delivery in attempts), default=0.0)
    gone = sum(means_alive(each) is False and each.started > last + edge for each in seen.answers)
    peer.judged(gone)
    if not between_two and not gone:
        raise Untested(
            seen.unknown or f"no question came between two attempts more than {2 * edge:.2g} s apart"
        )


@scenario(
    "TCS026",
    control=Control(
        "a question is answered; a twin that nobody asks about gets its second attempt", need_answer
    ),
    overlap=True,
    parts=(share("TCS026"), twins.much_later("TCS026")),
)
def test_query_implies_nothing(peer: Peer) -> None:
    """A question between two attempts neither stops nor repeats delivery."""

    def once_failing(number: int) -> Answer:
        return FAILING if number == 0 else OK

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
    twins.pairs(peer, "TCS026").append(Pair(asked, twin, question, "a question repeats delivery"))
