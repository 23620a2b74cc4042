"""Calls of every kind before a restart, and what is answered and delivered for them after it.

Specification: "Tool Call Status Check", section "Recovery After Runtime Restart", with "Protocol Lifecycle",
section "Shutdown".
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import NotApplicable, Untested
from rap_conformance.network.pace import NoAnswer
from rap_conformance.network.receiver import OK, Answer
from rap_conformance.protocol.aftermath import LOAD, Aftermath
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server import call_life, states
from rap_conformance.server.asking import FAILING, attempts_of, under_way
from rap_conformance.server.call import Call
from rap_conformance.server.peer import Peer

RETRIED = 2
"""Calls whose result is refused until the server is up again."""
PACE = {"pending": 0.5, "quick": 0.5, "subscription": 1.0}
"""Seconds between two questions about one call after the restart, by kind."""
STEADY = 1.5
"""Seconds, from when state had time to load, in which what is not alive could deliver all the same."""
FIRE = 1.0
"""Seconds between two events that are caused, where a command causes them: state may load late."""


@dataclass(slots=True)
class Crash:
    """Calls that a restart interrupted, and what was seen of each after it.

    `known` is what was answered right before it; `restarted` when the server was up again.
    """

    calls: list[Call]
    known: list[Exchange]
    restarted: float = 0.0
    answers: dict[str, list[Exchange]] = field(default_factory=dict)
    within: dict[str, float] = field(default_factory=dict)

    def arrived(self, call: Call) -> list[float]:
        """When something arrived for a call since the server was up again."""
        return [delivery.arrived for delivery in call.deliveries if delivery.arrived > self.restarted]

    def aftermath(self, peer: Peer, call: Call) -> Aftermath:
        """What was seen of one call after the restart."""
        edge = max(under_way(peer), 0.3)
        work = call.seconds if call.kind == "pending" else 0.0
        return Aftermath(self.answers[call.id], self.arrived(call), self.restarted, edge, work)


@dataclass(frozen=True, slots=True)
class Begun:
    """Calls that go on, until a restart. The receiver refuses results of quick ones until `up` is set."""

    calls: list[Call]
    up: threading.Event


def begin(peer: Peer, number: int) -> Begun:
    """Start calls of each kind but pending ones, which would not wait."""
    up = threading.Event()

    def script(_: int) -> Answer:
        return OK if up.is_set() else FAILING

    with ThreadPoolExecutor(call_life.SIDES) as sides:
        calls = started(peer, "quick", lambda: retried(peer, script))
        calls += started(peer, "subscription", lambda: subscribed(peer, sides, number))
    return Begun(calls, up)


def interrupt(peer: Peer, begun: Begun, number: int, *, gently: bool) -> Crash:
    """Start pending calls too and restart the server amid all of them.

    Raises Untested if nothing could be started, or pending calls have ended before.
    """
    with ThreadPoolExecutor(call_life.SIDES) as sides:
        pending = started(
            peer, "pending", lambda: list(sides.map(lambda _: peer.invoke("pending"), range(number)))
        )
    calls = begun.calls + pending
    if not calls:
        raise Untested("nothing could be started that a crash would interrupt")
    known = peer.session.tempo.at_once([partial(peer.ask_about, call) for call in (calls[0], calls[-1])])
    if pending and pending[-1].results:
        raise Untested("the pending calls ended before the crash; let scenario.pending last longer")
    peer.session.restart(gently=gently)
    begun.up.set()
    # What was delivered in an orderly end is over, and no matter of ours.
    calls = [call for call in calls if not (call.final if call.kind == "subscription" else call.result)]
    return Crash(calls, known, peer.patience.now())


def started(peer: Peer, kind: str, make: Callable[[], list[Call]]) -> list[Call]:
    """Calls of a kind; none, and the report says why, where there can be none."""
    try:
        return make()
    except (Untested, NotApplicable) as missing:
        peer.record.missing.append(f"{kind} calls: {missing}")
        return []


def retried(peer: Peer, script: Callable[[int], Answer]) -> list[Call]:
    """Quick calls whose result was refused at least once. Raises Untested if there are none."""
    calls = peer.session.tempo.at_once([partial(peer.invoke, "quick", script=script)] * RETRIED)
    for call in calls:
        if not call.mailbox.until(attempts_of(call), peer.grace):
            raise Untested("the quick call brought no result")
    return calls


def subscribed(peer: Peer, sides: ThreadPoolExecutor, number: int) -> list[Call]:
    """Subscriptions that were confirmed and sent an event. Raises Untested if there are none."""
    opened = list(sides.map(lambda _: states.subscribed(peer), range(number)))
    peer.session.fire()
    list(sides.map(lambda call: call.mailbox.until(lambda _: call.events, peer.grace), opened))
    if not any(call.events for call in opened):
        raise Untested(f"no event came within {peer.grace:g} s; configure scenario.subscription.trigger")
    return [call for call in opened if call.events]


def watch(peer: Peer, crash: Crash, *, briefly: bool = False) -> None:
    """Ask about each call until what is answered and what is delivered agree, or cannot agree any more.

    `briefly`: what is not alive is not waited for.
    """
    groups: dict[str, list[Call]] = {}
    for call in crash.calls:
        crash.answers[call.id] = []
        groups.setdefault(call.kind, []).append(call)
    for kind, calls in groups.items():
        crash.within[kind] = lasts(kind, calls) + peer.grace
    with ThreadPoolExecutor(max(1, len(crash.calls))) as sides:
        watched = [
            sides.submit(_watch, peer, crash, call, groups[call.kind], briefly) for call in crash.calls
        ]
        while not peer.patience.until(lambda: all(each.done() for each in watched), FIRE):
            peer.session.fire()
        for each in watched:
            each.result()


def lasts(kind: str, calls: list[Call]) -> float:
    """Seconds in which something comes for what goes on. Work that is begun anew ends that much later."""
    if kind == "subscription":
        return max(_interval(call) for call in calls) * 4 + 1.0
    return max(call.seconds for call in calls) + 1.0


def _watch(peer: Peer, crash: Crash, call: Call, kin: list[Call], briefly: bool) -> None:
    answers, late = crash.answers[call.id], lasts(call.kind, kin)
    while True:
        if call.kind != "subscription" and call.result:
            return
        with suppress(NoAnswer):
            answers.append(peer.ask_about(call))
        now, alive = peer.patience.now(), means_alive(answers[-1]) if answers else None
        # Each that delivers gives the others time anew: a server may work them off one by one.
        latest = max([crash.restarted, *(at for each in kin for at in crash.arrived(each)[:1])])
        if alive and crash.arrived(call) and (briefly or now > crash.restarted + LOAD):
            return
        if alive is False and (briefly or now > crash.restarted + max(LOAD + STEADY, late)):
            return
        if now > latest + crash.within[call.kind]:
            return
        if alive is None and now > crash.restarted + max(LOAD, peer.grace):
            return
        peer.patience.pace(PACE[call.kind])


def _interval(call: Call) -> float:
    """Seconds between a subscription's events, as far as it is known."""
    times = [event.arrived for event in call.events]
    return max((b - a for a, b in pairwise(times)), default=1.0)
