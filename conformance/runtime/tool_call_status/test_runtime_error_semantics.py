"""How a runtime reads answers that do not say `alive: true`, and what became of calls that it kept.

Every vector of fixtures/payloads/liveness.json is an answer, all in one boot. Where the specification is
silent, no reading is a finding.

Specification: "Tool Call Status Check", section "Runtime Error Semantics".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.network.acts import alive, answer
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.reading import Liveness
from rap_conformance.runtime.calling_back import NOT_KEPT, brought, text
from rap_conformance.runtime.peer import RuntimePeer
from rap_conformance.runtime.readings import (
    expect_kept,
    judge_kept,
    judge_pruned,
    may_say_false,
    plainly_false,
    readings,
    watched,
)
from rap_conformance.runtime.state import EVENT, RESULT, Waiting


@scenario("RTS005", control=Positive("only calls that the runtime asked about, or tried to, are judged"))
def test_keeps_when_unreachable(runtime: RuntimePeer) -> None:
    """No whole answer, no pruning: refused, reset, too late, cut short, TLS and names that fail."""
    judge_kept(runtime, readings(runtime).where(failed=True), "a failure")
    judge_kept_long(runtime, failed=True)
    with runtime.part("a server that dies between two calls"):
        server = runtime.server()
        calls = [runtime.call(server, alive(True, dies=True)) for _ in range(4)]
        runtime.boot(calls)
        state = runtime.settled(calls, wary=True)
        if not any(runtime.queries(call) for call in calls):
            raise Untested("the runtime asked about none of these calls (see RTS003)")
        for call in calls:
            runtime.expect(
                not state.pruned(call),
                "the call is kept: its server is not there to ask",
                "the runtime gave it up",
                *runtime.evidence(call, state),
                case="given up after its server died",
            )


@scenario("RTS006", control=Positive("only calls whose server was asked, and answered, are judged"))
def test_keeps_on_5xx(runtime: RuntimePeer) -> None:
    """A 5xx ends nothing, whatever its body says."""
    judge_kept(runtime, readings(runtime).where(status=5, failed=False), "a 5xx")
    judge_kept_long(runtime, failed=False)


def judge_kept_long(runtime: RuntimePeer, *, failed: bool) -> None:
    """However often the runtime asks again, and however long after the boot it does."""
    late = {reading.case: reading for reading in watched(runtime, failed)}
    for reading in readings(runtime).all:
        if reading.case in late and reading.asked and not reading.pruned:
            expect_kept(runtime, late[reading.case], f"given up in the end after {reading.case}")


@scenario("RTS009", control=Positive("a call has to be given up"))
def test_prunes_unsupported(runtime: RuntimePeer) -> None:
    """A 4xx, and a 2xx that is no status body, end the waiting like `alive: false`."""
    found = readings(runtime)
    refused = found.where(status=4, failed=False)
    bodies = [one for one in found.where(status=2, failed=False) if one.vector.liveness is Liveness.GONE]
    with runtime.part("4xx"):
        judge_pruned(runtime, refused, "a 4xx")
        kept = [one.vector.name for one in refused if one.asked and not one.pruned and one.vector.may_be_kept]
        if names := sorted(set(kept)):
            runtime.note(f"keeps calls after {', '.join(names)}, which heuristics may (note N1)")
    with runtime.part("2xx without a status body"):
        judge_pruned(runtime, [one for one in bodies if not may_say_false(one)], "such a 2xx")
    if all(one.pruned for one in found.all if plainly_false(one)):
        with runtime.part("2xx that is a status body to some, and says `false`"):
            odd = [one for one in bodies if may_say_false(one) and not plainly_false(one)]
            judge_pruned(runtime, odd, "such a 2xx")


@scenario("RTS018", control=Positive("what is delivered has to arrive"))
def test_kept_calls_go_on(runtime: RuntimePeer) -> None:
    """What was kept, alive or unknown, still takes its result or its events."""
    acts = {"alive": alive(True), "unknown": answer(503)}
    calls = [(title, call) for title, act in acts.items() for call in runtime.both(runtime.server(), act)]
    thread, server = fresh("thread"), runtime.server()
    together = [runtime.call(server, alive(True), subscription=kind, thread=thread) for kind in runtime.kinds]
    everything = [*(call for _, call in calls), *together]
    runtime.boot(everything)
    runtime.settled(everything)
    for title, call in calls:
        with runtime.part(f"{call.what}, {title}"):
            judge_goes_on(runtime, call, title)
    if len(together) > 1:
        with runtime.part("a pending call and a subscription in one thread"):
            judge_together(runtime, *together)


def judge_goes_on(runtime: RuntimePeer, call: Waiting, title: str) -> None:
    """One kept call: its outcome arrives once, as what it is."""
    if not runtime.state().waits(call):
        raise Untested(NOT_KEPT)
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
    if runtime.expect(
        found[0].kind == (EVENT if call.subscription else RESULT),
        "an event or a result, as it came",
        f"a {found[0].kind}",
        exchange,
        case=f"{case}: changed",
    ):
        runtime.expect(
            state.waits(call) is call.subscription,
            "the subscription stays" if call.subscription else "the call is over",
            "the opposite",
            exchange,
            case=f"{case}: tracking is wrong",
            absence=True,
        )


def judge_together(runtime: RuntimePeer, call: Waiting, subscription: Waiting) -> None:
    """An event of a thread that waits for a call, and then the call's result; the event may wait for it."""
    state = runtime.state()
    if not state.waits(call) or not state.waits(subscription):
        raise Untested(NOT_KEPT)
    sent = {subscription: text("an event"), call: text("a result")}
    exchanges = {one: runtime.deliver(one, news) for one, news in sent.items()}
    state = runtime.until(
        lambda now: all(brought(one, news)(now) for one, news in sent.items()), runtime.timing.settle
    )
    for one, news in sent.items():
        runtime.expect(
            brought(one, news)(state),
            "what its server delivers reaches the conversation",
            f"it did not within {runtime.timing.settle:g} s",
            exchanges[one],
            case=f"{one.what} beside another in its thread: cut off",
            absence=True,
        )
