"""A call's states as a table: where each event leads, and what may be said in each state. No I/O.

Serves "Tool Call Status Check", section "Query Semantics", with "Tool Cancellation",
"Thread Closure" and "Subscription Events". docs/architecture.md shows the table, made from it.
"""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Where a call is, as far as a runtime can know."""

    UNKNOWN = "unknown"
    PENDING = "pending"
    DELIVERING = "delivering"
    SUBSCRIBED = "subscribed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    ENDED = "ended"


class Event(StrEnum):
    """What is done to a call, or comes of it."""

    ASK = "ask"
    INVOKE = "invoke"
    REFUSED = "a delivery is refused"
    RESULT = "the result is delivered"
    CONFIRMED = "the subscription is confirmed"
    EVENT = "an event"
    FINAL = "the final event"
    CANCEL = "cancel"
    CLOSE = "close the thread"
    RESTART = "kill and restart"


TRANSITIONS: dict[tuple[State, Event], State] = {
    (State.UNKNOWN, Event.ASK): State.UNKNOWN,
    (State.UNKNOWN, Event.INVOKE): State.PENDING,
    (State.PENDING, Event.ASK): State.PENDING,
    (State.PENDING, Event.REFUSED): State.DELIVERING,
    (State.PENDING, Event.RESULT): State.ENDED,
    (State.PENDING, Event.CONFIRMED): State.SUBSCRIBED,
    (State.PENDING, Event.CANCEL): State.CANCELLED,
    (State.PENDING, Event.CLOSE): State.CANCELLED,
    (State.PENDING, Event.RESTART): State.INTERRUPTED,
    (State.DELIVERING, Event.ASK): State.DELIVERING,
    (State.DELIVERING, Event.REFUSED): State.DELIVERING,
    (State.DELIVERING, Event.RESULT): State.ENDED,
    (State.SUBSCRIBED, Event.ASK): State.SUBSCRIBED,
    (State.SUBSCRIBED, Event.EVENT): State.SUBSCRIBED,
    (State.SUBSCRIBED, Event.FINAL): State.ENDED,
    (State.SUBSCRIBED, Event.CANCEL): State.CANCELLED,
    (State.SUBSCRIBED, Event.CLOSE): State.CANCELLED,
    (State.SUBSCRIBED, Event.RESTART): State.INTERRUPTED,
    (State.CANCELLED, Event.ASK): State.CANCELLED,
    (State.ENDED, Event.ASK): State.ENDED,
    (State.ENDED, Event.CANCEL): State.ENDED,
    (State.INTERRUPTED, Event.ASK): State.INTERRUPTED,
}
"""Where each event leads. What is not here leaves the state as it is."""

ANSWERS: dict[State, frozenset[bool]] = {
    State.UNKNOWN: frozenset({False}),
    State.PENDING: frozenset({True}),
    State.DELIVERING: frozenset({True, False}),
    State.SUBSCRIBED: frozenset({True}),
    State.CANCELLED: frozenset({True, False}),
    State.INTERRUPTED: frozenset({True, False}),
    State.ENDED: frozenset({False}),
}
"""What a status check may say in each state, edges aside (timing.arrival_slack, timing.grace)."""

REASONS: dict[State, str] = {
    State.DELIVERING: "the server may give up; if it goes on, `false` was a lie",
    State.CANCELLED: "a cancellation may be ignored, but truthfully",
    State.INTERRUPTED: "lost or kept, but then truthfully",
}
"""Why both answers are right, where they are."""

CODES: dict[State, str] = {
    State.UNKNOWN: "TCS004",
    State.PENDING: "TCS005",
    State.DELIVERING: "TCS025",
    State.SUBSCRIBED: "TCS007",
    State.CANCELLED: "TCS025",
    State.INTERRUPTED: "TCS016",
    State.ENDED: "TCS006",
}
"""The requirement that a wrong answer in a state breaks."""

RESTARTS = frozenset(
    {(State.PENDING, Event.RESTART), (State.SUBSCRIBED, Event.RESTART), (State.INTERRUPTED, Event.ASK)}
)
"""Transitions that need a server which the suite may restart."""
