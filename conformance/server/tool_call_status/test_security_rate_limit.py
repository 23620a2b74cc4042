"""A flood of questions meets a limit, and does no lasting harm.

Specification: "Tool Call Status Check", section "Security Considerations".
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.network.answers import slowed_down
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.controls import need_answer
from rap_conformance.server.peer import Peer

FLOOD, FLOOD_SECONDS, FLOOD_SIDES = 500, 5.0, 16
RECOVERY = 60.0
"""Seconds after a flood in which a limit may still hold."""


@scenario("TCS019", control=Control("one query alone is answered: a limit is met by many only", need_answer))
def test_rate_limited(peer: Peer) -> None:
    """A flood meets a limit, and after it answers are right again."""
    thread = fresh("thread")
    before = peer.ask(fresh(), thread)
    answers, limited = flood(peer, thread)
    peer.record.examples = len(answers)
    last = answers[-1]
    peer.survived(last)
    answered = sum(exchange.failure is None for exchange in answers)
    if not limited and answered < FLOOD:
        raise Untested(f"only {answered} of {FLOOD} questions were answered within {FLOOD_SECONDS:g} s")
    if not peer.expect(
        limited,
        f"a limit (429) for {FLOOD} questions in {FLOOD_SECONDS:g} s",
        f"none for {len(answers)} questions",
        last,
        case="no limit was met",
        crowd=FLOOD,
    ):
        return

    asked = [before]

    def right() -> bool:
        exchange = peer.ask(fresh(), thread, within=RECOVERY)
        asked.append(exchange)
        if means_alive(exchange) and not means_alive(before):
            raise Violation(
                "`alive: false` after the limit", "`alive: true`", exchange, case="wrong after the limit"
            )
        return means_alive(exchange) is means_alive(before)

    peer.expect(
        peer.patience.until(right, RECOVERY, every=0.5),
        "right answers after the limit",
        f"none within {RECOVERY:g} s",
        asked[-1],
        limited[0],
        case="after the limit",
        absence=True,
    )


def flood(peer: Peer, thread: str) -> tuple[list[Exchange], list[Exchange]]:
    """Ask from many sides until a limit is met; gives all answers, and those that speak of a limit."""
    end = peer.patience.now() + FLOOD_SECONDS
    limited: list[Exchange] = []

    def ask(_: int) -> Exchange | None:
        if limited or peer.patience.now() > end:
            return None
        exchange = peer.ask(fresh(), thread, patient=False, timeout=FLOOD_SECONDS)
        if slowed_down(exchange) or exchange.status == 403:
            limited.append(exchange)
        return exchange

    with ThreadPoolExecutor(FLOOD_SIDES) as sides:
        return [exchange for exchange in sides.map(ask, range(FLOOD)) if exchange is not None], limited
