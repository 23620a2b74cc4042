"""The status check over a call's life: alive while the server will still deliver, not alive after.

Specification: "Tool Call Status Check", section "Query Semantics"; "Subscription Events", section "Liveness".
"""

from __future__ import annotations

from collections.abc import Callable

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Untested, Violation
from rap_conformance.network.receiver import Answer
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.call import Call
from rap_conformance.server.peer import Peer

POLL = 0.06
"""Seconds between two questions about one call."""


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


def known_alone(peer: Peer, call: Call) -> bool:
    """Wait until a pending call is alive to one who asks alone; false if it ended first."""
    end = peer.patience.now() + peer.grace
    while not call.results and peer.patience.now() < end:
        if means_alive(peer.ask_about(call)):
            return True
        peer.patience.pace(POLL)
    return False


def attempts_of(call: Call, count: int = 1) -> Callable[[object], bool]:
    """A condition: so many attempts to deliver the call's result have arrived."""
    return lambda _: len(call.results) >= count
