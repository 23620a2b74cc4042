"""Asking about a call at the right moment: while it is certainly live, until it is alive, after its end.

Specification: "Tool Call Status Check", section "Query Semantics"; "Subscription Events", section "Liveness".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import Any

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Untested
from rap_conformance.network.receiver import Answer, Delivery
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.call import Call
from rap_conformance.server.peer import Peer

Labelled = tuple[str, Exchange]
"""An answer, and in words what was asked."""

Question = tuple[str, Callable[[Call], Exchange]]
"""Something to ask while a call is live: in words, and as it is done."""

Numbered = tuple[int, Question]
"""A question and its place among the others."""

Witnessed = tuple[str, Exchange, Delivery]
"""An answer about a live call, with what came for the call later."""

ITSELF = "the live call itself"
"""The title of the question about the live call: the control beside what only resembles it."""

POLL = 0.06
"""Seconds between two questions about one call."""

MOST_CALLS = 4
"""Calls that are made for one series of questions before it is given up."""

SAMPLE = 15
"""Quick calls by which is judged how long a callback of this server is under way."""

FAILING = Answer(status=503)


def while_live(
    peer: Peer, questions: Iterable[Question], kind: str = "pending", **how: Any
) -> list[Labelled]:
    """The answers of `witnessed` alone, in the order of asking."""
    return [(title, exchange) for title, exchange, _ in witnessed(peer, questions, kind, **how)]


def witnessed(
    peer: Peer,
    questions: Iterable[Question],
    kind: str = "pending",
    *,
    least: int | None = None,
    until: Callable[[Call], object] | None = None,
    timed: bool = False,
    **how: Any,
) -> list[Witnessed]:
    """Ask while a call of ours is certainly live; gives each answer with the delivery that shows that it was.

    What was not asked while the call was certainly live is dropped and asked again in a new call. Questions
    are taken one by one: a generator may pace them. `how` is what each call is made with; `until` says
    when to ask no more in one call (by default: it has ended); `least` answers are enough (by default: all).
    Where answers are late several are asked at once, but not if their times are compared (`timed`).
    Raises Untested if no such call can be made, or each ended too soon.
    """
    waiting: Iterator[Numbered] = enumerate(questions)
    proven: dict[int, Witnessed] = {}
    for _ in range(MOST_CALLS):
        call = peer.invoke(kind, **how)
        _begin(peer, call)
        asked, exhausted = _ask(peer, call, waiting, until or ended, 1 if timed else peer.session.tempo.sides)
        _prove(peer, call, [exchange for _, exchange in asked], least)
        late, before = [], len(proven)
        for (number, question), exchange in asked:
            if certainly_live(peer, call, exchange):
                proven[number] = question[0], exchange, _shown(call)[0]
            else:
                late.append((number, question))
        if (exhausted and not late) or (least is not None and len(proven) >= least):
            return [proven[number] for number in sorted(proven)]
        if len(proven) == before:
            _too_early(peer, call)
        waiting = chain(late, waiting)
    raise Untested(_too_short(peer, kind))


def certainly_live(peer: Peer, call: Call, exchange: Exchange, *, from_the_first: bool = False) -> bool:
    """Whether a call was live while a question was asked and answered, as what came for it later shows.

    Asked more than the slack after the acknowledgement (of a subscription: the confirmation), or with
    `from_the_first` at any time after it, and answered before the result (of a subscription: some event)
    could be under way.
    """
    shown = _shown(call)
    start = _registered(call) + (0.0 if from_the_first else peer.slack)
    return bool(shown) and start < exchange.started and exchange.ended < shown[0].arrived - under_way(peer)


def under_way(peer: Peer) -> float:
    """Seconds before something arrives in which it may be under way, so that `false` is no lie yet.

    At least the slack, at most the race window. A call that ends at once shows it: what that takes from the
    acknowledgement to the first delivery is as long as a delivery can take.
    """
    took = [
        call.deliveries[0].arrived - call.acknowledged
        for call in islice((c for c in peer.session.calls if c.kind == "quick" and c.deliveries), SAMPLE)
    ]
    usual = sorted(took)[(len(took) - 1) // 2] if took else 0.0
    return max(peer.slack, min(peer.race, 1.25 * usual + 0.1))


def again_and_again(peer: Peer, within: float, every: float = POLL, least: int = 0) -> Iterator[Question]:
    """The question about the call itself, every moment, for `within` seconds from the first one on.

    `least` questions are asked however long that takes: a limit may make each of them wait.
    """
    end = peer.patience.now() + within
    asked = 0
    while peer.patience.now() < end or asked < least:
        asked += 1
        yield ITSELF, peer.ask_about
        peer.patience.pace(every)


def itself(peer: Peer) -> Question:
    """The control: the question about the call itself, until it is alive or half a call's time is over."""

    def ask(call: Call) -> Exchange:
        return until_alive(peer, call, call.seconds / 2 if call.seconds else peer.race)

    return ITSELF, ask


