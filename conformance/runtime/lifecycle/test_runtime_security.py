"""What still arrives after a boot: for what was given up, and for what was kept.

Specification: "Tool Call Status Check", section "Query Semantics"; "Tool Result", sections "Routing" and
"Response"; "Subscription Events"; "Protocol Lifecycle", section "Runtime Security".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.network.acts import alive
from rap_conformance.runtime.calling_back import booted, brought, everywhere, text
from rap_conformance.runtime.peer import RuntimePeer, outcome

MALFORMED: tuple[tuple[str, Callable[[dict[str, Any]], Any]], ...] = (
    ("no JSON", lambda _: b"\xff not json"),
    ("nothing", lambda _: b""),
    ("a list around it", lambda message: [message]),
    ("no type", lambda message: {k: v for k, v in message.items() if k != "type"}),
    ("an unknown type", lambda message: {**message, "type": "tool_results"}),
    ("no text", lambda message: {k: v for k, v in message.items() if k != "text"}),
    ("a text that is an object", lambda message: {**message, "text": {"value": message["text"]}}),
    ("no id", lambda message: {k: v for k, v in message.items() if k != "id"}),
    ("an id that is a list", lambda message: {**message, "id": [message["id"]]}),
    ("no group_id", lambda message: {k: v for k, v in message.items() if k != "group_id"}),
)
"""Ways in which a result is none, each by a name that stays."""


@scenario("RTS021", control=Positive("the runtime has to ask before anything is judged"))
def test_callbacks_validated(runtime: RuntimePeer) -> None:
    """What does not have a callback's form changes nothing; the proper one behind it does."""
    spoilt = {title: runtime.call(runtime.server(), alive(True)) for title, _ in MALFORMED}
    proper = runtime.call(runtime.server(), alive(True))
    booted(runtime, [*spoilt.values(), proper])
    sent: dict[str, tuple[str, Exchange]] = {}
    for title, spoil in MALFORMED:
        with runtime.part(title):
            wanted = text("malformed")
            exchange = runtime.call_back(spoilt[title], spoil(outcome(spoilt[title], wanted)))
            sent[title] = wanted, exchange
            runtime.survived(exchange, title)
    result = text("a result")
    runtime.deliver(proper, result)
    state = runtime.until(brought(proper, result), runtime.timing.settle)
    for title, (wanted, exchange) in sent.items():
        if everywhere(state, wanted) or not state.waits(spoilt[title]):
            runtime.report(taken(title, exchange))
    if not brought(proper, result)(state):
        raise Untested("a proper result did not arrive either (see RTS018)")


def taken(title: str, exchange: Exchange) -> Violation:
    """A malformed callback that was believed."""
    return Violation(
        "nothing is injected, and the call stays pending",
        "it was taken for the call's result",
        exchange,
        case=f"{title}: taken",
    )
