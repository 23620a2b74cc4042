"""A call's states as a table, drawn from `protocol.lifecycle`."""

from __future__ import annotations

from rap_conformance.protocol.lifecycle import ANSWERS, CODES, REASONS, TRANSITIONS, Event, State


def states() -> str:
    """The table as Markdown: how a call comes to each state, and what may be said of it there."""
    lines = [
        "| state | how a call gets there | a status check may say | a wrong answer breaks |",
        "|---|---|---|---|",
    ]
    lines += [f"| {state} | {_ways_in(state)} | {_answers(state)} | {CODES[state]} |" for state in State]
    return "\n".join(lines)


def _ways_in(state: State) -> str:
    ways: dict[Event, list[State]] = {}
    for (before, event), after in TRANSITIONS.items():
        if after is state and before is not state:
            ways.setdefault(event, []).append(before)
    named = [f"{event}, from {' or '.join(before)}" for event, before in ways.items()]
    return "; ".join(named) or "it was never invoked"


def _answers(state: State) -> str:
    said = " or ".join(f"`{str(answer).lower()}`" for answer in sorted(ANSWERS[state], reverse=True))
    return f"{said}: {REASONS[state]}" if state in REASONS else said
