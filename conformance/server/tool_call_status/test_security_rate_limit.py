"""What must not disturb the status check: hostile ids, malformed bodies, floods; and what errors say.

Specification: "Tool Call Status Check", "Security Considerations"; "Overview", "Implementation Guidelines".
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.network.probe import slowed_down
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.controls import need_answer
from rap_conformance.server.peer import Peer

FLOOD, FLOOD_SECONDS, FLOOD_SIDES = 500, 5.0, 16


@scenario("TCS019", control=Control("one query alone is answered: a limit is met by many only", need_answer))
def test_rate_limited(peer: Peer) -> None:
    """A flood meets a limit, and after it answers are right again."""
    thread = fresh("thread")
    before = peer.ask(fresh(), thread)
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
        answers = [exchange for exchange in sides.map(ask, range(FLOOD)) if exchange is not None]
    peer.record.examples = len(answers)
    last = answers[-1]
    peer.survived(last)
    if not limited:
        answered = sum(exchange.failure is None for exchange in answers)
        if answered < FLOOD:
            raise Untested(f"only {answered} of {FLOOD} questions were answered within {FLOOD_SECONDS:g} s")
        raise Violation(
            f"a limit (429) for {FLOOD} questions in {FLOOD_SECONDS:g} s",
            f"none for {len(answers)} questions",
            last,
            case="no limit was met",
        )

    def right() -> bool:
        exchange = peer.ask(fresh(), thread, within=60.0)
        if means_alive(exchange) and not means_alive(before):
            raise Violation(
                "`alive: false` after the limit", "`alive: true`", exchange, case="wrong after the limit"
            )
        return means_alive(exchange) is means_alive(before)

    recovered = peer.patience.until(right, 60.0, every=0.5)
    if not recovered:
        raise Violation(
            "right answers after the limit",
            "none within 60 s",
            limited[0],
            case="after the limit",
            absence=True,
        )
