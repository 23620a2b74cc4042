"""What still arrives after a boot: for what was given up, and for what was kept.

Specification: "Tool Call Status Check", section "Query Semantics"; "Tool Result", sections "Routing" and
"Response"; "Subscription Events"; "Protocol Lifecycle", section "Runtime Security".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.network.acts import alive
from rap_conformance.runtime.calling_back import booted, brought, control, text
from rap_conformance.runtime.peer import RuntimePeer


@scenario("RTS019", control=Positive("the runtime has to ask before anything is judged"))
def test_duplicates_once(runtime: RuntimePeer) -> None:
    """A result that is delivered again, as after a lost acknowledgement, is injected once."""
    call = runtime.call(runtime.server(), alive(True))
    active = runtime.call(runtime.server(), alive(True), subscription=True)
    booted(runtime, [call, active])
    result = text("a result")
    exchanges: list[Exchange] = [runtime.deliver(call, result)]
    if not brought(call, result)(runtime.until(brought(call, result), runtime.timing.settle)):
        raise Untested("a result of a kept call did not arrive (see RTS018)")
    exchanges += [runtime.deliver(call, result) for _ in range(2)]
    state = control(runtime, active)
    if len(state.outcomes(call)) > 1:
        raise Violation(
            "one result in the conversation",
            f"{len(state.outcomes(call))}",
            *exchanges,
            case="a result that was delivered three times",
        )


@scenario("RTS022", control=Positive("the runtime has to ask before anything is judged"))
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
        if exchange.status != 200:
            got = f"status {exchange.status}" if exchange.status is not None else f"{exchange.failure}"
            runtime.report(Violation("status 200", got, exchange, case=f"{what} is not acknowledged"))
