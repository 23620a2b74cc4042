"""A flood of questions meets a limit, and does no lasting harm.

Specification: "Tool Call Status Check", section "Security Considerations".
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange, Failure
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.network.answers import slowed_down
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.controls import need_answer
from rap_conformance.server.peer import Peer

FLOOD, FLOOD_SECONDS = 500, 5.0
SIDES, MOST_SIDES = 16, 128
"""Questions that are asked at once: the more, the longer each takes."""
RECOVERY = 60.0
"""Seconds after a flood in which a limit may still hold."""
DROPPED = frozenset({Failure.RESET, Failure.REFUSED})
"""Some limiters do not say that they are; they hang up."""


@scenario("TCS019", control=Control("one query alone is answered: a limit is met by many only", need_answer))
def test_rate_limited(peer: Peer) -> None:
    """A flood meets a limit, and after it answers are right again."""
    thread = fresh("thread")
    before = peer.ask(fresh(), thread)
    answers, limited = flood(peer, thread, before.elapsed)
    peer.record.examples = len(answers)
    last = answers[-1]
    peer.survived(last)
    limited = limited or [exchange for exchange in answers if exchange.failure in DROPPED]
    sent = f"{len(answers)} questions in {FLOOD_SECONDS:g} s"
    if not limited and (len(answers) < FLOOD or any(e.failure is not None for e in answers)):
        met = f"{sum(e.failure is None for e in answers)} of {sent}"
        raise Untested(f"only {met} were answered, and met no limit; {FLOOD} are needed to tell")
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
        exchange = peer.ask(fresh(), thread, patient=False)
        asked.append(exchange)
        if means_alive(exchange) and not means_alive(before):
            raise Violation(
                "`alive: false` after the limit", "`alive: true`", exchange, case="wrong after the limit"
            )
        return exchange.status == before.status and means_alive(exchange) is means_alive(before)

    # A limit lets a lone question pass again; what does not was broken by the flood.
    peer.expect(
        peer.patience.until(right, RECOVERY, every=0.5),
        "right answers after the limit",
        f"none within {RECOVERY:g} s",
        asked[-1],
        limited[0],
        case="after the limit",
        absence=True,
    )


def flood(peer: Peer, thread: str, latency: float) -> tuple[list[Exchange], list[Exchange]]:
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

    needed = math.ceil(1.5 * latency * FLOOD / FLOOD_SECONDS)
    with ThreadPoolExecutor(min(MOST_SIDES, max(SIDES, needed))) as sides:
        return [exchange for exchange in sides.map(ask, range(FLOOD)) if exchange is not None], limited
