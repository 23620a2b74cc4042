"""A call that was asked about and a twin that nobody asks about: what a question causes may come much later.

Specification: "Tool Call Status Check", section "Query Semantics".
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Part, Untested
from rap_conformance.protocol.messages import encode, fresh, query
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import POLL
from rap_conformance.server.call import Call
from rap_conformance.server.peer import Peer

LATE = 8.0
"""Seconds after a question in which what it causes may come."""

SIDES, PACE, MOST, RARELY = 3, 0.05, 60, 0.5
"""From how many sides a call is asked about; seconds between a side's questions, for how many questions in
all, and the seconds after those."""


SLOWED, MOST_TRIES = 0.5, 3
"""Seconds that a question takes where a limit makes us wait; how often what it spoilt is tried in all."""
OFTEN_ENOUGH = 0.6
"""The longest time between two questions about a subscription that is asked about all the time, in times
between its events."""


@dataclass(frozen=True, slots=True)
class Round:
    """A call that was asked about all the time, and twins of it; only the first is asked about, at the end.

    `neighbour` is another call of its thread, made at the end.
    `last` is the last answer; `denied` what was answered "not alive", with what the first twin got then.
    `slowed` is how long the longest of the first pauses between two questions was, in seconds: where a limit
    makes us wait, nothing is asked often.
    """

    asked: Call
    neighbour: Call
    twins: list[Call]
    last: Exchange
    denied: list[tuple[Exchange, Exchange]]
    slowed: float

    @property
    def took(self) -> list[float]:
        """How long the twins took."""
        return [twin.result.arrived - twin.sent for twin in self.twins if twin.result]


def ask_about_pending(peer: Peer, younger: int) -> Round:
    """Calls at once, one asked about before it was made and all the time. Raises Untested for a lost twin."""
    call_id, thread = fresh(), fresh("thread")
    peer.session.tempo.at_once([partial(peer.ask, call_id, thread)] * 3)
    # One twin is older, others are younger: what comes with age befalls the older, a queue befalls both.
    beyond = fresh("thread")
    older, asked, *others = peer.session.tempo.at_once(
        [
            partial(peer.invoke, "pending", thread=beyond),
            partial(peer.invoke, "pending", id=call_id, thread=thread),
            *[partial(peer.invoke, "pending")] * younger,
            *(partial(peer.invoke, "pending", thread=each) for each in (thread, beyond)),
        ]
    )
    calls, neighbour = [older, *others[:-2]], others[-2]
    ask_around(peer, asked)
    last, denied, slowed = ask_from_all_sides(peer, asked, calls)
    for twin in calls:
        peer.need_result(twin)
    return Round(asked, neighbour, calls, last, denied, slowed)


def ask_around(peer: Peer, call: Call) -> None:
    """Questions that name a call nearly, or name it and say more: they, too, only ask."""
    elsewhere = peer.session.receiver.mailbox().url
    told = {"callback_url": elsewhere, "alive": False, "status": "cancelled", "cancel": True, "ttl": 0}
    nearly = [partial(peer.ask, fresh(), call.thread), partial(peer.ask, call.id, fresh("thread"))]
    more = partial(peer.post_status, encode({**query(call.id, call.thread), **told}))
    peer.session.tempo.at_once([*nearly * 3, more])


def ask_from_all_sides(
    peer: Peer, call: Call, twins: list[Call]
) -> tuple[Exchange, list[tuple[Exchange, Exchange]], float]:
    """Ask about one call from several sides until it ended, or its twins did a while ago.

    Gives the last answer, every "not alive" that held on for a moment with what the older twin got, and the
    longest time that one of the many questions took.
    """
    denied: list[tuple[Exchange, Exchange]] = []
    took = [0.0]

    def over() -> bool:
        ends = [twin.results[0].arrived for twin in twins if twin.results]
        return bool(call.results) or (len(ends) == len(twins) and peer.patience.now() > max(ends) + 1.0)

    def ask(side: int) -> Exchange:
        last = peer.ask_about(call)
        asked = doubts = 1
        while not over():
            began = peer.patience.now()
            last = peer.ask_about(call)
            asked += 1
            if asked < MOST / SIDES:
                took.append(peer.patience.now() - began)
            if side == 0 and doubts < 8 and means_alive(last) is False:
                doubts += 1
                peer.patience.pace(0.1)
                last, beside = peer.ask_about(call), peer.ask_about(twins[0])
                if means_alive(last) is False and means_alive(beside):
                    denied.append((last, beside))
            elif means_alive(last):
                denied.clear()  # who knows the call now did not lose it by our asking
            peer.patience.pace(PACE if asked < MOST / SIDES else RARELY)
        return last

    with ThreadPoolExecutor(SIDES) as sides:
        return list(sides.map(ask, range(SIDES)))[-1], denied, max(took)


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """Two subscriptions, of which one was asked about all the time, until both were cancelled.

    `theirs` and `meanwhile`: how many events the twin had, and the other at the same time; `ours`: how many
    that had after as long again, which is `enough` or not; `ended`, `twin_ended`: by a final event.
    """

    asked: Call
    twin: Call
    last: Exchange
    theirs: int
    meanwhile: int
    ours: int
    enough: bool
    ended: bool
    twin_ended: bool
    cancelled: float


def ask_about_subscription(peer: Peer) -> Subscriptions:
    """Ask about one of two subscriptions all the time. Raises Untested if the other one sends too little.

    Where a limit, or whatever else, makes us wait, it is tried again: nothing was asked all the time.
    """
    for _ in range(MOST_TRIES - 1):
        pause, seen = _subscriptions(peer)
        if pause < OFTEN_ENOUGH or peer.session.tempo.late:
            return seen
    return _subscriptions(peer)[1]


def _subscriptions(peer: Peer) -> tuple[float, Subscriptions]:
    """What became of two subscriptions, and the longest pause of our asking, in times between events."""
    asked, twin = peer.session.tempo.at_once([partial(peer.invoke, "subscription")] * 2)
    for call in (asked, twin):
        peer.need_result(call)
    peer.session.fire()
    end = peer.patience.now() + peer.grace
    last, pause = _ask_all_the_time(
        peer, asked, lambda: len(twin.events) >= 5 or twin.final or peer.patience.now() >= end
    )
    theirs, meanwhile = len(twin.events), len(asked.events)
    if theirs < 3:
        raise Untested(f"a subscription that nobody asked about sent {theirs} events within {peer.grace:g} s")
    took = twin.events[-1].arrived - twin.events[0].arrived
    enough = asked.mailbox.until(lambda _: asked.final or len(asked.events) >= theirs - 1, took + 2.0)
    ours = len(asked.events)
    if asked.final:
        twin.mailbox.until(lambda _: twin.final, took + 2.0)
    ended, twin_ended = bool(asked.final), bool(twin.final)
    peer.session.tempo.at_once([partial(peer.cancel, call) for call in (asked, twin)])
    now = peer.patience.now()
    seen = Subscriptions(asked, twin, last, theirs, meanwhile, ours, bool(enough), ended, twin_ended, now)
    return pause * (theirs - 1) / took if took else 0.0, seen


def _ask_all_the_time(peer: Peer, call: Call, over: Callable[[], object]) -> tuple[Exchange, float]:
    """Ask about a call until that is over; gives the last answer and the longest pause, in seconds.

    From several sides, each at its share of the pace: one answer that takes long makes no pause.
    """
    began: list[float] = []

    def ask(side: int) -> Exchange:
        peer.patience.pace(POLL * side)
        while True:
            began.append(peer.patience.now())
            last = peer.ask_about(call)
            if over():
                return last
            peer.patience.pace(POLL * SIDES)

    with ThreadPoolExecutor(SIDES) as sides:
        answers = list(sides.map(ask, range(SIDES)))
    began.sort()
    last = max(answers, key=lambda each: each.started)
    return last, max((b - a for a, b in pairwise(began)), default=0.0)


@dataclass(frozen=True, slots=True)
class Pair:
    """A call of which `question` was the last one, its twin, and the case if it fares otherwise.

    Of a subscription both were cancelled, at `cancelled`, in seconds since the run began.
    """

    asked: Call
    twin: Call
    question: Exchange
    case: str
    cancelled: float | None = None

    def repeated(self, race: float) -> bool:
        """Whether something came for the one and not for the other that would have to come for neither."""
        if self.cancelled is None:
            mine, theirs = (sum(d.acknowledged for d in c.results) for c in (self.asked, self.twin))
            return mine > max(1, theirs)
        late = self.cancelled + race
        mine, theirs = (sum(d.arrived > late for d in c.events) for c in (self.asked, self.twin))
        return mine > 0 and theirs == 0


def pairs(peer: Peer, code: str) -> list[Pair]:
    """The pairs of a requirement so far, to add to."""
    return peer.session.once(f"pairs {code}", list[Pair])


def asked_unknown(peer: Peer) -> list[Exchange]:
    """The last question about each unknown id that was asked about often, to add to."""
    return peer.session.once("asked unknown", list[Exchange])


def watch(peer: Peer, code: str) -> None:
    """Judge what came for those that were asked about until now, at least so long after the last question."""
    asked = [*(pair.question for pair in pairs(peer, code)), *_unknown(peer, code)]
    if not asked:
        return
    with peer.part("long after the last question"):
        last = max(question.ended for question in asked)
        peer.patience.pace(max(0.0, last + LATE - peer.patience.now()))
        for pair in pairs(peer, code):
            came = (pair.asked.results if pair.cancelled is None else pair.asked.events)[-1:]
            peer.expect(
                not pair.repeated(peer.race),
                "nothing more, as for a call that nobody asked about",
                f"another delivery {came[-1].arrived - pair.question.ended if came else 0.0:.1f} s after the "
                "last question",
                pair.question,
                *(delivery.exchange for delivery in came),
                case=pair.case,
            )
        for question in _unknown(peer, code):
            again = peer.post_status(question.request_body)
            peer.expect(
                not means_alive(again),
                "`alive: false` however long ago one asked",
                f"`alive: true` {again.started - question.ended:.1f} s after it was asked about often",
                again,
                question,
                case="an unknown id, asked about much earlier",
            )


def _unknown(peer: Peer, code: str) -> list[Exchange]:
    return asked_unknown(peer) if code == "TCS009" else []


def much_later(code: str) -> Part:
    """What questions may have caused meanwhile."""
    return Part(lambda peer: watch(peer, code))
