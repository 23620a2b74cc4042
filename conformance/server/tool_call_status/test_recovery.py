"""After a crash: the status check tells which calls will still deliver.

Specification: "Tool Call Status Check", section "Recovery After Runtime Restart", with "Protocol Lifecycle",
section "Shutdown".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.scenario import NotApplicable, Untested, Violation, scenario
from rap_conformance.network.receiver import Delivery
from rap_conformance.protocol import life_seen, lifecycle
from rap_conformance.protocol.aftermath import LOAD
from rap_conformance.protocol.life_seen import Seen
from rap_conformance.protocol.lifecycle import Event, State
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server import call_life, states
from rap_conformance.server.beside import at_once, beside
from rap_conformance.server.call import Call
from rap_conformance.server.controls import need_alive
from rap_conformance.server.crash import Crash, begin, interrupt, watch
from rap_conformance.server.peer import Peer

FEW = 2
"""Calls of each kind that an orderly end interrupts."""
NAMES = {
    "pending": "a pending call",
    "subscription": "a subscription",
    "quick": "a call whose result was refused",
}
"""What a crash interrupts, by kind."""


@scenario("TCS016", control=Control("right before the crash a call is alive that may be lost in it"))
def test_lost_calls_not_alive(peer: Peer) -> None:
    """After a kill and a restart, and after an orderly end: alive exactly for what then delivers."""
    least = call_life.LEAST[peer.session.common.profile]
    over, begun = beside(lambda: what_is_over(peer), lambda: begin(peer, least))
    crash = interrupt(peer, begun, least, gently=False)
    later = at_once({"over": lambda: watch_over(peer, over, crash), "": lambda: watch(peer, crash)})
    if not any(means_alive(exchange) for exchange in crash.known):
        peer.note("a call that was asked about right before the crash was not alive")
    try:
        if peer.session.slow() and peer.session.common.profile == "quick":
            peer.note("an orderly end was not tried: answers are late, and the profile is quick")
            return
        with peer.part("what an orderly end interrupted"):
            second = interrupt(peer, begin(peer, FEW), FEW, gently=True)
            watch(peer, second, briefly=True)
            judge_recovery(peer, second)
    finally:  # only now: what was answered `false` may have delivered meanwhile
        judge_crash(peer, crash, later, over, least)


def judge_crash(
    peer: Peer, crash: Crash, later: Mapping[str, Future[None]], over: list[Over], least: int
) -> None:
    """What the crash interrupted, and what was over before it."""
    with peer.part("what the crash interrupted"):
        later[""].result()
        judge_recovery(peer, crash)
        need_alive(
            peer,
            max(crash.known, key=lambda each: bool(means_alive(each))),
            "a call, right before the crash,",
        )
    for one in over:
        with peer.part(one.what):
            later["over"].result()
            judge_over(peer, one, crash)
    count_restarts(peer, crash, least)


@dataclass(slots=True)
class Over:
    """A call that was over, and answered `false`, before the crash; what was answered about it after that.

    `cancelled`: it was stopped by us.
    """

    call: Call
    what: str
    cancelled: bool
    answers: list[Exchange]

    def again(self, restarted: float) -> Delivery | None:
        """What was delivered for it after the restart."""
        return next((d for d in self.call.deliveries if d.arrived > restarted), None)


def what_is_over(peer: Peer) -> list[Over]:
    """Calls that had ended, each in its way. What there cannot be, or is alive all the same, is noted."""
    makers: dict[str, tuple[str, Callable[[], Call]]] = {
        "quick calls": ("a quick call that was over", lambda: states.ended(peer)),
        "final calls": ("a final call that was over", lambda: states.final(peer)),
        "cancelled calls": (
            "a pending call that was cancelled",
            lambda: states.stopped(peer, "pending", peer.cancel),
        ),
        "cancelled subscriptions": (
            "a subscription that was cancelled",
            lambda: states.stopped(peer, "subscription", peer.cancel),
        ),
    }

    def make(what: str, maker: Callable[[], Call]) -> Over:
        call = maker()
        if not peer.patience.until(lambda: means_alive(peer.ask_about(call)) is False, peer.grace, every=0.2):
            raise Untested("it was not answered `false` before the crash")
        return Over(call, what, call.cancelled, [])

    made = at_once({title: partial(make, *one) for title, one in makers.items()})
    over = []
    for title, each in made.items():
        try:
            over.append(each.result())
        except (Untested, NotApplicable) as missing:
            peer.record.missing.append(f"{title}: {missing}")
    return over


def watch_over(peer: Peer, over: list[Over], crash: Crash) -> None:
    """Ask about what was over until it is not alive, or is done again, or the grace time has passed.

    Asked once more when state has had time to load.
    """

    def settle(one: Over) -> None:
        def settled() -> bool:
            one.answers.append(peer.ask_about(one.call))
            return means_alive(one.answers[-1]) is False or one.again(crash.restarted) is not None

        for start in (crash.restarted, crash.restarted + LOAD):
            peer.patience.pace(max(0.0, start - peer.patience.now()))
            peer.patience.until(settled, max(0.0, start + peer.grace - peer.patience.now()), every=0.2)

    for each in at_once({one.what: partial(settle, one) for one in over}).values():
        each.result()


def judge_recovery(peer: Peer, crash: Crash) -> None:
    """Alive must deliver, not alive must not, and each question is answered."""
    if not any(crash.answers.values()):
        raise Untested("there was no answer about any call after the crash")
    for call in crash.calls:
        what, seen = NAMES[call.kind], crash.aftermath(peer, call)
        if (mute := seen.mute()) is not None:
            peer.report(
                Violation(
                    f"an answer about {what} that was interrupted",
                    str(mute.failure or f"status {mute.status} with {mute.response_body[:60]!r}"),
                    mute,
                    case=f"{what} that was interrupted: no answer that can be read",
                )
            )
        elif (lie := seen.lie()) is not None:
            answer, later = lie
            shown = [delivery.exchange for delivery in call.deliveries if delivery.arrived == later]
            peer.report(
                Violation(
                    f"`alive: true` for {what} that goes on",
                    f"`alive: false`, and a callback {later - answer.ended:.1f} s later",
                    answer,
                    *shown,
                    case=f"{what} that goes on is not alive",
                )
            )
        elif (claim := seen.claim()) is not None:
            within = crash.within[call.kind]
            peer.report(
                Violation(
                    f"a callback after the restart, or `alive: false`, for {what}",
                    f"`alive: true`, and nothing within {within:.0f} s",
                    claim,
                    case=f"{what} that was lost is alive",
                    absence=True,
                )
            )
        elif seen.told() is not None:
            peer.judged()


def judge_over(peer: Peer, one: Over, crash: Crash) -> None:
    """What had ended is not alive for long, unless it is done again, which is advised against."""
    delivered = one.again(crash.restarted)
    last = one.answers[-1]
    if means_alive(last) is None:
        raise Violation(
            f"an answer about {one.what}",
            str(last.failure or f"status {last.status} with {last.response_body[:60]!r}"),
            last,
            case=f"{one.what}: no answer that can be read",
        )
    peer.expect(
        not means_alive(last) or delivered,
        "`alive: false`, as before the crash",
        f"`alive: true` for {peer.grace:g} s, and nothing is delivered",
        last,
        case=f"{one.what} is alive again",
        absence=True,
    )
    # A cancelled subscription must not send events; all else is a matter of taste.
    event = delivered is not None and one.cancelled and delivered.type == "subscription_event"
    peer.expect(
        delivered is None,
        "nothing more for a call that had ended",
        "it delivers again after the crash",
        one.answers[0],
        *((delivered.exchange,) if delivered else ()),
        case=f"{one.what} is done again",
        level=None if event else Level.ADVICE,
    )


def count_restarts(peer: Peer, crash: Crash, least: int) -> None:
    """Note how often the table's transitions were taken, and which too seldom."""
    counts: Counter[tuple[State, Event]] = Counter()
    told = [(call, answer) for call in crash.calls if (answer := crash.aftermath(peer, call).told())]
    for call, answer in told:
        assert call.exchange is not None
        seen = [
            Seen(Event.INVOKE, call.sent, call.acknowledged, call.exchange),
            Seen(Event.RESTART, crash.restarted, crash.restarted, answer),
            Seen(Event.ASK, answer.started, answer.ended, answer, means_alive(answer)),
        ]
        counts += life_seen.executed(call_life.in_order(call, seen))
    peer.note(f"{len(told)} calls lived through a crash; transitions taken: {call_life.told(counts)}")
    if lacking := list(life_seen.lacking(counts, least, lifecycle.RESTARTS)):
        peer.note(f"transitions taken too seldom: {'; '.join(lacking)}")
