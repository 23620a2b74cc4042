"""What `alive` means: true for a pending call and an active subscription, false for all else.

Specification: "Tool Call Status Check", section "Query Semantics"; "Subscription Events", section "Liveness".
"""

from __future__ import annotations

from collections.abc import Iterator

from rap_conformance.engine.controls import Control, Positive
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Trouble, Untested, scenario
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import (
    Labelled,
    Question,
    again_and_again,
    certainly_live,
    expect_gone,
    in_its_thread,
    itself,
    need_events,
    until_alive,
    while_live,
    witnessed,
)
from rap_conformance.server.controls import judge_false, judge_resembling, need_alive, need_answer
from rap_conformance.server.corpus import GENERATED, near_misses, ordinary, smallest_of
from rap_conformance.server.lives import share
from rap_conformance.server.peer import Peer

LEAST = 3
"""Answers about a live call, or a subscription, without which nothing is said of them."""


@scenario(
    "TCS004",
    control=Control(
        "ordinary queries are answered; the live call that the near misses resemble is alive", need_answer
    ),
    overlap=True,
    parts=(share("TCS004"),),
)
def test_unknown_not_alive(peer: Peer) -> None:
    """Ids nobody ever invoked are not alive, however much they resemble one that is."""
    with peer.part("near misses of a live id"):
        call_id = fresh()
        judge_resembling(peer, while_live(peer, resembling(peer, call_id), id=call_id))
    with peer.part("beside a subscription"):
        call_id = fresh()
        where = "in a thread with a subscription"
        questions = (
            itself(peer),
            in_its_thread(peer, f"an unknown id {where}", fresh()),
            in_its_thread(peer, f"its id cut by one character {where}", call_id[:-1]),
        )
        judge_resembling(peer, while_live(peer, questions, "subscription", id=call_id))
    with peer.part("unknown ids"):
        judge_unknown(peer, ordinary(peer))


def resembling(peer: Peer, call_id: str) -> Iterator[Question]:
    """The control, then questions about ids that are not those of the live call and resemble them."""
    yield itself(peer)
    for how, variant in near_misses(call_id):
        yield in_its_thread(peer, f"a live call's id {how}", variant)
    yield in_its_thread(peer, "an unknown id in a thread with a live call", fresh())
    yield "a live call's thread id as the call's", lambda call: peer.ask(call.thread, call.thread)


def judge_unknown(peer: Peer, answers: list[Labelled]) -> None:
    """None may be `true`; of the generated ones that are, one is shown, as small as it gets."""

    def claims(exchange: Exchange) -> bool:
        return means_alive(exchange) is True

    wrong = [exchange for case, exchange in answers if case == GENERATED and claims(exchange)]
    judge_false(peer, [(c, e) for c, e in answers if c != GENERATED or not claims(e)])
    for exchange in wrong[:1]:
        judge_false(peer, [(GENERATED, smallest_of(peer, "ordinary", claims, exchange))])


@scenario(
    "TCS005", control=Positive("an answer `true` has to be there"), overlap=True, parts=(share("TCS005"),)
)
def test_pending_alive(peer: Peer) -> None:
    """Alive without a gap from the acknowledgement until the result arrives, also beside another call."""
    thread = fresh("thread")
    limit = (peer.session.tool("pending").seconds or 0.0) * 2 + peer.grace

    def questions() -> Iterator[Question]:
        peer.invoke("pending", thread=thread)
        yield from again_and_again(peer, limit)

    for _, exchange, result in witnessed(peer, questions(), least=LEAST, thread=thread):
        got = exchange.failure or f"status {exchange.status} with {exchange.response_body[:60]!r}"
        peer.expect(
            means_alive(exchange) is True,
            "`alive: true` until the result",
            f"{got}, {result.arrived - exchange.ended:.1f} s before the result arrived",
            exchange,
            result.exchange,
            case="a pending call",
        )


