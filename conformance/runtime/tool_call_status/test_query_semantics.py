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
from rap_conformance.runtime.calling_back import Witness, booted, everywhere, text
from rap_conformance.runtime.peer import RuntimePeer, named, outcome
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
        judge_namesakes(runtime)


def judge_namesakes(runtime: RuntimePeer) -> None:
    """Two calls of one id in two threads, of which one is lost; and two subscriptions."""
    kept, lost = [], []
    for kind in runtime.kinds:
        shared = fresh()
        kept.append(runtime.call(runtime.server(), alive(True), id=shared, subscription=kind))
        lost.append(runtime.call(runtime.server(), id=shared, subscription=kind))
    for call in [*kept, *lost]:
        call.alone = False
    runtime.boot([*kept, *lost])
    state = runtime.settled([*kept, *lost], lost)
    asked = [call for call in kept if call.server.queries]
    if not asked:
        raise Untested("the runtime did not ask about the calls (see RTS003)")
    if missed := [call for call in kept if call not in asked]:
        runtime.partial(f"never asked about: {named(missed)} (see RTS003)")
    for call in asked:
        runtime.expect(
            not state.pruned(call),
            "the call is kept: its server says that it is alive",
            "the runtime gave it up, as one of the same id in another thread",
            *[query.exchange for query in call.server.queries[-1:]],
            state.exchange,
            case=f"{call.what} given up with its namesake",
        )


@scenario("RTS012", control=Control("an event of an active subscription, or a result, behind each of these"))
def test_tolerates_late_callbacks(runtime: RuntimePeer) -> None:
    """What comes for given-up, unknown or ended calls is dropped, and nothing comes to harm."""
    lost, witness = runtime.prunable(), Witness(runtime, _CALLBACKS)
    pending, finished = (runtime.call(runtime.server(), alive(True)) for _ in range(2))
    ending = runtime.both(runtime.server(), alive(True))[1:]
    state = booted(runtime, [*witness.calls, *ending, pending, finished], lost)
    given_up = [call for call in lost if state.pruned(call)]
    if not given_up:
        with runtime.part("late callbacks"):
            raise Untested("the runtime gave nothing up (see RTS008 and RTS009)")
    for call in ending:
        runtime.deliver(call, text("the last event"), final=True)
    runtime.deliver(finished, text("the result"))
    witness.control()
    callbacks = [*late(given_up), *strange(pending, finished), *repeated(finished)]
    for call in ending:
        callbacks += unsubscribed(pending, witness.calls[0], call)
    for callback in callbacks:
        with runtime.part(callback[0]):
            judge_dropped(runtime, callback, witness)


_CALLBACKS = 16
"""How many callbacks that match nothing are sent, at most."""


def late(given_up: list[Waiting]) -> list[Callback]:
    """What comes for calls that were given up."""
    return [
        (f"late for {call.what} that was given up", call, outcome(call, text("late"))) for call in given_up
    ]


def strange(pending: Waiting, other: Waiting) -> list[Callback]:
    """Results of what the runtime does not know, at the address of a call that it waits for."""
    nobody = Waiting(fresh("thread"), fresh(), False, pending.server)
    unknown = {"type": RESULT, "group_id": pending.thread, "id": nobody.id, "text": text("unknown")}
    return [
        ("a result of an unknown call", pending, unknown),
        ("a result in an unknown thread", pending, outcome(nobody, text("unknown"))),
        (
            "a result in another thread",
            pending,
            {**outcome(pending, text("astray")), "group_id": other.thread},
        ),
    ]


def repeated(finished: Waiting) -> list[Callback]:
    """A result of a call that has one: no call is pending that it could match."""
    return [("another result of a finished call", finished, outcome(finished, text("another")))]


def unsubscribed(pending: Waiting, active: Waiting, ended: Waiting) -> list[Callback]:
    """Events of what is no active subscription, or not there, or not any more; and a second confirmation."""
    nobody = Waiting(fresh("thread"), fresh(), True, active.server)
    second = {"type": RESULT, "group_id": active.thread, "id": active.id, "text": text("two")}
    event = {"type": EVENT, "group_id": active.thread}
    unknown = {**event, "tool_call_id": nobody.id, "text": text("unknown")}
    astray = {**event, "group_id": pending.thread, "tool_call_id": active.id, "text": text("astray")}
    return [
        ("an event of an unknown call", active, unknown),
        ("an event in another thread", active, astray),
        ("an event after the final one", ended, outcome(ended, text("after the end"))),
        ("a second result", active, second),
    ]


def judge_dropped(runtime: RuntimePeer, callback: Callback, witness: Witness) -> None:
    """One callback that matches nothing, a proper one behind it, and the conversation."""
    title, call, message = callback
    exchange = runtime.call_back(call, message)
    if not runtime.survived(exchange, title):
        return
    state = witness.control()
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
