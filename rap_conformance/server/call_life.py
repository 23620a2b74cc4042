"""Random lives of many calls at once against the live server, judged by the lifecycle table.

Hypothesis draws what happens to each call and when; all calls live beside each
other. A departure from the table is sought again with ever less done to one
call alone, and shown as the shortest sequence that was found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rap_conformance.engine.requirement import Level
from rap_conformance.engine.scenario import NotApplicable, Trouble, Untested, Violation
from rap_conformance.network.receiver import OK, Answer, Delivery
from rap_conformance.protocol import life_seen, lifecycle
from rap_conformance.protocol.life_seen import Break, Edges, Seen
from rap_conformance.protocol.lifecycle import CODES, Event, State
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import under_way
from rap_conformance.server.call import Call
from rap_conformance.server.peer import Peer

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

LEAST = {"quick": 6, "standard": 20, "thorough": 60}
"""How often each transition is taken at the least, by profile."""

SIDES = 32
"""Calls that live at the same time."""

SHRINK_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Step:
    """Something done to a call after a pause in seconds: ask, cancel, close (its thread)."""

    what: str
    pause: float


@dataclass(frozen=True, slots=True)
class Life:
    """What happens to one call. `refusals` is how many deliveries the receiver refuses first.

    `before` and `after` are questions before the invocation and after all steps; `other`: the second
    identity makes the call.
    """

    kind: str
    refusals: int = 0
    before: int = 1
    steps: tuple[Step, ...] = ()
    after: int = 1
    other: bool = False


@dataclass(frozen=True, slots=True)
class Lived:
    """A life and what was seen of it, in order of time."""

    life: Life
    call: Call
    seen: tuple[Seen, ...]

    def shows(self, code: str) -> bool:
        """Whether the call was asked about in a state in which a wrong answer breaks that requirement."""
        asked = {state for state, event in life_seen.executed(self.seen) if event is Event.ASK}
        return code in {CODES[state] for state in asked} or (code == "TCS026" and State.ENDED in asked)


@dataclass(frozen=True, slots=True)
class Lives:
    """Everything that came out of one run of the model."""

    breaks: tuple[tuple[Break, Lived], ...]
    counts: Counter[tuple[State, Event]]
    lacking: tuple[str, ...]
    lived: tuple[Lived, ...]
    telling: Counter[str]
    """How many answers could have been wrong, by requirement."""

    def showing(self, code: str) -> tuple[Lived, ...]:
        """The lives that show something about a requirement."""
        return tuple(one for one in self.lived if one.shows(code))


def plan(kinds: tuple[str, ...], least: int, seed: int) -> list[Life]:
    """Lives such that each transition is taken `least` times, drawn and shuffled by `seed`."""
    from hypothesis import strategies as st

    from rap_conformance.contract import generation as engine

    pause = st.sampled_from((0.0, 0.02, 0.05, 0.1, 0.2))
    # Only an answer at some distance from what ends the state that it was asked in tells anything.
    distance = st.sampled_from((0.0, 0.1, 0.3, 0.5))

    def step(what: str) -> SearchStrategy[Step]:
        return st.builds(Step, st.just(what), pause if what == "ask" else distance)

    def life(kind: str, end: str, refusals: SearchStrategy[int]) -> SearchStrategy[Life]:
        before = int(kind == kinds[0] and not end)
        steps = st.tuples(step("ask"), step(end)) if end else st.tuples(step("ask"))
        return st.builds(Life, st.just(kind), refusals, st.just(before), steps, st.just(int(end != "close")))

    wanted: list[SearchStrategy[Life]] = []
    none, some = st.just(0), st.just(2)
    if "quick" in kinds:
        wanted += [life("quick", "", none), life("quick", "cancel", none), life("quick", "", some)]
    if "pending" in kinds:
        wanted += [life("pending", end, none) for end in ("", "cancel", "close")]
    if "subscription" in kinds:
        wanted += [life("subscription", end, none) for end in ("cancel", "close")]
    if "final" in kinds:
        wanted.append(life("final", "", none))
    with engine.calm():
        drawn = [one for strategy in wanted for one in engine.collect(strategy, least, seed, _each)]
        order = engine.collect(st.permutations(range(len(drawn))), 1, seed, _each)[0]
    return [drawn[index] for index in order]


def _each(_: object) -> object:
    """A key that tells any two lives apart: the same life may be lived twice."""
    return object()


OURS = {Event.ASK, Event.INVOKE, Event.CANCEL, Event.CLOSE}
"""What we do to a call; all else comes from the server."""


def live(peer: Peer, life: Life) -> Lived:
    """Let one call have its life; gives what was seen."""
    call_id, thread = fresh(), fresh("thread")
    who = peer.session.other if life.other else None
    seen: list[Seen] = []

    def ask(call: Call | None) -> None:
        exchange = peer.ask_about(call) if call else peer.ask(call_id, thread, credentials=who)
        seen.append(Seen(Event.ASK, exchange.started, exchange.ended, exchange, means_alive(exchange)))

    for _ in range(life.before):
        ask(None)

    def script(number: int) -> Answer:
        return Answer(status=503) if number < life.refusals else OK

    call = peer.invoke(life.kind, id=call_id, thread=thread, script=script, other=life.other)
    assert call.exchange is not None
    seen.append(Seen(Event.INVOKE, call.sent, call.acknowledged, call.exchange))
    if life.kind in {"subscription", "final"}:
        call.mailbox.until(lambda _: call.result, peer.grace)
    elif life.kind == "pending":
        peer.patience.pace(peer.slack)
    if life.refusals or (life.kind == "quick" and any(step.what == "cancel" for step in life.steps)):
        call.mailbox.until(lambda _: call.results, peer.grace)
    for step in life.steps:
        peer.patience.pace(step.pause)
        if step.what == "ask":
            ask(call)
            continue
        start = peer.patience.now()
        exchange = peer.cancel(call) if step.what == "cancel" else peer.close_thread(call)
        if exchange is not None:
            event = Event.CANCEL if step.what == "cancel" else Event.CLOSE
            seen.append(Seen(event, start, peer.patience.now(), exchange))
    stopped = any(step.what != "ask" for step in life.steps) and life.kind != "quick"
    if not stopped and life.kind == "final":
        call.mailbox.until(lambda _: call.final, peer.grace)
    elif not stopped:
        peer.result_of(call, peer.session.tools.patience(life.kind, call.seconds, peer.grace))
    for _ in range(life.after):
        ask(call)
    return Lived(life, call, in_order(call, seen))


def in_order(call: Call, seen: Iterable[Seen]) -> tuple[Seen, ...]:
    """What was done to a call and what came of it, in order of time."""
    deliveries = filter(None, (_delivered(call.kind, delivery) for delivery in call.deliveries))
    return tuple(sorted([*seen, *deliveries], key=lambda each: each.start))


def told(counts: Counter[tuple[State, Event]]) -> str:
    """How often each transition was taken, in words."""
    return ", ".join(f"{state} --{event}: {count}" for (state, event), count in sorted(counts.items()))


def _delivered(kind: str, delivery: Delivery) -> Seen | None:
    subscribing = kind in {"subscription", "final"}
    if delivery.type == "subscription_event":
        event = Event.FINAL if delivery.final else Event.EVENT
    elif delivery.type != "tool_result":
        return None
    elif not delivery.acknowledged:
        event = Event.REFUSED
    else:
        event = Event.CONFIRMED if subscribing else Event.RESULT
    return Seen(event, delivery.arrived, delivery.exchange.ended, delivery.exchange)


def run(peer: Peer) -> Lives:
    """Let many calls live at once and judge what was seen. Raises Untested if nothing may be called."""
    kinds = tuple(kind for kind in ("quick", "pending", "subscription", "final") if _callable(peer, kind))
    if not kinds:
        raise Untested("no tool may be called; configure [scenario.quick] and others")
    least = LEAST[peer.session.common.profile]
    lives = plan(kinds, least, peer.session.common.seed)
    if peer.session.other:
        # Two identities, where there are two: their calls live beside each other and must not mix.
        lives = [replace(life, other=bool(number % 2)) for number, life in enumerate(lives)]
    peer.session.exists("cancel_tool_call")
    peer.session.exists("close_thread")
    with ThreadPoolExecutor(SIDES) as sides:
        lived = list(sides.map(lambda life: live(peer, life), lives))
    # One life for the report's picture: the one with most to show.
    richest = max(lived, key=lambda one: (len({each.event for each in one.seen}), len(one.seen)))
    peer.session.life = [each.exchange for each in richest.seen]
    edges = edges_of(peer)
    counts: Counter[tuple[State, Event]] = Counter()
    telling: Counter[str] = Counter()
    breaks: dict[tuple[str, str], tuple[Break, Lived]] = {}
    for one in lived:
        counts += life_seen.executed(one.seen)
        telling += life_seen.telling(one.seen, edges)
        if (found := life_seen.judge(one.seen, edges)) and (found.code, found.case) not in breaks:
            breaks[found.code, found.case] = shorter(peer, found, one, edges)
    lacking = tuple(life_seen.lacking(counts, least, lifecycle.TRANSITIONS.keys() - lifecycle.RESTARTS))
    return Lives(tuple(breaks.values()), counts, lacking, tuple(lived), telling)


def edges_of(peer: Peer) -> Edges:
    """The seconds around a change in which two answers are right, for this server."""
    return Edges(peer.slack, peer.grace, peer.race, under_way(peer))


def _callable(peer: Peer, kind: str) -> bool:
    try:
        peer.session.tool(kind)
    except (Untested, NotApplicable, Trouble):
        return False
    return True


def shorter(peer: Peer, found: Break, lived: Lived, edges: Edges) -> tuple[Break, Lived]:
    """The same departure with as little done to one call alone as was found within bounds."""
    best = (found, lived)
    end = peer.patience.now() + SHRINK_SECONDS
    smaller = True
    while smaller and peer.patience.now() < end:
        smaller = False
        for candidate in _less(best[1].life):
            if peer.patience.now() > end:
                break
            again = live(peer, candidate)
            broken = life_seen.judge(again.seen, edges)
            if broken is not None and (broken.code, broken.case) == (found.code, found.case):
                best, smaller = (broken, again), True
                break
    return best


def _less(life: Life) -> list[Life]:
    """Lives with one thing less done to the call."""
    less = [
        replace(life, steps=(*life.steps[:index], *life.steps[index + 1 :]))
        for index in range(len(life.steps))
    ]
    if life.before:
        less.append(replace(life, before=0))
    if life.after:
        less.append(replace(life, after=0))
    if life.refusals:
        less.append(replace(life, refusals=life.refusals - 1))
    return less


def violation(found: Break, lived: Lived) -> Violation:
    """A departure from the table: first the answer that shows it, then what led to it in order of time."""
    until = lived.seen[: found.upto + 1]
    told = "; ".join(
        f"{number}. {each.event}" + ("" if each.alive is None else f": {str(each.alive).lower()}")
        for number, each in enumerate(until, 1)
    )
    offending = next((each for each in reversed(until) if each.alive is not None), until[-1])
    return Violation(
        found.expected,
        f"{found.actual}, in this life of a {lived.life.kind} call: {told}",
        offending.exchange,
        *(each.exchange for each in until if each is not offending),
        case=found.case,
        level=Level.ADVICE if found.advice else None,
    )
