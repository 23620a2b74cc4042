"""After a boot: about what a runtime asks, what it gives up, and what the conversation hears of it.

Specification: "Tool Call Status Check", section "Recovery After Runtime Restart".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Control, Positive
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.network.acts import alive
from rap_conformance.protocol.messages import fresh
from rap_conformance.runtime.peer import RuntimePeer
from rap_conformance.runtime.readings import judge_pruned, plainly_false, readings
from rap_conformance.runtime.state import EVENT, RESULT, State, Waiting


@scenario("RTS003", control=Positive("each call has to be asked about"))
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
    missing = runtime.wait_for_checks(calls)
    for call in calls:
        alone = "the only thing in its thread" if call.alone else "one of several things in its thread"
        runtime.expect(
            call not in missing,
            f"a status check about {call.what} that is {alone}",
            f"none, {runtime.timing.settle:g} s after the last request to any server",
            case=f"{call.what}, {alone}: not asked about",
            absence=True,
        )


@scenario("RTS008", control=Positive("a call has to be given up"))
def test_prunes_gone(runtime: RuntimePeer) -> None:
    """`alive: false` ends the waiting."""
    judge_pruned(runtime, [one for one in readings(runtime).all if plainly_false(one)], "`alive: false`")


def pruned(runtime: RuntimePeer, *, subscription: bool) -> tuple[State, list[Waiting]]:
    """What the runtime gave up when it read the vectors, for whatever reason. Raises Untested for nothing."""
    found = readings(runtime)
    calls = [one.call for one in found.all if one.pruned and one.call.subscription is subscription]
    if not calls:
        raise Untested("the runtime gave nothing up (see RTS008 and RTS009)")
    return found.state, calls


def judge_told(runtime: RuntimePeer, state: State, call: Waiting, what: str) -> None:
    """Exactly one thing was injected, in the right thread, and a model can read it. Raises Violation."""
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


@scenario("RTS010", control=Positive("something has to be injected"))
def test_synthetic_result(runtime: RuntimePeer) -> None:
    """A pending call that was given up gets one failed result, in its own thread."""
    state, calls = pruned(runtime, subscription=False)
    for call in calls:
        judge_told(runtime, state, call, "failed result")
        kind = state.outcomes(call)[0].kind
        if not runtime.expect(
            kind == RESULT,
            "a tool result",
            f"a {kind}",
            *runtime.evidence(call, state),
            case="failed result: of another kind",
        ):
            return


@scenario("RTS011", control=Positive("something has to be injected"))
def test_synthetic_final_event(runtime: RuntimePeer) -> None:
    """A subscription that was given up gets one final event, and is tracked no more."""
    state, calls = pruned(runtime, subscription=True)
    for call in calls:
        judge_told(runtime, state, call, "final event")
        told, shown = state.outcomes(call)[0], runtime.evidence(call, state)
        if not runtime.expect(
            told.kind == EVENT and told.final,
            "a subscription event that is final",
            f"a {told.kind}, {'final' if told.final else 'not final'}",
            *shown,
            case="final event: not final",
        ) or not runtime.expect(
            not state.waits(call),
            "the subscription is no longer tracked",
            "it is",
            *shown,
            case="final event: the subscription stays tracked",
            absence=True,
        ):
            return


@scenario("RTS016", control=Control("a second boot, after which what was kept is asked about again"))
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

    def asked_again(call: Waiting) -> bool:
        return len(runtime.queries(call)) > asked[call.id]

    after = runtime.until(lambda _: all(map(asked_again, kept)), runtime.timing.settle)
    runtime.controlled(
        all(after.waits(call) for call in kept if before.waits(call)),
        "what the runtime waited for did not survive a shutdown, so a second boot shows nothing",
    )
    runtime.controlled(
        any(map(asked_again, kept)), "a second boot does not ask about what was kept (see RTS003)"
    )
    after = runtime.settled([*lost, *kept])
    for call in given_up:
        runtime.expect(
            len(after.outcomes(call)) <= max(1, len(before.outcomes(call))),
            "nothing more is injected for what was given up before",
            f"{len(after.outcomes(call))} injections for {call.what}",
            *runtime.evidence(call, after),
            case=f"{call.what} is given up again",
        )
