"""Random lives of many calls as parts of the scenarios of single requirements: each reports its share.

Specification: "Tool Call Status Check", section "Query Semantics", with "Tool Cancellation", "Thread Closure"
and "Subscription Events".
"""

from __future__ import annotations

from rap_conformance.engine.requirement import Stage
from rap_conformance.engine.scenario import Part, Untested
from rap_conformance.server import call_life
from rap_conformance.server.controls import need_answer
from rap_conformance.server.peer import Peer


def share(code: str) -> Part:
    """What random lives show about one requirement; they are lived once a run."""

    def report(peer: Peer) -> None:
        with peer.part("random lives"):
            need_answer(peer)
            lives = peer.session.once("lives", lambda: call_life.run(peer))
            if not lives.show(code):
                raise Untested("no life came to what this is about")
            peer.record.examples += len(lives.lived)
            peer.judged(len(lives.lived))
            for found, lived in lives.breaks:
                if found.code == code:
                    peer.report(call_life.violation(found, lived))
            peer.note(f"{len(lives.lived)} random lives; transitions taken: {call_life.told(lives.counts)}")
            if lives.lacking:
                peer.note(f"transitions taken too seldom: {'; '.join(lives.lacking)}")

    return Part(report)


def _afterwards(peer: Peer) -> None:
    with peer.part("what comes after `false`"):
        need_answer(peer)
        lives = peer.session.once("lives", lambda: call_life.run(peer))
        found, looked_at = call_life.afterwards(peer, lives)
        peer.judged(looked_at)
        for broken, lived in found:
            peer.report(call_life.violation(broken, lived))


AFTERWARDS = Part(_afterwards, Stage.DEADLY)
"""Long after a `false` nothing had come."""
