"""After a crash: the status check tells which calls will still deliver, and discovery is up with the port.

Specification: "Tool Call Status Check", introduction; "Protocol Lifecycle", "Startup" and "Shutdown".
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from urllib.parse import urlsplit

from rap_conformance import call_life, lifecycle
from rap_conformance.controls import need_alive
from rap_conformance.evidence import Exchange, Failure
from rap_conformance.lifecycle import Event, Seen, State
from rap_conformance.peer import JSON, Call, Peer, encode, fresh
from rap_conformance.peers.supervisor import CommandFailed, listens
from rap_conformance.scenario import Trouble, Untested, Violation, scenario
from rap_conformance.wire import means_alive


def need_control(peer: Peer) -> None:
    """Raises Untested unless the suite started the server itself."""
    if peer.session.supervisor is None:
        raise Untested("only the suite can restart the server: give --server-cmd instead of --server-url")


@scenario("TCS016")
def test_lost_calls_not_alive(peer: Peer) -> None:
    """After a kill and a restart: alive exactly for what then delivers."""
    need_control(peer)
    least = call_life.LEAST[peer.session.options.profile]
    over: list[Call] = []
    for kind in ("quick", "final"):
        with peer.part(f"a {kind} call that was over"):
            over.append(ended(peer, kind))
    calls: list[Call] = []
    with ThreadPoolExecutor(call_life.SIDES) as sides:
        with peer.part("subscriptions"):
            opened = list(sides.map(lambda _: subscribe(peer), range(least)))
            peer.session.fire()
            list(sides.map(lambda call: call.mailbox.until(lambda _: call.events, peer.grace), opened))
            calls += opened
        with peer.part("pending calls"):
            calls += sides.map(lambda _: peer.invoke("pending"), range(least))
        if not calls:
            raise Untested("nothing could be started that a crash would interrupt")
        known = [means_alive(peer.ask_about(call)) for call in (calls[0], calls[-1])]
        if not all(known):
            peer.note("a call that was asked about right before the crash was not alive")
        interrupted = [call for call in calls if call.kind != "pending" or not call.results]
        if calls[-1].kind == "pending" and interrupted[-1:] != calls[-1:]:
            raise Untested("the pending calls ended before the crash; let scenario.pending last longer")
        peer.session.restart()
        restarted = peer.patience.now()
        answers = list(sides.map(peer.ask_about, interrupted))
    for call in over:
        if means_alive(again := peer.ask_about(call)):
            peer.report(
                Violation(
                    "`alive: false`, as before the crash",
                    "`alive: true` for a call that had ended",
                    again,
                    case=f"a {call.kind} call that was over is alive again",
                )
            )
    peer.session.fire()
    for call, answer in zip(interrupted, answers, strict=True):
        judge_recovery(peer, call, answer, restarted)
    need_alive(any(known), "a call, right before the crash,")
    count_restarts(peer, interrupted, answers, restarted, least)


def ended(peer: Peer, kind: str) -> Call:
    """A call that ended, and was answered `false` since. Raises Untested if it does not come to that."""
    call = peer.invoke(kind)
    peer.need_result(call)
    if kind == "final" and not call.mailbox.until(lambda _: call.final, peer.grace):
        raise Untested("its last event did not come")
    if not peer.patience.until(lambda: means_alive(peer.ask_about(call)) is False, peer.grace, every=0.2):
        raise Untested("it was alive all the same")
    return call


def subscribe(peer: Peer) -> Call:
    """A subscription that was confirmed."""
    call = peer.invoke("subscription")
    peer.need_result(call)
    return call


def count_restarts(
    peer: Peer, calls: list[Call], answers: list[Exchange], restarted: float, least: int
) -> None:
    """Note how often the table's transitions were taken, and which too seldom."""
    counts: Counter[tuple[State, Event]] = Counter()
    for call, answer in zip(calls, answers, strict=True):
        assert call.exchange is not None
        seen = [
            Seen(Event.INVOKE, call.sent, call.acknowledged, call.exchange),
            Seen(Event.RESTART, restarted, restarted, answer),
            Seen(Event.ASK, answer.started, answer.ended, answer, means_alive(answer)),
        ]
        counts += lifecycle.executed(call_life.in_order(call, seen))
    peer.note(f"{len(calls)} calls lived through a crash; transitions taken: {call_life.told(counts)}")
    if lacking := list(lifecycle.lacking(counts, least, lifecycle.RESTARTS)):
        peer.note(f"transitions taken too seldom: {'; '.join(lacking)}")


