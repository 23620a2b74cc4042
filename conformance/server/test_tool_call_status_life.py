"""The status check over a call's life: alive while the server will still deliver, not alive after.

Specification: "Tool Call Status Check", section "Query Semantics"; "Subscription Events", section "Liveness".
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from unicodedata import normalize

from rap_conformance.controls import need_alive, need_answer, seen_alive
from rap_conformance.corpus import ask_id, once_alive
from rap_conformance.evidence import Exchange
from rap_conformance.peer import Call, Peer, Question, fresh
from rap_conformance.peers.probe import NoAnswer
from rap_conformance.peers.receiver import Answer
from rap_conformance.scenario import Trouble, Untested, Violation, scenario
from rap_conformance.wire import means_alive

POLL = 0.06
"""Seconds between two questions about one call."""

QUIET, QUIET_WITHIN = 5.0, 120.0
"""Seconds of silence after which what others asked no longer counts, and how long it is waited for."""

FAILING = Answer(status=503)


def ask_until(
    peer: Peer, call: Call, over: Callable[[], object], within: float, every: float = POLL
) -> list[Exchange]:
    """Ask about a call again and again until `over`, or for `within` seconds; gives every answer."""
    answers: list[Exchange] = []
    end = peer.patience.now() + within
    while not over() and peer.patience.now() < end:
        answers.append(peer.ask_about(call))
        peer.patience.pace(every)
    return answers


def between(answers: list[Exchange], start: float, end: float) -> list[Exchange]:
    """Those asked and answered wholly inside a span of time."""
    return [exchange for exchange in answers if exchange.started >= start and exchange.ended <= end]


def expect_gone(peer: Peer, call: Call, what: str, within: float) -> None:
    """Not alive within `within` seconds, and not alive again after that."""
    asked: list[Exchange] = []

    def gone() -> bool:
        asked.append(peer.ask_about(call))
        return not means_alive(asked[-1])

    if not peer.patience.until(gone, within, every=0.1):
        raise Violation(
            f"`alive: false` within {within:g} s",
            "`alive: true` all the time",
            asked[-1],
            case=f"{what}: still alive",
            absence=True,
        )
    for _ in range(5):
        peer.patience.pace(0.1)
        again = peer.ask_about(call)
        if means_alive(again):
            raise Violation(
                "`alive: false` for good",
                "`alive: true` again",
                asked[-1],
                again,
                case=f"{what}: alive again",
            )


@scenario("TCS005", overlap=True)
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


@scenario("TCS006", overlap=True)
def test_finished_not_alive(peer: Peer) -> None:
    """Not alive once the result was delivered and acknowledged."""
    need_answer(peer)
    with peer.part("a quick call"):
        call = peer.invoke("quick")
        peer.need_result(call)
        expect_gone(peer, call, "a quick call that ended", peer.grace)
    with peer.part("a call that was pending and was asked about meanwhile"):
        call = peer.invoke("pending")
        known = seen_alive(peer, call, lambda: call.results)
        peer.need_result(call)
        expect_gone(peer, call, "a pending call that ended", peer.grace)
        need_alive(known, "the pending call")
    with peer.part("a call that failed"):
        try:
            call = peer.invoke("quick", arguments={fresh("no-such-argument"): [None]})
        except Trouble as refused:
            raise Untested(str(refused)) from refused
        peer.need_result(call)
        expect_gone(peer, call, "a call that failed", peer.grace)


def need_events(peer: Peer, call: Call, count: int, asks: bool = False) -> list[Exchange]:
    """Wait for a subscription's events, asking meanwhile. Raises Untested if they do not come."""
    peer.session.fire()
    answers: list[Exchange] = []
    if asks:
        answers = ask_until(peer, call, lambda: len(call.events) >= count, peer.grace)
    if not call.mailbox.until(lambda _: len(call.events) >= count, peer.grace):
        raise Untested(
            f"the subscription sent {len(call.events)} of {count} events within {peer.grace:g} s; "
            "configure scenario.subscription with more frequent events, or a trigger"
        )
    return answers


@scenario("TCS007", overlap=True)
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


