"""How a runtime answers callbacks that it waited for.

Specification: "Tool Result", section "Response".
"""

from __future__ import annotations

from typing import Any

from rap_conformance.engine.controls import Control, Positive
from rap_conformance.engine.scenario import Untested, scenario
from rap_conformance.network.acts import alive
from rap_conformance.runtime.calling_back import booted, brought, text
from rap_conformance.runtime.habits import KILL
from rap_conformance.runtime.peer import RuntimePeer
from rap_conformance.runtime.state import Waiting


@scenario("RTS022", control=Positive("status 200 has to come"))
def test_callbacks_acknowledged(runtime: RuntimePeer) -> None:
    """200 for a result, an event and a final event that were waited for."""
    waiting = runtime.both(runtime.server(), alive(True))
    booted(runtime, waiting)
    deliveries: list[tuple[str, Waiting, dict[str, Any]]] = [("a result", waiting[0], {})]
    for one in waiting[1:]:
        deliveries += [("an event", one, {}), ("a final event", one, {"final": True})]
    for what, call, more in deliveries:
        exchange = runtime.deliver(call, text(what), **more)
        runtime.expect(
            exchange.status == 200,
            "status 200",
            f"status {exchange.status}" if exchange.status is not None else f"{exchange.failure}",
            exchange,
            case=f"{what} is not acknowledged",
        )
        runtime.state()  # an acknowledgement may be the last thing that a runtime says


@scenario("RTS025", control=Control("what the runtime waits for is there after a kill"))
def test_acknowledged_results_survive(runtime: RuntimePeer) -> None:
    """What was answered with 200 is in the conversation, though the runtime is killed right after that."""
    runtime.habits.demand([KILL])
    server = runtime.server()
    calls, others = runtime.both(server, alive(True)), runtime.both(server, alive(True))
    booted(runtime, [*calls, *others])
    news = [text("an event" if call.subscription else "a result") for call in calls]
    exchanges = [runtime.deliver(call, said) for call, said in zip(calls, news, strict=True)]
    runtime.boot_again([server], kill=True)
    arrived = [brought(call, said) for call, said in zip(calls, news, strict=True)]
    state = runtime.until(lambda now: all(there(now) for there in arrived), runtime.timing.settle)
    runtime.controlled(
        all(state.waits(one) for one in others), "nothing that the runtime waited for survived the kill"
    )
    for call, exchange, there in zip(calls, exchanges, arrived, strict=True):
        what = "an event" if call.subscription else "a result"
        with runtime.part(what):
            if exchange.status is None or not 200 <= exchange.status < 300:
                raise Untested("the callback was not acknowledged (see RTS022)")
            runtime.expect(
                there(state),
                "what was acknowledged before the kill is in the conversation after it",
                "it is not" if state.waits(call) else "it is not, and the call is not waited for any more",
                exchange,
                *runtime.evidence(call, state)[-1:],
                case=f"{what} that was acknowledged before a kill",
            )
