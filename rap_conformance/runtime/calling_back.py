"""What scenarios about callbacks after a boot have in common."""

from __future__ import annotations

from collections.abc import Callable

from rap_conformance.engine.scenario import Untested
from rap_conformance.protocol.messages import fresh
from rap_conformance.runtime.peer import RuntimePeer
from rap_conformance.runtime.state import State, Waiting


def booted(runtime: RuntimePeer, kept: list[Waiting], lost: list[Waiting] | None = None) -> State:
    """Boot, and wait until what is lost is given up. Raises Untested if something is not kept."""
    lost = lost or []
    runtime.boot([*kept, *lost])
    state = runtime.settled([*kept, *lost], lost)
    if not all(state.waits(call) for call in kept):
        raise Untested(
            "the runtime does not wait any more for what it should have kept (see RTS005 to RTS007)"
        )
    return state


def brought(call: Waiting, text: str) -> Callable[[State], object]:
    """Whether a text has arrived in the call's thread."""
    return lambda state: any(one.text == text for one in state.outcomes(call))


def text(what: str) -> str:
    """A text that nobody else sends."""
    return f"{what} {fresh('text')}"


def control(runtime: RuntimePeer, subscription: Waiting) -> State:
    """The control: an event that has to arrive, behind what must not. Raises Untested if it does not."""
    sentinel = text("a regular event")
    runtime.deliver(subscription, sentinel)
    state = runtime.until(brought(subscription, sentinel), runtime.timing.settle)
    arrived = brought(subscription, sentinel)(state)
    runtime.controlled(arrived, "an event of an active subscription does not arrive either (see RTS018)")
    return state


def everywhere(state: State, wanted: str) -> list[str]:
    """The threads in which a text was injected."""
    return [
        name for name, thread in state.threads.items() if any(wanted in one.text for one in thread.injected)
    ]
