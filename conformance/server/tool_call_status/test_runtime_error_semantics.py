"""What a runtime reads as "gone" although nothing is: no endpoint, and live calls refused for their pace.

Specification: "Tool Call Status Check", section "Runtime Error Semantics".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Control, Positive
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import NotApplicable, Untested, Violation, scenario
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.presence import State
from rap_conformance.server.asking import MOST_CALLS
from rap_conformance.server.call import Call
from rap_conformance.server.controls import need_answer
from rap_conformance.server.peer import Peer

QUIET, QUIET_WITHIN = 5.0, 120.0
"""Seconds of silence after which what others asked no longer counts, and how long it is waited for."""

PACE, ENOUGH = 0.45, 10.0
"""Seconds between two questions of one who takes his time, and after how many he asks no more."""

REFUSED = frozenset({401, 429})


@scenario("TCS018", control=Positive("an answer has to be there"))
def test_implemented(peer: Peer) -> None:
    """A server that works asynchronously has the endpoint."""
    presence = peer.session.facts.status
    if presence.state is State.PRESENT:
        peer.judged()
        return
    if presence.state is not State.ABSENT:
        raise Untested(f"/tool_call_status: {presence.reason}")
    if peer.config.features.get("status") is False:
        raise NotApplicable("the configuration declares that there is none (features.status = false)")
    raise Violation(
        "a server that answers POST /tool_call_status",
        f"none: {presence.reason}; a restarted runtime gives up every call that is pending here",
        peer.ask(fresh(), fresh("thread")),
        case="no status endpoint",
    )


@scenario(
    "TCS027", control=Control("ordinary queries of the same caller are answered", need_answer), overlap=True
)
def test_limit_spares_live_calls(peer: Peer) -> None:
    """To a caller who takes his time, a live call is never answered 429 or 401."""
    found = refused_for_its_pace(peer)
    if found is not None:
        # Whatever runs beside this scenario uses up the same limit: it counts only once nobody else asks.
        if not peer.patience.until(lambda: quiet(peer), QUIET_WITHIN):
            raise Untested("the server limits the pace, and other scenarios went on asking beside this one")
        found = refused_for_its_pace(peer)
    if found is not None:
        raise found


def quiet(peer: Peer) -> bool:
    """Whether nobody asks the server anything for a while."""
    before = peer.session.probe.requests
    peer.patience.pace(QUIET)
    return peer.session.probe.requests == before


def refused_for_its_pace(peer: Peer) -> Violation | None:
    """What is wrong if a live call is refused at an easy pace while an unknown one is not.

    Raises Untested if calls end before that is clear.
    """
    for _ in range(MOST_CALLS):
        call = peer.invoke("pending")
        peer.patience.pace(peer.slack)
        found, answered = asked_at_ease(peer, call)
        if found is not None:
            return found
        peer.need_result(call)
        if answered:
            peer.judged(answered)
            return None
    raise Untested("the pending calls ended before many questions; let scenario.pending last longer")


def asked_at_ease(peer: Peer, call: Call) -> tuple[Violation | None, int]:
    """Ask about a live call at an easy pace; gives what is wrong, and how many answers say that nothing is.

    The latter is 0 where the call ended amid a refusal of which nobody knows whom it was meant for.
    """
    refused = answered = 0
    while not call.results and peer.patience.now() < call.acknowledged + ENOUGH:
        exchange = peer.ask_about(call, patient=False)
        if exchange.status in REFUSED:
            refused += 1
            wait = exchange.header("retry-after") or ""
            peer.patience.pace(min(float(wait), 5.0) if wait.isdigit() else 1.0)
            control = peer.ask(fresh(), fresh("thread"), patient=False)
            if control.status == exchange.status and refused < 2:
                continue  # everybody is refused: what we asked before this scenario still counts
            again = peer.ask_about(call, patient=False)
            if call.results:
                return None, 0
            if again.status in REFUSED and control.status not in REFUSED:
                return refusal(again, control), answered
        elif exchange.failure is None:
            answered += 1
        peer.patience.pace(PACE)
    return None, answered


def refusal(again: Exchange, control: Exchange) -> Violation:
    """A live call was refused, an unknown one beside it was not."""
    return Violation(
        "an answer about a live call, at one question a second",
        f"status {again.status}, which a runtime reads as gone",
        again,
        control,
        case="a live call refused for its pace",
    )
