"""Random lives of many calls as parts of the scenarios of single requirements: each reports its share.

Specification: "Tool Call Status Check", section "Query Semantics", with "Tool Cancellation", "Thread Closure"
and "Subscription Events".
"""

from __future__ import annotations

from rap_conformance.engine.requirement import Stage
from rap_conformance.engine.scenario import Part, Untested
from rap_conformance.protocol import life_seen
from rap_conformance.protocol.life_seen import Break
from rap_conformance.protocol.lifecycle import Event
from rap_conformance.server import call_life
from rap_conformance.server.call_life import Lived, Lives
from rap_conformance.server.controls import need_answer
from rap_conformance.server.peer import Peer


def share(code: str, least: int = 1) -> Part:
    """What random lives show about one requirement; they are lived once a run.

    `least` answers that could have been wrong are needed for anything to be said.
    """

    def report(peer: Peer) -> None:
        with peer.part("random lives"):
            lives = lived(peer)
            telling = lives.showing(code)
            broken = [(found, one) for found, one in lives.breaks if found.code == code]
            if not telling and not broken:
                raise Untested("no life came to what this is about")
            if lives.telling[code] < least and least > 1 and not broken:
                raise Untested(f"only {lives.telling[code]} answers in random lives could have been wrong")
            peer.record.examples += len(lives.lived)
            peer.judged(max(0, len(telling) - len(broken)))
            for found, one in broken:
                peer.report(call_life.violation(found, one))
            peer.note(f"{len(lives.lived)} random lives; transitions taken: {call_life.told(lives.counts)}")
            if lives.lacking:
                peer.note(f"transitions taken too seldom: {'; '.join(lives.lacking)}")

    return Part(report, begin=lived)


def lived(peer: Peer) -> Lives:
    """The random lives of this run. Raises Untested if no tool may be called, or nothing is answered."""

    def live() -> Lives:
        need_answer(peer)
        return call_life.run(peer)

    return peer.session.once("lives", live)


def _afterwards(peer: Peer) -> None:
    with peer.part("what comes after `false`"):
        found, looked_at = afterwards(peer, lived(peer))
        peer.judged(looked_at - len(found))
        for broken, one in found:
            peer.report(call_life.violation(broken, one))


AFTERWARDS = Part(_afterwards, Stage.DEADLY)
"""Long after a `false` nothing had come."""


def afterwards(peer: Peer, lives: Lives) -> tuple[list[tuple[Break, Lived]], int]:
    """What came for calls that had been cancelled and answered `false`, beyond the race window.

    Gives that, and how many calls were looked at.
    Calls of a kind that is answered wrongly while it lives are passed over: that is TCS005's and TCS007's.
    Waits until whatever a server went on with in spite of its answer must have come. Raises Untested if
    nothing could have come so late.
    """
    ends: list[float] = []
    silent: list[Lived] = []
    for one in lives.lived:
        silence = next(
            (s.end for s in one.seen if s.alive is False and s.start > one.call.acknowledged), None
        )
        if silence is None or not any(each.event is Event.CANCEL for each in one.seen):
            continue
        if peer.session.history.is_broken("TCS007" if one.life.kind == "subscription" else "TCS005"):
            continue
        silent.append(one)
        lasts = one.call.seconds
        if one.life.kind == "subscription" or one.call.sent + lasts > silence + peer.race:
            ends.append(max(silence + peer.race, one.call.sent + lasts) + 1.0)
    if not ends:
        raise Untested(
            "no call that was cancelled and answered `false` could have delivered after race_window"
        )
    subscription = peer.config.scenarios.get("subscription")
    least = 1.0 if subscription is not None and subscription.trigger else 0.0
    peer.session.fire()
    peer.patience.pace(max(least, max(ends) - peer.patience.now()))
    edges = call_life.edges_of(peer)
    found: dict[tuple[str, str, bool], tuple[Break, Lived]] = {}
    for one in silent:
        seen = call_life.in_order(one.call, [each for each in one.seen if each.event in call_life.OURS])
        broken = life_seen.judge(seen, edges)
        if broken is not None and broken.code == "TCS025":
            found.setdefault(
                (broken.code, broken.case, broken.advice), (broken, Lived(one.life, one.call, seen))
            )
    known = {(broken.code, broken.case, broken.advice) for broken, _ in lives.breaks}
    return [each for key, each in found.items() if key not in known], len(silent)
