"""The status check over a call's life: alive while the server will still deliver, not alive after.

Specification: "Tool Call Status Check", section "Query Semantics"; "Subscription Events", section "Liveness".
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.network.probe import NoAnswer
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import known_alone
from rap_conformance.server.call import Call
from rap_conformance.server.peer import Peer


@scenario("TCS022", control=Control("asked alone, each call is alive and an unknown id is not"))
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
