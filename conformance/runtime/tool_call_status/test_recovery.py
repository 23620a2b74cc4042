"""Whom the runtime asks after a boot, where, and by which names.

Specification: "Tool Call Status Check", sections "Request", "Fields", "Recovery After Runtime Restart" and
"Dispatch Behavior".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.network.acts import alive
from rap_conformance.protocol.messages import fresh
from rap_conformance.runtime.peer import RuntimePeer
from rap_conformance.runtime.readings import readings
from rap_conformance.runtime.state import EVENT, RESULT, State, Waiting


@scenario("RTS003", control=Positive("the runtime has to ask before anything is judged"))
def test_asks_on_boot(runtime: RuntimePeer) -> None:
    """At least one check for every pending call and every active subscription, in whatever threads."""
    servers = [runtime.server() for _ in range(3)]
    threads = [fresh("thread") for _ in range(2)]
    calls = [
        runtime.call(servers[number % 3], alive(True), thread=thread, subscription=subscription)
        for thread in threads
        for subscription in (False, True)
        for number in range(3)
    ]
    calls += [call for server in servers for call in runtime.both(server, alive(True))]
    runtime.boot(calls)
    for call in runtime.wait_for_checks(calls):
        alone = "the only thing in its thread" if call.alone else "one of several things in its thread"
        runtime.report(
            Violation(
                f"a status check about {call.what} that is {alone}",
                f"none, {runtime.timing.settle:g} s after the last request to any server",
                case=f"{call.what}, {alone}: not asked about",
                absence=True,
            )
        )


def pruned(runtime: RuntimePeer, *, subscription: bool) -> tuple[State, list[Waiting]]:
    """What the runtime gave up when it read the vectors, for whatever reason. Raises Untested for nothing."""
    found = readings(runtime)
    calls = [one.call for one in found.all if one.pruned and one.call.subscription is subscription]
    if not calls:
        raise Untested("the runtime gave nothing up (see RTS008 and RTS009)")
    return found.state, calls


def judge_told(runtime: RuntimePeer, state: State, call: Waiting, what: str) -> None:
    """Exactly one thing was injected, in the right thread, and a model can read it."""
    told = state.outcomes(call)
    shown = runtime.evidence(call, state)
    if state.elsewhere(call):
        raise Violation(
            f"{what} in the thread that waits",
            "one in another thread",
            *shown,
            case=f"{what}: in another thread",
        )
    if not told:
        raise Violation(f"one {what}", "none", *shown, case=f"{what}: none", absence=True)
    if len(told) > 1:
        raise Violation(f"one {what}", f"{len(told)}", *shown, case=f"{what}: more than one")
    if not told[0].text.strip():
        expected = f"a {what} that says what happened"
        raise Violation(expected, "an empty text", *shown, case=f"{what}: says nothing")


@scenario("RTS010", control=Positive("the runtime has to ask before anything is judged"))
def test_synthetic_result(runtime: RuntimePeer) -> None:
    """A pending call that was given up gets one failed result, in its own thread."""
    state, calls = pruned(runtime, subscription=False)
    for call in calls:
        judge_told(runtime, state, call, "failed result")
        if (kind := state.outcomes(call)[0].kind) != RESULT:
            shown = runtime.evidence(call, state)
            raise Violation("a tool result", f"a {kind}", *shown, case="failed result: of another kind")


@scenario("RTS011", control=Positive("the runtime has to ask before anything is judged"))
def test_synthetic_final_event(runtime: RuntimePeer) -> None:
    """A subscription that was given up gets one final event, and is tracked no more."""
    state, calls = pruned(runtime, subscription=True)
    for call in calls:
        judge_told(runtime, state, call, "final event")
        told, shown = state.outcomes(call)[0], runtime.evidence(call, state)
        if told.kind != EVENT or not told.final:
            actual = f"a {told.kind}, {'final' if told.final else 'not final'}"
            raise Violation(
                "a subscription event that is final", actual, *shown, case="final event: not final"
            )
        if state.waits(call):
            raise Violation(
                "the subscription is no longer tracked",
                "it is",
                *shown,
                case="final event: the subscription stays tracked",
                absence=True,
            )


@scenario("RTS016", control=Positive("the runtime has to ask before anything is judged"))
def test_once(runtime: RuntimePeer) -> None:
    """A second boot on the same state gives nothing up a second time."""
    lost = runtime.prunable()
    kept = [call for _ in range(2) for call in runtime.both(runtime.server(), alive(True))]
    runtime.boot([*lost, *kept])
    before = runtime.settled([*lost, *kept], lost)
    given_up = [call for call in lost if before.pruned(call)]
    if not given_up:
        raise Untested("the runtime gave nothing up (see RTS008 and RTS009)")
    asked = {call.id: len(runtime.queries(call)) for call in kept}
    runtime.boot_again([call.server for call in [*lost, *kept]])
    after = runtime.until(
        lambda _: all(len(runtime.queries(call)) > asked[call.id] for call in kept), runtime.timing.settle
    )
    if not all(after.waits(call) for call in kept if before.waits(call)):
        raise Untested(
            "what the runtime waited for did not survive a shutdown, so a second boot shows nothing"
        )
    after = runtime.settled([*lost, *kept])
    for call in given_up:
        if len(after.outcomes(call)) > max(1, len(before.outcomes(call))):
            raise Violation(
                "nothing more is injected for what was given up before",
                f"{len(after.outcomes(call))} injections for {call.what}",
                *runtime.evidence(call, after),
                case=f"{call.what} is given up again",
            )
