"""What is over: not alive once its last delivery was acknowledged, and not alive again.

Specification: "Tool Call Status Check", section "Query Semantics"; "Subscription Events", section "Liveness".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Control
from rap_conformance.engine.scenario import Untested, scenario
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server import states
from rap_conformance.server.asking import need_events, until_alive
from rap_conformance.server.beside import at_once
from rap_conformance.server.controls import need_alive, need_answer
from rap_conformance.server.endings import LONGER, End, Watched, ended, expect_gone, much_later, watch
from rap_conformance.server.lives import share
from rap_conformance.server.peer import Peer


@scenario(
    "TCS006",
    control=Control(
        "ordinary queries are answered; the call that was pending was alive before its end", need_answer
    ),
    overlap=True,
    parts=(share("TCS006"), much_later("TCS006")),
)
def test_finished_not_alive(peer: Peer) -> None:
    """Not alive once the result was delivered and acknowledged, and not alive again."""

    def quick() -> Watched:
        return watch(peer, ended(peer, states.ended(peer), "a quick call that ended"), LONGER)

    def failed() -> Watched:
        return watch(peer, ended(peer, states.failed(peer), "a call that failed"))

    def unheard_of() -> Watched:
        return watch(peer, ended(peer, states.unheard_of(peer), "a call of no operation that there is"))

    def pending() -> Watched:
        call = peer.invoke("pending")
        known = until_alive(peer, call)
        peer.need_result(call)
        seen = watch(peer, ended(peer, call, "a pending call that ended"))
        if seen.wrong is None:
            need_alive(peer, known, "the pending call")
        return seen

    watched = at_once(
        {
            "a quick call": quick,
            "a call that was pending and was asked about meanwhile": pending,
            "a call that failed": failed,
            "a call of no operation that there is": unheard_of,
        }
    )
    for title, seen in watched.items():
        with peer.part(title):
            expect_gone(peer, seen.result(), "TCS006")


@scenario(
    "TCS008",
    control=Control("the subscription was alive before its final event"),
    overlap=True,
    parts=(much_later("TCS008"),),
)
def test_ended_subscription_not_alive(peer: Peer) -> None:
    """Not alive once its final event was delivered and acknowledged, and not alive again."""
    call = peer.invoke("final")
    known = until_alive(peer, call)
    if not call.mailbox.until(lambda _: call.final, peer.grace):
        raise Untested(f"no event with `final: true` arrived within {peer.grace:g} s")
    expect_gone(peer, watch(peer, ended(peer, call, "a subscription after its final event")), "TCS008")
    if not means_alive(known):  # a limit may have made us wait: then one that goes on tells
        other = peer.invoke("subscription")
        peer.need_result(other)
        known = until_alive(peer, other)
        peer.cancel(other)
    need_alive(peer, known, "the subscription")


@scenario(
    "TCS031",
    control=Control("the subscription was alive before its cancellation"),
    overlap=True,
    parts=(much_later("TCS031"),),
)
def test_cancelled_subscription_not_alive(peer: Peer) -> None:
    """Not alive once a cancelled subscription sends nothing more, and not alive again."""
    call = peer.invoke("subscription")
    peer.need_result(call)
    known = until_alive(peer, call)
    need_events(peer, call, 2)
    if peer.cancel(call) is None:
        raise Untested("the server has no /cancel_tool_call")
    cancelled = peer.patience.now()

    def since() -> float:
        return max(cancelled, call.events[-1].arrived)

    def within() -> float:
        # A server may ignore a cancellation: then events go on, and `true` is right as long as they do.
        if since() > cancelled + peer.race:
            raise Untested("the server goes on sending events after the cancellation, which it may ignore")
        return peer.grace

    expect_gone(peer, watch(peer, End(call, "a cancelled subscription", since, within)), "TCS031")
    need_alive(peer, known, "the subscription")