@scenario("TCS008", overlap=True)
def test_ended_subscription_not_alive(peer: Peer) -> None:
    """Not alive once its final event was delivered and acknowledged."""
    call = peer.invoke("final")
    known = seen_alive(peer, call, lambda: call.final)
    if not call.mailbox.until(lambda _: call.final, peer.grace):
        raise Untested(f"no event with `final: true` arrived within {peer.grace:g} s")
    expect_gone(peer, call, "a subscription after its final event", peer.grace)
    need_alive(known, "the subscription")


def known_alone(peer: Peer, call: Call) -> bool:
    """Wait until a pending call is alive to one who asks alone; false if it ended first."""
    end = peer.patience.now() + peer.grace
    while not call.results and peer.patience.now() < end:
        if means_alive(peer.ask_about(call)):
            return True
        peer.patience.pace(POLL)
    return False


@scenario("TCS021", overlap=True)
def test_same_id_two_threads(peer: Peer) -> None:
    """One id in two threads is two calls. Judged beside calls of other ids: only the namesakes count."""
    for _ in range(3):
        if namesakes(peer):
            return
    raise Untested("the pending call ended before its namesake; let scenario.pending last longer")


def namesakes(peer: Peer) -> bool:
    """Let one of two calls with one id end; false if the other ended before that could be told."""
    twin, pending = (peer.invoke("pending") for _ in range(2))  # what comes with age befalls the twin first
    peer.patience.pace(peer.slack)
    began = peer.patience.now()
    if not known_alone(peer, pending):
        if pending.results and pending.results[0].arrived < began + peer.slack:
            return False
        raise Untested("the pending call was never alive")
    quick, other = peer.invoke("quick", id=pending.id), peer.invoke("quick")
    for call in (quick, other):
        if not call.mailbox.until(attempts_of(call, 1), peer.grace):
            raise Untested("the quick call brought no result")
    pairs: list[tuple[Exchange, Exchange]] = []
    end = peer.patience.now() + 0.6
    while not pending.results and peer.patience.now() < end:
        pairs.append((peer.ask_about(pending), peer.ask_about(twin)))
        peer.patience.pace(POLL)
    ended, control = peer.ask_about(quick), peer.ask_about(other)
    try:
        over = min(peer.need_result(call).arrived for call in (pending, twin)) - peer.slack
    except Untested as missing:
        raise Untested(f"{missing}, after a call of the same id in another thread had ended") from None
    sure = [(mine, theirs) for mine, theirs in pairs if theirs.ended < over and means_alive(theirs)]
    if not sure:
        return False
    denied = [mine for mine, _ in sure if means_alive(mine) is not True]
    if len(denied) > 1:
        peer.report(
            Violation(
                "`alive: true` for the pending call, as for one of another id",
                "not alive, after a call of the same id in another thread ended",
                denied[0],
                case="the pending one of two calls with one id",
            )
        )
    if means_alive(ended) and not means_alive(control) and ended.ended < over:
        peer.report(
            Violation(
                "`alive: false` for the call that ended, as for one of another id",
                "`alive: true`, as for its namesake in another thread",
                ended,
                case="the ended one of two calls with one id",
            )
        )
    return True


@scenario("TCS022")
def test_right_under_concurrency(peer: Peer) -> None:
    """Hundreds of questions at once, about live and unknown ids: each gets its own right answer."""
    proven = 0
    for _ in range(3):
        told = asked_by_many(peer)
        proven += told or 0
        if told is None or proven >= 20:
            break
    if proven < 20:
        raise Untested("the pending calls ended before many could ask; let scenario.pending last longer")


