"""By which names a runtime asks.

Specification: "Tool Call Status Check", section "Request", heading "Fields".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.scenario import scenario
from rap_conformance.network.acts import alive
from rap_conformance.network.toolserver import ToolServer
from rap_conformance.protocol.messages import fresh
from rap_conformance.runtime.peer import RuntimePeer
from rap_conformance.runtime.state import Waiting

ODD_IDS = (
    "007",
    "1e3",
    "null",
    "Call_A",
    "call_a",
    "a/b?c=d&e#f",
    ' "quoted" \\ ',
    "\u00e4\u6f22\U0001f680",
    "x" * 300,
)
"""Ids as models and frameworks make them up; each has to come back as it is."""


@scenario("RTS002", control=Positive("a call has to be asked about before its names can be right"))
def test_identifies(runtime: RuntimePeer) -> None:
    """Both ids of the original invocation, as they were; a subscription by the call that established it."""
    with runtime.part("plain ids"):
        judge_names(runtime, runtime.both(runtime.server(), alive(True)))
    with runtime.part("odd ids of calls"):
        server = runtime.server()
        judge_names(runtime, [runtime.call(server, alive(True), id=odd) for odd in ODD_IDS])
    with runtime.part("odd ids of threads"):
        server = runtime.server()
        calls = [runtime.call(server, alive(True), thread=f"{odd} ") for odd in ODD_IDS]
        for call in calls:
            call.alone = True
        judge_names(runtime, calls)
    with runtime.part("one id in two threads"):
        server, shared = runtime.server(), fresh()
        calls = [runtime.call(server, alive(True), thread=fresh("thread"), id=shared) for _ in range(2)]
        judge_names(runtime, calls)


def judge_names(runtime: RuntimePeer, calls: list[Waiting]) -> None:
    """Each call has a query of its own that names it right."""
    answers = runtime.asked(calls)
    server = calls[0].server
    runtime.servers.until(lambda: all(names(server, call) for call in calls), runtime.timing.settle)
    for call, queries in answers:
        if queries and not runtime.expect(
            names(server, call),
            f"thread_id {call.thread[:60]!a} and tool_call_id {call.id[:60]!a}, as texts",
            f"the body {queries[0].request.body[:160].decode('utf-8', 'replace')!a}",
            queries[0].exchange,
            case=f"{call.what} is named otherwise",
        ):
            return


def names(server: ToolServer, call: Waiting) -> bool:
    """Whether some query names the call as it should."""
    messages = [query.message for query in server.about.get(call.id, ()) if isinstance(query.message, dict)]
    return any((m.get("thread_id"), m.get("tool_call_id")) == (call.thread, call.id) for m in messages)
