"""What a result that comes more than once does.

Specification: "Tool Result", section "Security Considerations".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Control
from rap_conformance.engine.scenario import Untested, scenario
from rap_conformance.network.acts import alive
from rap_conformance.runtime.calling_back import Witness, booted, brought, text
from rap_conformance.runtime.peer import RuntimePeer


@scenario(
    "RTS019", control=Control("an event of an active subscription (or a result), behind the repeated one")
)
def test_duplicates_once(runtime: RuntimePeer) -> None:
    """A result that is delivered again, as after a lost acknowledgement, is injected once."""
    call = runtime.call(runtime.server(), alive(True))
    witness = Witness(runtime, 1)
    booted(runtime, [call, *witness.calls])
    result = text("a result")
    first = runtime.deliver(call, result)
    if not brought(call, result)(runtime.until(brought(call, result), runtime.timing.settle)):
        raise Untested("a result of a kept call did not arrive (see RTS018)")
    repeated = [runtime.deliver(call, result) for _ in range(2)]
    state = witness.control()
    runtime.expect(
        len(state.outcomes(call)) == 1,
        "one result in the conversation",
        f"{len(state.outcomes(call))}",
        *repeated,
        first,
        case="a result that was delivered three times",
    )
