"""After a crash: the status check tells which calls will still deliver.

Specification: "Tool Call Status Check", section "Recovery After Runtime Restart", with "Protocol Lifecycle",
section "Shutdown".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.scenario import NotApplicable, Untested, scenario
from rap_conformance.network.pace import NoAnswer
from rap_conformance.network.receiver import Delivery
from rap_conformance.protocol import life_seen, lifecycle
from rap_conformance.protocol.life_seen import Seen
from rap_conformance.protocol.lifecycle import Event, State
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server import call_life
from rap_conformance.server.call import Call
from rap_conformance.server.controls import need_alive
from rap_conformance.server.peer import Peer


@scenario("TCS016", control=Control("right before the crash a call is alive that may be lost in it"))
def test_lost_calls_not_alive(peer: Peer) -> None:
    """After a kill and a restart: alive exactly for what then delivers."""
    least = call_life.LEAST[peer.session.common.profile]
    over = [call for kind in ("quick", "final") for call in started(peer, kind, lambda k: [ended(peer, k)])]
    with ThreadPoolExecutor(call_life.SIDES) as sides:
        calls = started(peer, "subscription", lambda _: subscribed(peer, sides, least))
        calls += started(
            peer, "pending", lambda kind: list(sides.map(lambda _: peer.invoke(kind), range(least)))
        )
        if not calls:
            raise Untested("nothing could be started that a crash would interrupt")
        known = [peer.ask_about(call) for call in (calls[0], calls[-1])]
        interrupted = [call for call in calls if call.kind != "pending" or not call.results]
        if calls[-1].kind == "pending" and interrupted[-1:] != calls[-1:]:
            raise Untested("the pending calls ended before the crash; let scenario.pending last longer")
        peer.session.restart()
        restarted = peer.patience.now()
        answers = list(sides.map(lambda call: answered(peer, call), interrupted))
    told = [(call, answer) for call, answer in zip(interrupted, answers, strict=True) if answer]
    if not all(means_alive(exchange) for exchange in known):
        peer.note("a call that was asked about right before the crash was not alive")
    if len(told) < len(interrupted):
        peer.note(f"about {len(interrupted) - len(told)} calls there was no answer after the crash")
    with peer.part("what the crash interrupted"):
        if not told:
            raise Untested("there was no answer about any call after the crash")
        peer.session.fire()
        for kind in ("pending", "subscription"):
            judge_recovery(peer, kind, [pair for pair in told if pair[0].kind == kind], restarted)
        best = max(known, key=lambda exchange: bool(means_alive(exchange)))
        need_alive(peer, best, "a call, right before the crash,")
    for call in over:
        with peer.part(f"a {call.kind} call that was over"):
            judge_over(peer, call, restarted)
    count_restarts(peer, told, restarted, least)


def started(peer: Peer, kind: str, make: Callable[[str], list[Call]]) -> list[Call]:
    """Calls of a kind; none, and the report says why, where there can be none."""
    try:
        return make(kind)
    except (Untested, NotApplicable) as missing:
        peer.record.missing.append(f"{kind} calls: {missing}")
        return []


def ended(peer: Peer, kind: str) -> Call:
    """A call that ended, and was answered `false` since. Raises Untested if it does not come to that."""
    call = peer.invoke(kind)
    peer.need_result(call)
    if kind == "final" and not call.mailbox.until(lambda _: call.final, peer.grace):
        raise Untested("its last event did not come")
    if not peer.patience.until(lambda: means_alive(peer.ask_about(call)) is False, peer.grace, every=0.2):
        raise Untested("it was alive all the same")
    return call


def subscribed(peer: Peer, sides: ThreadPoolExecutor, number: int) -> list[Call]:
    """Subscriptions that were confirmed and sent an event. Raises Untested if there are none."""

    def one(_: int) -> Call:
        call = peer.invoke("subscription")
        peer.need_result(call)
        return call

    opened = list(sides.map(one, range(number)))
    peer.session.fire()
    list(sides.map(lambda call: call.mailbox.until(lambda _: call.events, peer.grace), opened))
    if not any(call.events for call in opened):
        raise Untested(f"no event came within {peer.grace:g} s; configure scenario.subscription.trigger")
    return [call for call in opened if call.events]


def answered(peer: Peer, call: Call) -> Exchange | None:
    """The first answer about a call that says alive or not; None if there is none in time."""
    answers: list[Exchange] = []

    def told() -> bool:
        with suppress(NoAnswer):
            answers.append(peer.ask_about(call))
        return bool(answers) and means_alive(answers[-1]) is not None

    return answers[-1] if peer.patience.until(told, peer.grace, every=0.2) else None


def count_restarts(peer: Peer, told: list[tuple[Call, Exchange]], restarted: float, least: int) -> None:
    """Note how often the table's transitions were taken, and which too seldom."""
    counts: Counter[tuple[State, Event]] = Counter()
    for call, answer in told:
        assert call.exchange is not None
        seen = [
            Seen(Event.INVOKE, call.sent, call.acknowledged, call.exchange),
            Seen(Event.RESTART, restarted, restarted, answer),
            Seen(Event.ASK, answer.started, answer.ended, answer, means_alive(answer)),
        ]
        counts += life_seen.executed(call_life.in_order(call, seen))
    peer.note(f"{len(told)} calls lived through a crash; transitions taken: {call_life.told(counts)}")
    if lacking := list(life_seen.lacking(counts, least, lifecycle.RESTARTS)):
        peer.note(f"transitions taken too seldom: {'; '.join(lacking)}")


