"""What comes to a callback URL and is no callback.

Specification: "Protocol Lifecycle", section "Security Considerations", heading "Runtime Security".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Violation, scenario
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


@scenario("RTS021", control=Control("a proper result, behind all that are none"))
def test_callbacks_validated(runtime: RuntimePeer) -> None:
    """What does not have a callback's form changes nothing; the proper one behind it does."""
    spoilt = {title: runtime.call(runtime.server(), alive(True)) for title, _ in MALFORMED}
    proper = runtime.call(runtime.server(), alive(True))
    booted(runtime, [*spoilt.values(), proper])
    sent: dict[str, tuple[str, Exchange]] = {}
    wrong = set[str]()
    for title, spoil in MALFORMED:
        wanted = text("malformed")
        exchange = runtime.call_back(spoilt[title], spoil(outcome(spoilt[title], wanted)))
        sent[title] = wanted, exchange
        if not runtime.survived(exchange, title):
            wrong.add(title)
    result = text("a result")
    runtime.deliver(proper, result)
    state = runtime.until(brought(proper, result), runtime.timing.settle)
    taken = [t for t, (wanted, _) in sent.items() if everywhere(state, wanted) or not state.waits(spoilt[t])]
    for title in taken:
        runtime.report(
            Violation(
                "nothing is injected, and the call stays pending",
                "it was taken for the call's result",
                sent[title][1],
                case=f"{title}: taken",
            )
        )
    arrived = brought(proper, result)(state)
    runtime.controlled(arrived, "a proper result does not arrive either (see RTS018)")
    runtime.judged(len(sent) - len(wrong.union(taken)))
