"""What scenarios about callbacks after a boot have in common."""

from __future__ import annotations

from collections.abc import Callable

from rap_conformance.engine.scenario import Untested
from rap_conformance.network.acts import alive
from rap_conformance.protocol.messages import fresh
from rap_conformance.runtime.habits import SUBSCRIPTIONS
from rap_conformance.runtime.peer import RuntimePeer
from rap_conformance.runtime.state import State, Waiting

NOT_KEPT = "the runtime does not wait any more for what it should have kept (see RTS005 to RTS007)"


def booted(runtime: RuntimePeer, kept: list[Waiting], lost: list[Waiting] | None = None) -> State:
    """Boot, and wait until what is lost is given up. Raises Untested if something is not kept."""
    lost = lost or []
    runtime.boot([*kept, *lost])
    state = runtime.settled([*kept, *lost], lost)
    if not all(state.waits(call) for call in kept):
        raise Untested(NOT_KEPT)
    return state


def brought(call: Waiting, text: str) -> Callable[[State], object]:
    """Whether a text has arrived in the call's thread."""
    return lambda state: any(one.text == text for one in state.outcomes(call))


def text(what: str) -> str:
    """A text that nobody else sends."""
    return f"{what} {fresh('text')}"


class Witness:
    """What shows that callbacks arrive: events of an active subscription; where there are no subscriptions,
    the results of so many pending calls, one each time."""

    def __init__(self, runtime: RuntimePeer, times: int) -> None:
        self._runtime = runtime
        self._subscribed = not runtime.habits.lacks(SUBSCRIPTIONS)
        server = runtime.server()
        self.calls = [
            runtime.call(server, alive(True), subscription=self._subscribed)
            for _ in range(1 if self._subscribed else times)
        ]
        """What a boot has to begin with."""
        self._left = [*self.calls]

    @property
    def subscription(self) -> Waiting | None:
        """The active subscription, where there are any."""
        return self.calls[0] if self._subscribed else None

    def control(self) -> State:
        """The control: a callback that has to arrive, behind what must not. Raises Untested if not."""
        call = self._left[0] if self._subscribed else self._left.pop(0)
        sentinel = text("a regular event" if self._subscribed else "a regular result")
        self._runtime.deliver(call, sentinel)
        state = self._runtime.until(brought(call, sentinel), self._runtime.timing.settle)
        arrived = brought(call, sentinel)(state)
        what = "an event of an active subscription" if self._subscribed else "the result of a pending call"
        self._runtime.controlled(arrived, f"{what} does not arrive either (see RTS018)")
        return state


def everywhere(state: State, wanted: str) -> list[str]:
    """The threads in which a text was injected."""
    return [
        name for name, thread in state.threads.items() if any(wanted in one.text for one in thread.injected)
    ]
