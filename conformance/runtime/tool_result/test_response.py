"""How a runtime answers callbacks that it waited for.

Specification: "Tool Result", section "Response".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.scenario import scenario
from rap_conformance.network.acts import alive
from rap_conformance.runtime.calling_back import booted, text
from rap_conformance.runtime.peer import RuntimePeer


@scenario("RTS022", control=Positive("status 200 has to come"))
def test_callbacks_acknowledged(runtime: RuntimePeer) -> None:
    """200 for a result, an event and a final event that were waited for."""
    call = runtime.call(runtime.server(), alive(True))
    one = runtime.call(runtime.server(), alive(True), subscription=True)
    booted(runtime, [call, one])
    for what, waiting, more in (
        ("a result", call, {}),
        ("an event", one, {}),
        ("a final event", one, {"final": True}),
    ):
        exchange = runtime.deliver(waiting, text(what), **more)
        runtime.expect(
            exchange.status == 200,
            "status 200",
            f"status {exchange.status}" if exchange.status is not None else f"{exchange.failure}",
            exchange,
            case=f"{what} is not acknowledged",
        )
        runtime.state()  # an acknowledgement may be the last thing that a runtime says
