"""What the member `final` of an event ends.

Specification: "Subscription Events", section "Notification Message", heading "Fields".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.scenario import Untested, scenario
from rap_conformance.network.acts import alive
from rap_conformance.runtime.calling_back import booted, brought, text
from rap_conformance.runtime.peer import RuntimePeer


@scenario("RTS017", control=Positive("the subscription has to leave what is tracked"))
def test_final_event_untracks(runtime: RuntimePeer) -> None:
    """A final event that arrives after the boot ends the subscription's tracking."""
    one, other = (runtime.call(runtime.server(), alive(True), subscription=True) for _ in range(2))
    booted(runtime, [one, other])
    last = text("the last event")
    exchange = runtime.deliver(one, last, final=True)
    state = runtime.until(lambda now: not now.waits(one), runtime.timing.settle)
    if state.waits(one) and not brought(one, last)(state):
        raise Untested("the final event did not arrive (see RTS018)")
    if runtime.expect(
        not state.waits(one),
        "the subscription is no longer tracked",
        f"it is, {runtime.timing.settle:g} s after its final event",
        exchange,
        case="tracked after its final event",
        absence=True,
    ):
        runtime.expect(
            state.waits(other),
            "only the subscription that ended leaves",
            "another one left",
            exchange,
            case="another one untracked",
        )