def judge_recovery(peer: Peer, kind: str, told: list[tuple[Call, Exchange]], restarted: float) -> None:
    """Alive must deliver, not alive must not."""
    if not told:
        return
    what = "a pending call" if kind == "pending" else "a subscription"
    # Work that is begun anew at the start ends that much later than work that goes on.
    lasts = (
        (peer.session.tool("pending").seconds or 0.0)
        if kind == "pending"
        else max(interval(call) for call, _ in told) * 4
    ) + 1.0
    now = peer.patience.now()
    within = lasts + peer.grace

    def first(call: Call) -> float | None:
        return next((d.arrived for d in call.deliveries if d.arrived > restarted), None)

    def silent() -> list[tuple[Call, Exchange]]:
        return [(call, answer) for call, answer in told if means_alive(answer) and first(call) is None]

    def settled() -> bool:
        # Each that delivers gives the others time anew: a server may work them off one by one.
        latest = max([now, *(arrived for call, _ in told if (arrived := first(call)))])
        return not silent() or peer.patience.now() > latest + within

    peer.patience.until(settled, within * (len(told) + 1), every=0.05)
    lost = [pair[0] for pair in silent()]
    dead = [(call, answer) for call, answer in told if not means_alive(answer)]
    if dead:
        peer.patience.until(
            lambda: any(late(peer, *pair) for pair in dead), max(0.0, now + lasts - peer.patience.now())
        )
    for call, answer in told:
        if means_alive(answer):
            peer.expect(
                call not in lost,
                f"a callback after the restart, or `alive: false`, for {what}",
                f"`alive: true`, and nothing within {within:.0f} s",
                answer,
                case=f"{what} that was lost is alive",
                absence=True,
            )
        else:
            found = late(peer, call, answer)
            peer.expect(
                not found,
                f"`alive: true` for {what} that goes on",
                f"`alive: false`, and a callback {found or 0.0:.1f} s later",
                answer,
                *(delivery.exchange for delivery in call.deliveries[-1:]),
                case=f"{what} that goes on is not alive",
            )


def judge_over(peer: Peer, call: Call, restarted: float) -> None:
    """What had ended is not alive for long, unless it is done again, which is advised against."""

    def again() -> Delivery | None:
        return next((d for d in call.deliveries if d.arrived > restarted), None)

    asked = [peer.ask_about(call)]

    def gone() -> bool:
        asked.append(peer.ask_about(call))
        return means_alive(asked[-1]) is not True or again() is not None

    peer.expect(
        not means_alive(asked[0]) or peer.patience.until(gone, peer.grace, every=0.2),
        "`alive: false`, as before the crash",
        f"`alive: true` for {peer.grace:g} s, and nothing is delivered",
        asked[-1],
        case=f"a {call.kind} call that was over is alive again",
        absence=True,
    )
    delivered = again()
    peer.expect(
        delivered is None,
        "nothing more for a call that had ended",
        "it is alive after the crash and delivers again",
        asked[0],
        *((delivered.exchange,) if delivered else ()),
        case=f"a {call.kind} call that was over is done again",
        level=Level.ADVICE,
    )


def late(peer: Peer, call: Call, exchange: Exchange) -> float | None:
    """Seconds between a `false` and a delivery too late to have been in flight; None if there is none."""
    slack = max(peer.slack, 0.3)
    arrived = [d.arrived - exchange.ended for d in call.deliveries if d.arrived > exchange.ended + slack]
    return arrived[0] if arrived else None


def interval(call: Call) -> float:
    """Seconds between a subscription's events, as far as it is known."""
    times = [event.arrived for event in call.events]
    return max((b - a for a, b in pairwise(times)), default=1.0)