def judge_recovery(peer: Peer, call: Call, exchange: Exchange, restarted: float) -> None:
    """Alive must deliver, not alive must not."""

    def delivered() -> object:
        return next((d for d in call.deliveries if d.arrived > restarted), None)

    what = "a pending call" if call.kind == "pending" else "a subscription"
    # Work that is begun anew at the start ends that much later than work that goes on.
    lasts = (
        (peer.session.tool("pending").seconds or 0.0) if call.kind == "pending" else interval(call) * 4
    ) + 1.0
    if means_alive(exchange):
        within = lasts + peer.grace
        if not call.mailbox.until(lambda _: delivered(), left(peer, restarted + within)):
            raise Violation(
                f"a callback after the restart, or `alive: false`, for {what}",
                f"`alive: true`, and nothing within {within:.0f} s",
                exchange,
                case=f"{what} that was lost is alive",
                absence=True,
            )
        return
    call.mailbox.until(lambda _: late(peer, call, exchange), left(peer, restarted + lasts))
    if found := late(peer, call, exchange):
        raise Violation(
            f"`alive: true` for {what} that goes on",
            f"`alive: false`, and a callback {found:.1f} s later",
            exchange,
            call.deliveries[-1].exchange,
            case=f"{what} that goes on is not alive",
        )


def left(peer: Peer, until: float) -> float:
    """Seconds until a moment of the run; 0 if it is past."""
    return max(0.0, until - peer.patience.now())


def late(peer: Peer, call: Call, exchange: Exchange) -> float | None:
    """Seconds between a `false` and a delivery too late to have been in flight; None if there is none."""
    slack = max(peer.slack, 0.3)
    arrived = [d.arrived - exchange.ended for d in call.deliveries if d.arrived > exchange.ended + slack]
    return arrived[0] if arrived else None


def interval(call: Call) -> float:
    """Seconds between a subscription's events, as far as it is known."""
    times = [event.arrived for event in call.events]
    return max((b - a for a, b in pairwise(times)), default=1.0)


@scenario("DSC013")
def test_ready_first(peer: Peer) -> None:
    """From the moment the port answers, discovery and invocation do."""
    need_control(peer)
    supervisor, facts = peer.session.supervisor, peer.session.facts
    assert supervisor is not None
    supervisor.kill()
    supervisor.start(None)
    probe = peer.session.probe
    parts = urlsplit(facts.base)
    open_at = peer.patience.until(
        lambda: listens(parts.hostname or "", parts.port or 80) or not supervisor.running, 30.0, every=0.005
    )
    if not open_at or not supervisor.running:
        raise CommandFailed(supervisor.output()[-200:].strip() or "it said nothing")
    first = probe.send("GET", facts.discovery_url, patient=False)
    try:
        box = peer.session.receiver.mailbox()
        tool = peer.session.tool("quick")
        body = {
            "operation": tool.operation,
            "arguments": dict(tool.arguments),
            "id": fresh(),
            "callback_url": box.url,
            "group_id": fresh("thread"),
        }
        second: Exchange | None = probe.send(
            "POST", facts.endpoint, encode(body), headers=JSON, patient=False
        )
    except Untested:
        second = None
    if not peer.patience.until(peer.session.answers, 30.0, every=0.05):
        raise Trouble("the server did not answer discovery within 30 s of its restart")
    for exchange, what in ((first, "discovery"), (second, "invocation")):
        if exchange is None:
            peer.note("invocation was not asked: no tool may be called")
        elif exchange.status is None and exchange.failure is not Failure.REFUSED:
            raise Violation(
                f"{what} answers", str(exchange.failure), exchange, case=f"{what} right after the start"
            )
        elif exchange.status is None or exchange.status >= 400:
            got = exchange.failure or f"status {exchange.status}"
            raise Violation("no error", str(got), exchange, case=f"{what} right after the start")
