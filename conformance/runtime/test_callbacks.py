"""What still arrives after a boot: for what was given up, and for what was kept.

Specification: "Tool Call Status Check", section "Query Semantics"; "Tool Result", sections "Routing" and
"Response"; "Subscription Events"; "Protocol Lifecycle", section "Runtime Security".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rap_conformance.evidence import Exchange
from rap_conformance.peers.acts import alive, answer
from rap_conformance.runtime.peer import RuntimePeer, fresh, outcome
from rap_conformance.runtime.state import EVENT, RESULT, State, Waiting
from rap_conformance.scenario import Untested, Violation, scenario


def booted(runtime: RuntimePeer, kept: list[Waiting], lost: list[Waiting] | None = None) -> State:
    """Boot, and wait until what is lost is given up. Raises Untested if something is not kept."""
    lost = lost or []
    runtime.boot([*kept, *lost])
    state = runtime.settled([*kept, *lost], lost)
    if not all(state.waits(call) for call in kept):
        raise Untested(
            "the runtime does not wait any more for what it should have kept (see RTS005 to RTS007)"
        )
    return state


def brought(call: Waiting, text: str) -> Callable[[State], object]:
    """Whether a text has arrived in the call's thread."""
    return lambda state: any(one.text == text for one in state.outcomes(call))


def text(what: str) -> str:
    """A text that nobody else sends."""
    return f"{what} {fresh('text')}"


def control(runtime: RuntimePeer, subscription: Waiting) -> State:
    """An event that has to arrive, behind what must not. Raises Untested if it does not arrive."""
    sentinel = text("a regular event")
    runtime.deliver(subscription, sentinel)
    state = runtime.until(brought(subscription, sentinel), runtime.timing.deadline)
    if not brought(subscription, sentinel)(state):
        raise Untested("an event of an active subscription did not arrive either (see RTS018)")
    return state


def everywhere(state: State, wanted: str) -> list[str]:
    """The threads in which a text was injected."""
    return [
        name for name, thread in state.threads.items() if any(wanted in one.text for one in thread.injected)
    ]


@scenario("RTS012")
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
    if not runtime.servers.until(said.done, runtime.timing.deadline):
        raise Violation(
            "the conversation goes on",
            f"a message in it was not taken up within {runtime.timing.deadline:g} s after this callback",
            exchange,
            case=f"{title}: the conversation is stuck",
            absence=True,
        )
    said.result()


@scenario("RTS017")
def test_final_event_untracks(runtime: RuntimePeer) -> None:
    """A final event that arrives after the boot ends the subscription's tracking."""
    one, other = (runtime.call(runtime.server(), alive(True), subscription=True) for _ in range(2))
    booted(runtime, [one, other])
    last = text("the last event")
    exchange = runtime.deliver(one, last, final=True)
    state = runtime.until(lambda now: not now.waits(one), runtime.timing.deadline)
    if state.waits(one):
        if not brought(one, last)(state):
            raise Untested("the final event did not arrive (see RTS018)")
        raise Violation(
            "the subscription is no longer tracked",
            f"it is, {runtime.timing.deadline:g} s after its final event",
            exchange,
            case="tracked after its final event",
            absence=True,
        )
    if not state.waits(other):
        raise Violation(
            "only the subscription that ended leaves",
            "another one left",
            exchange,
            case="another one untracked",
        )


@scenario("RTS018")
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
        runtime.timing.deadline,
    )
    case = f"{call.what} whose check was answered {title}"
    found = [one for one in state.outcomes(call) if one.text == news]
    if not found:
        raise Violation(
            "what its server delivers reaches the conversation",
            f"it did not within {runtime.timing.deadline:g} s",
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


@scenario("RTS019")
def test_duplicates_once(runtime: RuntimePeer) -> None:
    """A result that is delivered again, as after a lost acknowledgement, is injected once."""
    call = runtime.call(runtime.server(), alive(True))
    active = runtime.call(runtime.server(), alive(True), subscription=True)
    booted(runtime, [call, active])
    result = text("a result")
    exchanges: list[Exchange] = [runtime.deliver(call, result)]
    if not brought(call, result)(runtime.until(brought(call, result), runtime.timing.deadline)):
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


@scenario("RTS020")
def test_records_subscriptions(runtime: RuntimePeer) -> None:
    """A kept call whose result opens a subscription is tracked as one, and takes events."""
    call = runtime.call(runtime.server(), alive(True))
    booted(runtime, [call])
    confirmation = text("subscribed")
    exchange = runtime.deliver(call, confirmation, subscription=True)
    there = Waiting(call.thread, call.id, True, call.server)
    state = runtime.until(lambda now: now.waits(there), runtime.timing.deadline)
    if not state.waits(there):
        if not brought(call, confirmation)(state):
            raise Untested("a result of a kept call did not arrive (see RTS018)")
        raise Violation(
            "the call is among the thread's active subscriptions",
            f"it is not, {runtime.timing.deadline:g} s after the result that opened it",
            exchange,
            case="a subscription that begins after the boot",
            absence=True,
        )


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


@scenario("RTS021")
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
    state = runtime.until(brought(proper, result), runtime.timing.deadline)
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


@scenario("RTS022")
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
