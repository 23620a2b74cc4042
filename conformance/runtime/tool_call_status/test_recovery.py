"""After a boot: about what a runtime asks, what it gives up, and what the conversation hears of it.

Specification: "Tool Call Status Check", section "Recovery After Runtime Restart".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Control, Positive
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.network.acts import alive
from rap_conformance.protocol.messages import fresh
from rap_conformance.runtime.habits import SEVERAL_PENDING, SUBSCRIPTIONS
from rap_conformance.runtime.peer import NOBODY_ASKED, RuntimePeer, named
from rap_conformance.runtime.readings import Reading, asked, judge_pruned, plainly_false, readings
from rap_conformance.runtime.state import EVENT, RESULT, Waiting
from rap_conformance.runtime.telling import tells_of_failure


@scenario("RTS003", control=Positive("each call has to be asked about"))
def test_asks_on_boot(runtime: RuntimePeer) -> None:
    """At least one check for every pending call and every active subscription, in whatever threads."""
    servers = [runtime.server() for _ in range(3)]
    several = 1 if runtime.habits.lacks(SEVERAL_PENDING) else 3
    threads = [fresh("thread") for _ in range(2)]
    calls = [
        runtime.call(servers[number % 3], alive(True), thread=thread, subscription=subscription)
        for thread in threads
        for subscription in runtime.kinds
        for number in range(3 if subscription else several)
    ]
    calls += [call for server in servers for call in runtime.both(server, alive(True))]
    runtime.boot(calls)
    missing = runtime.wait_for_checks(calls)
    judge_asked(runtime, calls, missing)
    if several == 1:
        with runtime.part("several pending calls of one thread"):
            runtime.habits.demand([SEVERAL_PENDING])


def judge_asked(runtime: RuntimePeer, calls: list[Waiting], missing: list[Waiting]) -> None:
    """Every call was asked about; those that were not are named."""
    for alone in (True, False):
        for subscription in runtime.kinds:
            mine = [call for call in calls if (call.alone, call.subscription) == (alone, subscription)]
            if not mine:
                continue
            where = "the only thing in its thread" if alone else "one of several things in its thread"
            missed = [call for call in mine if call in missing]
            runtime.judged(len(mine) - len(missed))
            if missed:
                runtime.report(
                    Violation(
                        f"a status check about {mine[0].what} that is {where}",
                        f"none, {runtime.quiet:g} s after the last request to any server, about "
                        f"{named(missed)}",
                        *runtime.given_to_boot,
                        case=f"{mine[0].what}, {where}: not asked about",
                        absence=True,
                    )
                )


@scenario("RTS023", control=Positive("calls of the servers that are there have to be asked about"))
def test_asks_the_others(runtime: RuntimePeer) -> None:
    """One server that is down, or silent, at boot: the calls of all others are asked about."""
    for title, silent in (("a server that refuses connections", False), ("a server that is silent", True)):
        with runtime.part(title):
            judge_others(runtime, title, silent)


def judge_others(runtime: RuntimePeer, title: str, silent: bool) -> None:
    """One server that cannot be asked about anything, first in the list, and two that can."""
    down = runtime.server() if silent else runtime.servers.nobody()
    if silent:
        down.fall_silent()
    others = [call for _ in range(2) for call in runtime.both(runtime.server(), alive(True))]
    runtime.boot([*runtime.both(down), *others])
    missing = runtime.wait_for_checks(others)
    if len(missing) == len(others) and runtime.habits.asking is None:
        raise Untested(NOBODY_ASKED)
    runtime.judged(len(others) - len(missing))
    if missing:
        shown = [*runtime.given_to_boot, *[query.exchange for query in down.queries][:1]]
        raise Violation(
            "a status check about every call of the servers that answer",
            f"none, {runtime.quiet:g} s after the last request to any server, about {named(missing)}",
            *shown,
            case=f"{title}: others are not asked",
            absence=True,
        )


@scenario("RTS008", control=Positive("a call has to be given up"))
def test_prunes_gone(runtime: RuntimePeer) -> None:
    """`alive: false` ends the waiting."""
    judge_pruned(runtime, [one for one in readings(runtime).all if plainly_false(one)], "`alive: false`")


def pruned(runtime: RuntimePeer, *, subscription: bool) -> list[Reading]:
    """What the runtime gave up when it read the vectors, for whatever reason. Raises Untested for nothing."""
    found = [one for one in readings(runtime).all if one.call.subscription is subscription]
    what = "the end of a subscription" if subscription else "the end of a call"
    asked(runtime, [one for one in found if not one.vector.may_be_kept], what)
    given_up = [one for one in found if one.pruned]
    if not given_up:
        raise Untested("the runtime gave nothing up (see RTS008 and RTS009)")
    return given_up


def judge_told(runtime: RuntimePeer, reading: Reading, what: str, kind: str) -> bool:
    """Exactly one thing was injected, in the right thread, and a model can see that something failed.

    Gives whether it is of the right kind too. Raises Violation for anything else that is wrong.
    """
    state, call = reading.state, reading.call
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
    said = told[0].text
    if not said.strip():
        expected = f"a {what} that says what happened"
        raise Violation(expected, "an empty text", *shown, case=f"{what}: says nothing")
    tells = tells_of_failure(said)
    if tells is None:
        runtime.note(f"whether this text tells a model of the failure is left to its reader: {said[:120]!a}")
    return told[0].kind == kind and runtime.expect(
        tells is not False,
        f"a {what} from whose text a model can see the failure",
        f"the text {said[:120]!a}",
        *shown,
        case=f"{what}: tells of no failure",
    )


@scenario("RTS010", control=Positive("something has to be injected"))
def test_synthetic_result(runtime: RuntimePeer) -> None:
    """A pending call that was given up gets one failed result, in its own thread."""
    for reading in pruned(runtime, subscription=False):
        right = judge_told(runtime, reading, "failed result", RESULT)
        kind = reading.state.outcomes(reading.call)[0].kind
        if (
            not runtime.expect(
                kind == RESULT,
                "a tool result",
                f"a {kind}",
                *runtime.evidence(reading.call, reading.state),
                case="failed result: of another kind",
            )
            or not right
        ):
            return


@scenario("RTS011", control=Positive("something has to be injected"))
def test_synthetic_final_event(runtime: RuntimePeer) -> None:
    """A subscription that was given up gets one final event, and is tracked no more."""
    runtime.habits.demand([SUBSCRIPTIONS])
    for reading in pruned(runtime, subscription=True):
        state, call = reading.state, reading.call
        right = judge_told(runtime, reading, "final event", EVENT)
        told, shown = state.outcomes(call)[0], runtime.evidence(call, state)
        final = state.ends(call, told)
        if (
            not runtime.expect(
                told.kind == EVENT and (final or (told.final is None and state.waits(call))),
                "a subscription event that is final",
                f"a {told.kind}, {'final' if final else 'not final'}",
                *shown,
                case="final event: not final",
            )
            or not runtime.expect(
                not state.waits(call),
                "the subscription is no longer tracked",
                "it is",
                *shown,
                case="final event: the subscription stays tracked",
                absence=True,
            )
            or not right
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

    after = runtime.until(lambda _: all(map(asked_again, kept)), runtime.quiet)
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