@scenario(
    "TCS006",
    control=Control(
        "ordinary queries are answered; the call that was pending was alive before its end", need_answer
    ),
    overlap=True,
    parts=(share("TCS006"),),
)
def test_finished_not_alive(peer: Peer) -> None:
    """Not alive once the result was delivered and acknowledged."""
    with peer.part("a quick call"):
        call = peer.invoke("quick")
        peer.need_result(call)
        expect_gone(peer, call, "a quick call that ended", peer.grace)
    with peer.part("a call that was pending and was asked about meanwhile"):
        call = peer.invoke("pending")
        known = until_alive(peer, call)
        peer.need_result(call)
        expect_gone(peer, call, "a pending call that ended", peer.grace)
        need_alive(peer, known, "the pending call")
    with peer.part("a call that failed"):
        try:
            call = peer.invoke("quick", arguments={fresh("no-such-argument"): [None]})
        except Trouble as refused:
            raise Untested(str(refused)) from refused
        peer.need_result(call)
        expect_gone(peer, call, "a call that failed", peer.grace)


@scenario(
    "TCS007", control=Positive("an answer `true` has to be there"), overlap=True, parts=(share("TCS007"),)
)
def test_subscription_alive(peer: Peer) -> None:
    """Alive as long as events come."""
    answers = witnessed(
        peer,
        again_and_again(peer, peer.grace),
        "subscription",
        least=LEAST,
        until=lambda call: call.final or len(call.events) >= 4,
    )
    for _, exchange, event in answers:
        got = exchange.failure or f"status {exchange.status} with {exchange.response_body[:60]!r}"
        peer.expect(
            means_alive(exchange) is True,
            "`alive: true`",
            f"{got}, and an event {event.arrived - exchange.ended:.1f} s later",
            exchange,
            event.exchange,
            case="an active subscription",
        )


@scenario("TCS008", control=Control("the subscription was alive before its final event"), overlap=True)
def test_ended_subscription_not_alive(peer: Peer) -> None:
    """Not alive once its final event was delivered and acknowledged."""
    call = peer.invoke("final")
    known = until_alive(peer, call)
    if not call.mailbox.until(lambda _: call.final, peer.grace):
        raise Untested(f"no event with `final: true` arrived within {peer.grace:g} s")
    expect_gone(peer, call, "a subscription after its final event", peer.grace)
    need_alive(peer, known, "the subscription")


@scenario("TCS029", control=Positive("an answer `true` has to be there"), overlap=True)
def test_alive_at_once(peer: Peer) -> None:
    """Alive from the very acknowledgement on."""
    asked = []
    for _ in range(LEAST):
        call = peer.invoke("pending")
        asked.append((call, peer.ask_about(call)))
    for call, exchange in asked:
        peer.need_result(call)
        if not certainly_live(peer, call, exchange, from_the_first=True):
            raise Untested("the pending call ended too soon")
        peer.expect(
            means_alive(exchange),
            "`alive: true` from the acknowledgement on",
            f"not alive {exchange.ended - call.acknowledged:.3f} s after it",
            exchange,
            case="right after the acknowledgement",
        )


@scenario("TCS031", control=Control("the subscription was alive before its cancellation"), overlap=True)
def test_cancelled_subscription_not_alive(peer: Peer) -> None:
    """Not alive once a cancelled subscription sends nothing more."""
    call = peer.invoke("subscription")
    peer.need_result(call)
    known = until_alive(peer, call)
    need_events(peer, call, 2)
    first, second = call.events[:2]
    if peer.cancel(call) is None:
        raise Untested("the server has no /cancel_tool_call")
    cancelled = peer.patience.now()
    quiet = peer.race + 3 * (second.arrived - first.arrived)
    if peer.patience.until(lambda: not means_alive(peer.ask_about(call)), quiet, every=0.1):
        peer.judged()
        need_alive(peer, known, "the subscription")
        return
    if any(event.arrived > cancelled + peer.race for event in call.events):
        raise Untested("the server goes on sending events after the cancellation, which it may ignore")
    expect_gone(peer, call, "a cancelled subscription", peer.grace)
    need_alive(peer, known, "the subscription")
