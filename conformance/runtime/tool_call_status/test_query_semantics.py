"""What still arrives after a boot: for what was given up, and for what was kept.

Specification: "Tool Call Status Check", section "Query Semantics"; "Tool Result", sections "Routing" and
"Response"; "Subscription Events"; "Protocol Lifecycle", section "Runtime Security".
"""

from __future__ import annotations

from typing import Any

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.scenario import Violation, scenario
from rap_conformance.network.acts import alive, answer
from rap_conformance.protocol.messages import fresh
from rap_conformance.runtime.calling_back import booted, brought, control, everywhere, text
from rap_conformance.runtime.peer import RuntimePeer, outcome
from rap_conformance.runtime.state import EVENT, RESULT, Waiting


@scenario("RTS012", control=Positive("the runtime has to ask before anything is judged"))
def test_tolerates_late_callbacks(runtime: RuntimePeer) -> None:
    """What comes for given-up, unknown or ended calls is dropped, and nothing comes to harm."""
    lost, active = runtime.prunable(), runtime.call(runtime.server(), alive(True), subscription=True)
    ending = runtime.call(runtime.server(), alive(True), subscription=True)
    pending = runtime.call(runtime.server(), alive(True))
    state = booted(runtime, [active, ending, pending], lost)
    given_up = [call for call in lost if state.pruned(call)]
    if not given_up:
        runtime.record.missing.append("late callbacks: the runtime gave nothing up (see RTS008 and RTS009)")
    runtime.deliver(ending, text("the last event"), final=True)
    nobody = Waiting(fresh("thread"), fresh(), False, pending.server)
    strangers: list[tuple[str, Waiting, dict[str, Any]]] = []
    for call in given_up:
        late = outcome(call, text("late"))
        strangers.append((f"late for {call.what} that was given up", call, late))
    result = {"type": RESULT, "group_id": pending.thread, "id": pending.id}
    event = {"type": EVENT, "group_id": active.thread, "tool_call_id": active.id}
    strangers += [
        ("a result of an unknown call", pending, {**result, "id": nobody.id, "text": text("unknown")}),
        ("a result in an unknown thread", pending, outcome(nobody, text("unknown"))),
        (
            "a result in another thread",
            pending,
            {**result, "group_id": active.thread, "text": text("astray")},
        ),
        (
            "an event of an unknown call",
            active,
            {**event, "tool_call_id": nobody.id, "text": text("unknown")},
        ),
        ("an event in another thread", active, {**event, "group_id": pending.thread, "text": text("astray")}),
        ("an event after the final one", ending, outcome(ending, text("after the end"))),
        (
            "a second result",
            active,
            {**result, "group_id": active.thread, "id": active.id, "text": text("two")},
        ),
    ]
    control(runtime, active)
    for title, call, message in strangers:
        with runtime.part(title):
            judge_dropped(runtime, title, call, message, active)


def judge_dropped(
    runtime: RuntimePeer, title: str, call: Waiting, message: dict[str, Any], active: Waiting
) -> None:
    """One callback that matches nothing, a proper one behind it, and the conversation."""
    exchange = runtime.call_back(call, message)
    runtime.survived(exchange, title)
    state = control(runtime, active)
    if threads := everywhere(state, message["text"]):
        raise Violation(
            "the message is discarded",
            f"it was injected into {'its' if threads == [call.thread] else 'a'} conversation",
            exchange,
            case=f"{title}: injected",
        )
    said = runtime.say_beside(call.thread)
    if not runtime.servers.until(said.done, runtime.timing.settle):
        raise Violation(
            "the conversation goes on",
            f"a message in it was not taken up within {runtime.timing.settle:g} s after this callback",
            exchange,
            case=f"{title}: the conversation is stuck",
            absence=True,
        )
    said.result()


@scenario("RTS018", control=Positive("the runtime has to ask before anything is judged"))
def test_kept_calls_go_on(runtime: RuntimePeer) -> None:
    """What was kept, alive or unknown, still takes its result or its events."""
    for title, act in (("alive", alive(True)), ("unknown", answer(503))):
        for subscription in (False, True):
            with runtime.part(f"{'a subscription' if subscription else 'a pending call'}, {title}"):
                judge_goes_on(runtime, runtime.call(runtime.server(), act, subscription=subscription), title)


def judge_goes_on(runtime: RuntimePeer, call: Waiting, title: str) -> None:
    """One kept call: its outcome arrives once, as what it is."""
    booted(runtime, [call])
    news = text("news")
    exchange = runtime.deliver(call, news)
    state = runtime.until(
        lambda now: brought(call, news)(now) and (call.subscription or not now.waits(call)),
        runtime.timing.settle,
    )
    case = f"{call.what} whose check was answered {title}"
    found = [one for one in state.outcomes(call) if one.text == news]
    if not found:
        raise Violation(
            "what its server delivers reaches the conversation",
            f"it did not within {runtime.timing.settle:g} s",
            exchange,
            *runtime.evidence(call, state),
            case=f"{case}: cut off",
            absence=True,
        )
    if found[0].kind != (EVENT if call.subscription else RESULT):
        raise Violation(
            "an event or a result, as it came", f"a {found[0].kind}", exchange, case=f"{case}: changed"
        )
    if state.waits(call) is not call.subscription:
        expected = "the subscription stays" if call.subscription else "the call is over"
        raise Violation(expected, "the opposite", exchange, case=f"{case}: tracking is wrong", absence=True)