def in_its_thread(peer: Peer, title: str, tool_call_id: str) -> Question:
    """The question about another id in the thread of the live call."""
    return title, lambda call: peer.ask(tool_call_id, call.thread)


def until_alive(peer: Peer, call: Call, within: float | None = None) -> Exchange:
    """Ask until the call is alive, has ended, or `within` (the grace time) is over; gives the last answer."""
    end = peer.patience.now() + (peer.grace if within is None else within)
    pause = POLL
    while True:
        exchange = peer.ask_about(call)
        if means_alive(exchange) or ended(call) or peer.patience.now() > end:
            return exchange
        peer.patience.pace(pause)
        pause = min(1.5 * pause, 5 * POLL)  # what is never alive must not use up a limit that all share


def ended(call: Call) -> bool:
    """Whether its result, or a subscription's final event, has arrived."""
    return bool(call.final if _subscribing(call) else call.results)


def between(answers: list[Exchange], start: float, end: float) -> list[Exchange]:
    """Those asked and answered wholly inside a span of time."""
    return [exchange for exchange in answers if exchange.started >= start and exchange.ended <= end]


def need_events(peer: Peer, call: Call, count: int) -> None:
    """Wait for a subscription's events. Raises Untested if they do not come."""

    def arrived(number: int) -> Callable[[object], bool]:
        return lambda _: len(call.events) >= number

    for number in range(1, count + 1):
        peer.session.fire()
        if not call.mailbox.until(arrived(number), peer.grace):
            raise Untested(_too_few(call, count, peer.grace))


def attempts_of(call: Call, count: int = 1) -> Callable[[object], bool]:
    """A condition: so many attempts to deliver the call's result have arrived."""
    return lambda _: len(call.results) >= count


def _subscribing(call: Call) -> bool:
    return call.kind in {"subscription", "final"}


def _shown(call: Call) -> tuple[Delivery, ...]:
    """What shows that a call was live until it arrived: its first result, or a subscription's last event."""
    return call.events[-1:] if _subscribing(call) else call.results[:1]


def _registered(call: Call) -> float:
    """When the server had said that it knows of the call."""
    if _subscribing(call) and call.result is not None:
        return call.result.exchange.ended
    return call.acknowledged


def _begin(peer: Peer, call: Call) -> None:
    """Wait until nobody can say any more that the call has only just begun."""
    if _subscribing(call):
        peer.need_result(call)
    peer.patience.until(lambda: peer.patience.now() > _registered(call) + peer.slack, peer.slack * 2)


def _ask(
    peer: Peer, call: Call, waiting: Iterator[Numbered], over: Callable[[Call], object], sides: int
) -> tuple[list[tuple[Numbered, Exchange]], bool]:
    """Ask until that is over, so many at once; gives what was asked, and whether no question is left."""
    asked: list[tuple[Numbered, Future[Exchange]]] = []
    events = -1
    exhausted = False
    with ThreadPoolExecutor(sides, thread_name_prefix="late") as beside:
        while not (asked and over(call)):
            if (question := next(waiting, None)) is None:
                exhausted = True
                break
            if _subscribing(call) and len(call.events) > events:
                events = len(call.events)
                peer.session.fire()
            asked.append((question, beside.submit(question[1][1], call)))
            if sides == 1:
                asked[-1][1].result()
    return [(question, answer.result()) for question, answer in asked], exhausted


def _prove(peer: Peer, call: Call, answers: list[Exchange], least: int | None) -> None:
    """Wait for what shows that the call was live until then."""
    if not _subscribing(call):
        peer.need_result(call)
        return
    needed = len(answers) if least is None else min(least, len(answers))

    def proven(_: object) -> bool:
        return bool(call.final) or sum(certainly_live(peer, call, each) for each in answers) >= needed

    peer.session.fire()
    if not call.mailbox.until(proven, peer.grace) and not call.events:
        raise Untested(_too_few(call, 1, peer.grace))
    peer.cancel(call)


def _too_early(peer: Peer, call: Call) -> None:
    """A call of which no answer tells anything: was it over too soon for that?"""
    lasted = call.results[0].arrived - call.acknowledged if call.results else float("inf")
    if lasted < 2 * peer.slack + under_way(peer):
        peer.session.tools.ended_too_early(call.kind, lasted)


def _too_few(call: Call, count: int, within: float) -> str:
    return (
        f"the subscription sent {len(call.events)} of {count} events within {within:g} s; "
        "configure scenario.subscription with more frequent events, or a trigger"
    )


def _too_short(peer: Peer, kind: str) -> str:
    if kind != "pending":
        return "the subscription ended before everything was asked; configure one that lasts longer"
    return (
        "a pending call ended before everything was asked; configure scenario.pending to last longer "
        f"than {peer.session.tool('pending').seconds or 0:g} s"
    )