def asked_by_many(peer: Peer) -> int | None:
    """Ask about live and unknown calls; how many answers about live ones tell something, None if none can."""
    # The twin, the oldest, is asked about now and then: while it is alive, age alone made no call unknown.
    twin, *calls = (peer.invoke("pending") for _ in range(5))
    peer.patience.pace(peer.slack)
    # What is wrong even if one asks alone is TCS004's and TCS005's.
    right_alone = {False: not means_alive(peer.ask(fresh(), calls[0].thread))}
    began = peer.patience.now()
    right_alone[True] = all([*(known_alone(peer, call) for call in calls)])
    too_soon = any(call.results and call.results[0].arrived < began + peer.slack for call in calls)

    def ask(number: int) -> tuple[Call | None, Exchange] | None:
        call = calls[number // 2 % len(calls)] if number % 2 else None if number % 30 else twin
        # Nothing is learnt once the calls ended, as they do meanwhile where the server slows us down.
        if any(each.results for each in calls):
            return None
        try:
            return call, peer.ask_about(call) if call else peer.ask(fresh(), calls[0].thread)
        except NoAnswer:
            return None

    with ThreadPoolExecutor(8) as crowd:
        answers = [answer for answer in crowd.map(ask, range(240)) if answer is not None]
    end = min(peer.need_result(call).arrived for call in (*calls, twin)) - peer.slack
    sane = [e.started for about, e in answers if about is twin and means_alive(e) and e.ended < end]
    proven = 0
    for about, exchange in answers:
        if about is twin or (about is not None and exchange.ended > max(sane, default=0.0)):
            continue
        proven += about is not None and right_alone[True]
        alive = means_alive(exchange)
        wrong = exchange.failure is None and alive is not None and alive is not (about is not None)
        if wrong and right_alone[about is not None]:
            peer.report(
                Violation(
                    f"`alive: {str(about is not None).lower()}`",
                    f"`alive: {str(alive).lower()}`",
                    exchange,
                    case="a live call, asked by many" if about else "an unknown id, asked by many",
                )
            )
    peer.record.examples += len(answers)
    return proven if right_alone[True] or too_soon else None


@scenario("TCS025", overlap=True)
def test_honest_while_retrying(peer: Peer) -> None:
    """Alive while the server goes on trying to deliver; nothing arrives after a steady false."""
    call = peer.invoke("quick", script=lambda number: FAILING if number < 3 else Answer())
    if not call.mailbox.until(lambda _: call.results, peer.grace):
        raise Untested("the quick call brought no result")
    answers: list[Exchange] = []
    end = peer.patience.now() + peer.grace
    steady: float | None = None
    while not call.result and peer.patience.now() < end:
        answers.append(peer.ask_about(call))
        if means_alive(answers[-1]):
            steady = None
        else:
            steady = answers[-1].started if steady is None else steady
            if peer.patience.now() - steady > peer.race:
                # Given up, it says. Another attempt would have to come within the time that pauses grow to.
                call.mailbox.until(attempts_of(call, len(call.results) + 1), peer.race)
                break
        peer.patience.pace(POLL)
    attempts = [delivery.arrived for delivery in call.results]
    if len(attempts) == 1 and steady is None and not call.result:
        peer.note(f"the server neither tried again nor gave up within {peer.grace:g} s")
    for earlier, later in pairwise(attempts):
        for exchange in between(answers, earlier + peer.slack, later - peer.slack):
            if not means_alive(exchange):
                raise Violation(
                    "`alive: true` while the server goes on trying to deliver",
                    f"`alive: false`, and another attempt {later - exchange.ended:.1f} s later",
                    exchange,
                    next(d.exchange for d in call.results if d.arrived == later),
                    case="between two attempts to deliver",
                )


def attempts_of(call: Call, count: int = 1) -> Callable[[object], bool]:
    """A condition: so many attempts to deliver the call's result have arrived."""
    return lambda _: len(call.results) >= count


@scenario("TCS026", overlap=True)
def test_query_implies_nothing(peer: Peer) -> None:
    """A question between two attempts neither stops nor repeats delivery."""
    need_answer(peer)

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
    took = twin.result.arrived - twin.results[0].arrived
    if not asked.mailbox.until(lambda _: asked.result, took * 2 + peer.race):
        raise Violation(
            "another attempt to deliver, as for a call that nobody asked about",
            f"none within {took * 2 + peer.race:.0f} s of the question",
            question,
            case="a question stops delivery",
            absence=True,
        )
    question = [peer.ask_about(asked) for _ in range(3)][-1]
    more = asked.mailbox.until(lambda _: sum(d.acknowledged for d in asked.results) > 1, max(1.0, took * 2))
    if more and sum(d.acknowledged for d in twin.results) < 2:
        raise Violation(
            "one delivery, as for a call that nobody asked about",
            "the result again after it was acknowledged",
            question,
            asked.results[-1].exchange,
            case="a question repeats delivery",
        )


@scenario("TCS027", overlap=True)
def test_limit_spares_live_calls(peer: Peer) -> None:
    """To a caller who takes his time, a live call is never answered 429 or 401."""
    need_answer(peer)
    if refused_for_its_pace(peer) is None:
        return
    # Whatever runs beside this scenario uses up the same limit: it counts only once nobody else asks.
    if not peer.patience.until(lambda: quiet(peer), QUIET_WITHIN):
        raise Untested("the server limits the pace, and other scenarios went on asking beside this one")
    if found := refused_for_its_pace(peer):
        raise found


def quiet(peer: Peer) -> bool:
    """Whether nobody asks the server anything for a while."""
    before = peer.session.probe.requests
    peer.patience.pace(QUIET)
    return peer.session.probe.requests == before


def refused_for_its_pace(peer: Peer) -> Violation | None:
    """Ask about a live call at an easy pace; what is wrong if it is refused while an unknown one is not."""
    call = peer.invoke("pending")
    peer.patience.pace(peer.slack)
    refused: list[Exchange] = []
    while not call.results and peer.patience.now() < call.acknowledged + 10.0:
        exchange = peer.ask_about(call, patient=False)
        if exchange.status in {401, 429}:
            refused.append(exchange)
            wait = exchange.header("retry-after") or ""
            peer.patience.pace(min(float(wait), 5.0) if wait.isdigit() else 1.0)
            control = peer.ask(fresh(), fresh("thread"), patient=False)
            if control.status == exchange.status and len(refused) < 2:
                continue  # everybody is refused: what we asked before this scenario still counts
            again = peer.ask_about(call, patient=False)
            if again.status in {401, 429} and control.status not in {401, 429}:
                return Violation(
                    "an answer about a live call, at one question a second",
                    f"status {again.status}, which a runtime reads as gone",
                    again,
                    control,
                    case="a live call refused for its pace",
                )
        peer.patience.pace(0.45)
    peer.need_result(call)
    return None


@scenario("TCS029", overlap=True)
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


@scenario("TCS030", overlap=True)
def test_exact_match(peer: Peer) -> None:
    """A live id padded with white space, or in another Unicode form, is another id."""
    call_id = f"{fresh()}-\u00e9\u212b\ufb01"
    try:
        _, answers = peer.while_pending(_disguised(peer, call_id), id=call_id)
    except Trouble:
        peer.note("not exercised: Unicode forms (the server takes no invocation whose id is not ASCII)")
        call_id = fresh()
        _, answers = peer.while_pending(_disguised(peer, call_id), id=call_id)
    (_, control), *others = answers
    for case, exchange in others:
        if means_alive(exchange):
            peer.report(Violation("`alive: false`", "`alive: true`", exchange, case=case))
    need_alive(means_alive(control))


def _disguised(peer: Peer, call_id: str) -> list[Question]:
    """Questions about a live id itself, and about what looks like it and is another one."""
    variants = {
        "with a space before": f" {call_id}",
        "with a space after": f"{call_id} ",
        "with a line feed after": f"{call_id}\n",
        "with a tab before": f"\t{call_id}",
        "with a NUL after": f"{call_id}\0",
        "with a zero-width space after": f"{call_id}\u200b",
        "with a no-break space after": f"{call_id}\u00a0",
        **{f"in Unicode form {form}": normalize(form, call_id) for form in ("NFC", "NFD", "NFKC", "NFKD")},
    }
    others = [(how, other) for how, other in variants.items() if other != call_id]
    control: Question = ("the live call itself", once_alive(peer))
    return [control, *((f"a live id {how}", ask_id(peer, other)) for how, other in others)]


@scenario("TCS031", overlap=True)
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
        need_alive(known, "the subscription")
        return
    if any(event.arrived > cancelled + peer.race for event in call.events):
        raise Untested("the server goes on sending events after the cancellation, which it may ignore")
    expect_gone(peer, call, "a cancelled subscription", peer.grace)
