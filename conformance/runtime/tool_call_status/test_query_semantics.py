"""What is alive is kept; what still comes for calls that were given up does no harm.

Specification: "Tool Call Status Check", section "Query Semantics".
"""

from __future__ import annotations

from typing import Any

from rap_conformance.engine.controls import Control, Positive
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.network.acts import alive
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.reading import Liveness
from rap_conformance.runtime.calling_back import booted, control, everywhere, text
from rap_conformance.runtime.peer import RuntimePeer, outcome
from rap_conformance.runtime.readings import judge_kept, readings
from rap_conformance.runtime.state import EVENT, RESULT, Waiting

Callback = tuple[str, Waiting, dict[str, Any]]
"""A name that stays, the call at whose address it arrives, and the message."""


@scenario("RTS007", control=Positive("only calls whose server was asked are judged"))
def test_keeps_alive_calls(runtime: RuntimePeer) -> None:
    """What its server calls alive is kept, however that is written, and whatever others share its id."""
    found = readings(runtime).where(status=2, failed=False)
    judge_kept(runtime, [one for one in found if one.vector.liveness is Liveness.ALIVE], "`alive: true`")
    with runtime.part("a lost call of the same id in another thread"):
        for subscription in (False, True):
            judge_namesakes(runtime, subscription)


def judge_namesakes(runtime: RuntimePeer, subscription: bool) -> None:
    """Two calls of one id in two threads, of which one is lost."""
    shared, lost = fresh(), runtime.server()
    one = runtime.call(
        runtime.server(), alive(True), thread=fresh("thread"), id=shared, subscription=subscription
    )
    two = runtime.call(lost, thread=fresh("thread"), id=shared, subscription=subscription)
    runtime.boot([one, two])
    state = runtime.settled([one, two], [two])
    if not one.server.queries:
        raise Untested("the runtime did not ask about the call (see RTS003)")
    runtime.expect(
        not state.pruned(one),
        "the call is kept: its server says that it is alive",
        "the runtime gave it up, as one of the same id in another thread",
        *[query.exchange for query in one.server.queries[-1:]],
        state.exchange,
        case=f"{one.what} given up with its namesake",
    )


@scenario("RTS012", control=Control("an event of an active subscription, behind each of these callbacks"))
def test_tolerates_late_callbacks(runtime: RuntimePeer) -> None:
    """What comes for given-up, unknown or ended calls is dropped, and nothing comes to harm."""
    lost, active = runtime.prunable(), runtime.call(runtime.server(), alive(True), subscription=True)
    ending = runtime.call(runtime.server(), alive(True), subscription=True)
    pending = runtime.call(runtime.server(), alive(True))
    state = booted(runtime, [active, ending, pending], lost)
    given_up = [call for call in lost if state.pruned(call)]
    if not given_up:
        with runtime.part("late callbacks"):
            raise Untested("the runtime gave nothing up (see RTS008 and RTS009)")
    runtime.deliver(ending, text("the last event"), final=True)
    control(runtime, active)
    for callback in (*late(given_up), *strange(pending, active, ending)):
        with runtime.part(callback[0]):
            judge_dropped(runtime, callback, active)


def late(given_up: list[Waiting]) -> list[Callback]:
    """What comes for calls that were given up."""
    return [
        (f"late for {call.what} that was given up", call, outcome(call, text("late"))) for call in given_up
    ]


def strange(pending: Waiting, active: Waiting, ending: Waiting) -> list[Callback]:
    """What comes for calls that the runtime does not know, or not there, or not any more."""
    nobody = Waiting(fresh("thread"), fresh(), False, pending.server)
    result = {"type": RESULT, "group_id": pending.thread, "id": pending.id}
    event = {"type": EVENT, "group_id": active.thread, "tool_call_id": active.id}
    return [
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


def judge_dropped(runtime: RuntimePeer, callback: Callback, active: Waiting) -> None:
    """One callback that matches nothing, a proper one behind it, and the conversation."""
    title, call, message = callback
    exchange = runtime.call_back(call, message)
    if not runtime.survived(exchange, title):
        return
    state = control(runtime, active)
    if threads := everywhere(state, message["text"]):
        raise Violation(
            "the message is discarded",
            f"it was injected into {'its' if threads == [call.thread] else 'a'} conversation",
            exchange,
            case=f"{title}: injected",
        )
    said = runtime.say_beside(call.thread)
    if runtime.expect(
        runtime.servers.until(said.done, runtime.timing.settle),
        "the conversation goes on",
        f"a message in it was not taken up within {runtime.timing.settle:g} s after this callback",
        exchange,
        case=f"{title}: the conversation is stuck",
        absence=True,
    ):
        said.result()
