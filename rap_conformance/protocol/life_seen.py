"""What was seen of a call, read against the table of its states (`lifecycle`). No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from rap_conformance.engine.evidence import Exchange
from rap_conformance.protocol.lifecycle import ANSWERS, CODES, TRANSITIONS, Event, State


@dataclass(frozen=True, slots=True)
class Seen:
    """One thing that was done or seen, from `start` to `end` (seconds since the run began)."""

    event: Event
    start: float
    end: float
    exchange: Exchange
    alive: bool | None = None


@dataclass(frozen=True, slots=True)
class Break:
    """Where what was seen leaves the table. `upto` is the position of the last thing that shows it.

    `advice`: the specification allows it elsewhere.
    """

    code: str
    case: str
    expected: str
    actual: str
    upto: int
    advice: bool = False


@dataclass(frozen=True, slots=True)
class Edges:
    """Seconds around a change in which two answers are right; as in the configuration's [timing].

    `under_way`: for how long a delivery may be under way before it arrives, and after it was refused.
    """

    slack: float
    grace: float
    race: float
    under_way: float


def walk(seen: Sequence[Seen]) -> list[State]:
    """The state before each thing that was seen."""
    state, states = State.UNKNOWN, []
    for each in seen:
        states.append(state)
        state = TRANSITIONS.get((state, each.event), state)
    return states


def executed(seen: Sequence[Seen]) -> Counter[tuple[State, Event]]:
    """How often each transition of the table was taken."""
    pairs = zip(walk(seen), (each.event for each in seen), strict=True)
    return Counter(pair for pair in pairs if pair in TRANSITIONS)


def judge(seen: Sequence[Seen], edges: Edges) -> Break | None:
    """The first departure from the table in what was seen of one call; None if there is none."""
    return _wrong_answer(seen, edges) or _back_from_the_dead(seen, edges) or _second_result(seen)


DELIVERIES = frozenset({Event.REFUSED, Event.RESULT, Event.CONFIRMED, Event.EVENT, Event.FINAL})
"""What the server sends."""


@dataclass(frozen=True, slots=True)
class _Stay:
    """How long a call was in one state: from when on its answers are right, and until when."""

    state: State
    entered: float
    lead: float = 0.0
    left: float = float("inf")
    tail: float = 0.0

    def possible(self, each: Seen) -> bool:
        """Whether the server may have answered out of this state."""
        return self.entered - self.lead <= each.end and each.start <= self.left + self.tail


def _stays(seen: Sequence[Seen], edges: Edges) -> list[_Stay]:
    """The states a call went through. A request of ours takes effect somewhere between its two ends."""
    stays = [_Stay(State.UNKNOWN, float("-inf"))]
    for each in seen:
        state = stays[-1].state
        after = TRANSITIONS.get((state, each.event), state)
        if after is not state:
            # After an end the server has time to settle; after anything else only the edge.
            edge = edges.under_way if each.event in DELIVERIES else edges.slack
            tail = edges.grace if after is State.ENDED else edge
            stays[-1] = replace(stays[-1], left=each.end, tail=tail)
            stays.append(_Stay(after, each.start, edge))
    return stays


def _wrong_answer(seen: Sequence[Seen], edges: Edges) -> Break | None:
    stays = _stays(seen, edges)
    for position, each in enumerate(seen):
        if each.event is not Event.ASK or each.alive is None:
            continue
        if any(each.alive in ANSWERS[stay.state] for stay in stays if stay.possible(each)):
            continue
        state = next(s.state for s in reversed(stays) if s.entered <= each.end)
        right = str(not each.alive).lower()
        return Break(
            CODES[state],
            f"a random life: {state}, answered {str(each.alive).lower()}",
            f"`alive: {right}` for a call that is {state}",
            f"`alive: {str(each.alive).lower()}`",
            position,
        )
    return None


def telling(seen: Sequence[Seen], edges: Edges) -> Counter[str]:
    """How many answers could have been wrong, by the requirement that they would have broken."""
    stays = _stays(seen, edges)
    counts: Counter[str] = Counter()
    for each in seen:
        if each.event is Event.ASK and each.alive is not None:
            right = frozenset[bool]().union(*(ANSWERS[stay.state] for stay in stays if stay.possible(each)))
            if len(right) == 1:
                counts[CODES[next(s.state for s in reversed(stays) if s.entered <= each.end)]] += 1
    return counts


def _back_from_the_dead(seen: Sequence[Seen], edges: Edges) -> Break | None:
    """After a `false` that stands, no `true`; and nothing is delivered beyond the race window.

    While something is under way, and while a server settles after an end, one answer may follow the other.
    """
    states, entered = walk(seen), 0.0
    dead: Seen | None = None
    for position, each in enumerate(seen):
        state = states[position]
        if position and state is not states[position - 1]:
            entered = seen[position - 1].end
        if each.event is Event.ASK and state is not State.UNKNOWN:
            started = any(s.event is Event.INVOKE and s.end + edges.slack < each.start for s in seen)
            settled = state not in _SETTLING or each.start > entered + edges.grace
            if each.alive and dead is not None and settled:
                return Break(
                    CODES[state],
                    f"a random life: {state}, alive again",
                    "`alive: false` for good once it was said",
                    f"`alive: true` {each.end - dead.end:.1f} s after `alive: false`",
                    position,
                )
            trying = state in {State.PENDING, State.DELIVERING}
            if each.alive is False and started and not (trying and _under_way(seen, each, edges)):
                dead = dead or each
        if dead is not None and each.event in DELIVERIES - {Event.CONFIRMED}:
            window = edges.under_way if state is State.DELIVERING else edges.race
            if each.start > dead.end + window:
                # After a cancellation a result, and one final event, may still be sent; no other event.
                return Break(
                    CODES[state],
                    f"a random life: {state}, a delivery after false",
                    f"nothing more than {window:g} s after `alive: false`",
                    f"{each.event} {each.start - dead.end:.1f} s later",
                    position,
                    advice=state is State.CANCELLED and each.event is not Event.EVENT,
                )
    return None


_SETTLING = frozenset({State.ENDED, State.CANCELLED, State.INTERRUPTED})
"""States in which a server takes its time to be of one mind."""


def _under_way(seen: Sequence[Seen], asked: Seen, edges: Edges) -> bool:
    """Whether a result, refused or not, was or may have been under way while a question was asked."""
    return any(
        other.start - edges.under_way <= asked.end and asked.start <= other.end + edges.under_way
        for other in seen
        if other.event in {Event.REFUSED, Event.RESULT, Event.CONFIRMED}
    )


def _second_result(seen: Sequence[Seen]) -> Break | None:
    results = [i for i, each in enumerate(seen) if each.event in {Event.RESULT, Event.CONFIRMED}]
    asked = [i for i, each in enumerate(seen) if each.event is Event.ASK]
    if len(results) > 1 and any(results[0] < i < results[1] for i in asked):
        return Break(
            "TCS026",
            "a random life: a second result",
            "one result that was acknowledged",
            f"{len(results)} of them",
            results[1],
        )
    return None


def lacking(
    counts: Counter[tuple[State, Event]], least: int, wanted: Collection[tuple[State, Event]]
) -> Iterable[str]:
    """The wanted transitions that were taken less than `least` times, in words."""
    for (state, event), after in TRANSITIONS.items():
        if (state, event) in wanted and counts[state, event] < least:
            yield f"{state} --{event}--> {after}: {counts[state, event]}"
