"""What a runtime tracks.

Specification: "Subscription Events", section "Cancellation", heading "Subscription tracking".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.scenario import Untested, scenario
from rap_conformance.network.acts import alive
from rap_conformance.runtime.calling_back import booted, brought, text
from rap_conformance.runtime.habits import SUBSCRIPTIONS
from rap_conformance.runtime.peer import RuntimePeer
from rap_conformance.runtime.state import Waiting


@scenario("RTS020", control=Positive("the subscription has to be tracked"))
def test_records_subscriptions(runtime: RuntimePeer) -> None:
    """A kept call whose result opens a subscription is tracked as one, and takes events."""
    runtime.habits.demand([SUBSCRIPTIONS])
    call = runtime.call(runtime.server(), alive(True))
    booted(runtime, [call])
    confirmation = text("subscribed")
    exchange = runtime.deliver(call, confirmation, subscription=True)
    there = Waiting(call.thread, call.id, True, call.server)
    state = runtime.until(lambda now: now.waits(there), runtime.timing.settle)
    if not state.waits(there) and not brought(call, confirmation)(state):
        raise Untested("a result of a kept call did not arrive (see RTS018)")
    runtime.expect(
        state.waits(there),
        "the call is among the thread's active subscriptions",
        f"it is not, {runtime.timing.settle:g} s after the result that opened it",
        exchange,
        case="a subscription that begins after the boot",
        absence=True,
    )
