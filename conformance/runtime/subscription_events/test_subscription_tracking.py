"""What still arrives after a boot: for what was given up, and for what was kept.

Specification: "Tool Call Status Check", section "Query Semantics"; "Tool Result", sections "Routing" and
"Response"; "Subscription Events"; "Protocol Lifecycle", section "Runtime Security".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.network.acts import alive
from rap_conformance.runtime.calling_back import booted, brought, text
from rap_conformance.runtime.peer import RuntimePeer
from rap_conformance.runtime.state import Waiting


@scenario("RTS017", control=Positive("the runtime has to ask before anything is judged"))
def test_final_event_untracks(runtime: RuntimePeer) -> None:
    """A final event that arrives after the boot ends the subscription's tracking."""
    one, other = (runtime.call(runtime.server(), alive(True), subscription=True) for _ in range(2))
    booted(runtime, [one, other])
    last = text("the last event")
    exchange = runtime.deliver(one, last, final=True)
    state = runtime.until(lambda now: not now.waits(one), runtime.timing.settle)
    if state.waits(one):
        if not brought(one, last)(state):
            raise Untested("the final event did not arrive (see RTS018)")
        raise Violation(
            "the subscription is no longer tracked",
            f"it is, {runtime.timing.settle:g} s after its final event",
            exchange,
            case="tracked after its final event",
            absence=True,
        )
    if not state.waits(other):
        raise Violation(
            "only the subscription that ended leaves",
            "another one left",
            exchange,
            case="another one untracked",
        )


@scenario("RTS020", control=Positive("the runtime has to ask before anything is judged"))
def test_records_subscriptions(runtime: RuntimePeer) -> None:
    """A kept call whose result opens a subscription is tracked as one, and takes events."""
    call = runtime.call(runtime.server(), alive(True))
    booted(runtime, [call])
    confirmation = text("subscribed")
    exchange = runtime.deliver(call, confirmation, subscription=True)
    there = Waiting(call.thread, call.id, True, call.server)
    state = runtime.until(lambda now: now.waits(there), runtime.timing.settle)
    if not state.waits(there):
        if not brought(call, confirmation)(state):
            raise Untested("a result of a kept call did not arrive (see RTS018)")
        raise Violation(
            "the call is among the thread's active subscriptions",
            f"it is not, {runtime.timing.settle:g} s after the result that opened it",
            exchange,
            case="a subscription that begins after the boot",
            absence=True,
        )
