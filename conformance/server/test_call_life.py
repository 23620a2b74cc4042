"""Random lives of many calls at once, judged by the lifecycle table; each function reports one share.

Specification: "Tool Call Status Check", section "Query Semantics", with "Tool Cancellation",
"Thread Closure" and "Subscription Events".
"""

from __future__ import annotations

from rap_conformance import call_life
from rap_conformance.catalogue import Stage
from rap_conformance.controls import need_answer
from rap_conformance.peer import Peer
from rap_conformance.scenario import Untested, scenario


def report_share(peer: Peer, code: str) -> None:
    """Report what random lives showed about one requirement; they are lived once a run."""
    with peer.part("random lives"):
        need_answer(peer)
        lives = peer.session.once("lives", lambda: call_life.run(peer))
        if not lives.show(code):
            raise Untested("no life came to what this is about")
        peer.record.examples = len(lives.lived)
        for found, lived in lives.breaks:
            if found.code == code:
                peer.report(call_life.violation(found, lived))
        peer.note(f"{len(lives.lived)} random lives; transitions taken: {call_life.told(lives.counts)}")
        if lives.lacking:
            peer.note(f"transitions taken too seldom: {'; '.join(lives.lacking)}")


@scenario("TCS004", late=Stage.HARMLESS)
def test_unknown_in_random_lives(peer: Peer) -> None:
    """Before it was invoked, no call was alive."""
    report_share(peer, "TCS004")


@scenario("TCS005", late=Stage.HARMLESS)
def test_pending_in_random_lives(peer: Peer) -> None:
    """While it was pending, every call was alive."""
    report_share(peer, "TCS005")


@scenario("TCS006", late=Stage.HARMLESS)
def test_ended_in_random_lives(peer: Peer) -> None:
    """After its end no call was alive, nor came back."""
    report_share(peer, "TCS006")


@scenario("TCS007", late=Stage.HARMLESS)
def test_subscribed_in_random_lives(peer: Peer) -> None:
    """As long as events came, every subscription was alive."""
    report_share(peer, "TCS007")


@scenario("TCS025", late=Stage.HARMLESS)
def test_delivering_in_random_lives(peer: Peer) -> None:
    """While the server went on trying to deliver, every call was alive."""
    report_share(peer, "TCS025")


@scenario("TCS025", late=Stage.DEADLY)
def test_silent_after_random_lives(peer: Peer) -> None:
    """Long after a false nothing had come."""
    with peer.part("what comes after `false`"):
        need_answer(peer)
        lives = peer.session.once("lives", lambda: call_life.run(peer))
        for found, lived in call_life.afterwards(peer, lives):
            peer.report(call_life.violation(found, lived))


@scenario("TCS026", late=Stage.HARMLESS)
def test_results_in_random_lives(peer: Peer) -> None:
    """Asking brought no second result."""
    report_share(peer, "TCS026")
