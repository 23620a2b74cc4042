"""The status check's answers: their form, and what they say of calls that are not live.

Specification: "Tool Call Status Check", sections "Response" and "Query Semantics".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Control, Positive
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Trouble, Untested, Violation, scenario
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import ask_until, between, expect_gone, need_events
from rap_conformance.server.controls import need_answer, seen_alive
from rap_conformance.server.corpus import (
    GENERATED,
    ask_id,
    near_misses,
    once_alive,
    ordinary,
    smallest_of,
)
from rap_conformance.server.lives import share
from rap_conformance.server.peer import Peer, Question


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

    def claims(exchange: Exchange) -> bool:
        return means_alive(exchange) is True

    def check(case: str, exchange: Exchange) -> None:
        if claims(exchange):
            peer.report(Violation("`alive: false`", "`alive: true`", exchange, case=case))

    with peer.part("near misses of a live id"):
        call_id = fresh()
        questions: list[Question] = [("the live call itself", once_alive(peer))]
        questions += [
            (f"a live call's id {title}", ask_id(peer, variant)) for title, variant in near_misses(call_id)
        ]
        questions.append(("an unknown id in a thread with a live call", ask_id(peer, fresh())))
        questions.append(
            ("a live call's thread id as the call's", lambda call: peer.ask(call.thread, call.thread))
        )
        (_, control), *answers = peer.while_pending(questions, id=call_id)[1]
        for case, exchange in answers:
            check(case, exchange)
        if not claims(control):
            raise Untested("the live call itself is not alive, which TCS005 is about")
    with peer.part("beside a subscription"):
        subscription = peer.invoke("subscription")
        peer.need_result(subscription)
        for title, unknown in (
            ("an unknown id", fresh()),
            ("its id cut by one character", subscription.id[:-1]),
        ):
            check(f"{title} in a thread with a subscription", peer.ask(unknown, subscription.thread))
        known = claims(peer.ask_about(subscription))
        peer.cancel(subscription)
        peer.controlled(known, "the subscription is never alive, which TCS005 and TCS007 are about")
    with peer.part("unknown ids"):
        asked = ordinary(peer)
        if all(means_alive(exchange) is None for _, exchange in asked):
            raise Untested("no answer about an unknown id could be read")
        for case, exchange in asked:
            if case != GENERATED:
                check(case, exchange)
        wrong = next((e for case, e in asked if case == GENERATED and claims(e)), None)
        if wrong is not None:
            check(GENERATED, smallest_of(peer, "ordinary", claims, wrong))


@scenario(
    "TCS005", control=Positive("an answer `true` has to be there"), overlap=True, parts=(share("TCS005"),)
)
def test_pending_alive(peer: Peer) -> None:
    """Alive without a gap from the acknowledgement until the result arrives, also beside another call."""
    call = peer.invoke("pending")
    peer.invoke("pending", thread=call.thread)
    limit = (peer.session.tool("pending").seconds or 0.0) * 2 + peer.grace
    answers = ask_until(peer, call, lambda: call.results, limit)
    result = peer.need_result(call)
    sure = between(answers, call.acknowledged + peer.slack, result.arrived - peer.slack)
    if len(sure) < 3:
        raise Untested("the pending call ended before it could be asked about three times")
    for exchange in sure:
        if means_alive(exchange) is not True:
            got = exchange.failure or f"status {exchange.status} with {exchange.response_body[:60]!r}"
            raise Violation(
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
        known = seen_alive(peer, call, lambda: call.results)
        peer.need_result(call)
        expect_gone(peer, call, "a pending call that ended", peer.grace)
        peer.controlled(known, "the pending call is never alive, which TCS005 and TCS007 are about")
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
    call = peer.invoke("subscription")
    peer.need_result(call)
    answers = need_events(peer, call, 4, asks=True)

    def proven() -> list[Exchange]:
        return between(answers, call.acknowledged + peer.slack, call.events[-1].arrived - peer.slack)

    end = peer.patience.now() + peer.grace
    while not proven() and peer.patience.now() < end:
        answers.append(peer.ask_about(call))
        call.mailbox.until(lambda _: proven(), peer.grace)
    peer.cancel(call)
    sure, last = proven(), call.events[-1]
    if not sure:
        raise Untested(f"no event came more than {peer.slack:g} s after a question within {peer.grace:g} s")
    for exchange in sure:
        if means_alive(exchange) is not True:
            raise Violation(
                "`alive: true`",
                f"status {exchange.status} with {exchange.response_body[:60]!r}, and an event "
                f"{last.arrived - exchange.ended:.1f} s later",
                exchange,
                last.exchange,
                case="an active subscription",
            )


@scenario("TCS008", control=Control("the subscription was alive before its final event"), overlap=True)
def test_ended_subscription_not_alive(peer: Peer) -> None:
    """Not alive once its final event was delivered and acknowledged."""
    call = peer.invoke("final")
    known = seen_alive(peer, call, lambda: call.final)
    if not call.mailbox.until(lambda _: call.final, peer.grace):
        raise Untested(f"no event with `final: true` arrived within {peer.grace:g} s")
    expect_gone(peer, call, "a subscription after its final event", peer.grace)
    peer.controlled(known, "the subscription is never alive, which TCS005 and TCS007 are about")


@scenario("TCS029", control=Positive("an answer `true` has to be there"), overlap=True)
def test_alive_at_once(peer: Peer) -> None:
    """Alive from the very acknowledgement on."""
    asked = []
    for _ in range(3):
        call = peer.invoke("pending")
        asked.append((call, peer.ask_about(call)))
    for call, exchange in asked:
        result = peer.need_result(call)
        if exchange.ended > result.arrived - peer.slack:
            raise Untested("the pending call ended too soon")
        if not means_alive(exchange):
            raise Violation(
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
    known = seen_alive(peer, call, lambda: len(call.events) > 1)
    need_events(peer, call, 2)
    first, second = call.events[:2]
    interval = second.arrived - first.arrived
    if peer.cancel(call) is None:
        raise Untested("the server has no /cancel_tool_call")
    cancelled = peer.patience.now()
    quiet = peer.race + 3 * interval
    if peer.patience.until(lambda: not means_alive(peer.ask_about(call)), quiet, every=0.1):
        peer.controlled(known, "the subscription is never alive, which TCS005 and TCS007 are about")
        return
    if any(event.arrived > cancelled + peer.race for event in call.events):
        raise Untested("the server goes on sending events after the cancellation, which it may ignore")
    expect_gone(peer, call, "a cancelled subscription", peer.grace)
