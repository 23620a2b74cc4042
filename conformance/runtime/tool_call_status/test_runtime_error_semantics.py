"""How the runtime reads answers: every vector of fixtures/payloads/liveness.json is one, all in one boot.

Specification: "Tool Call Status Check", sections "Query Semantics" and "Runtime Error Semantics". Where it is
silent, no reading is a finding.
"""

from __future__ import annotations

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.network.acts import alive
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.reading import Liveness, strict_json
from rap_conformance.runtime.peer import RuntimePeer
from rap_conformance.runtime.readings import Reading, readings


def judge_kept(runtime: RuntimePeer, found: list[Reading], what: str) -> None:
    """None of these is given up. Raises Untested if the runtime asked about none."""
    asked = [reading for reading in found if reading.asked]
    if not asked:
        raise Untested(f"the runtime never got {what}, since it asked about none of these calls (see RTS003)")
    for reading in asked:
        if reading.pruned and not reading.vector.may_be_pruned:
            runtime.report(
                Violation(
                    f"the call is kept: {reading.vector.why}",
                    "the runtime gave it up",
                    *reading.evidence,
                    case=f"given up after {reading.case}",
                )
            )


def judge_pruned(runtime: RuntimePeer, found: list[Reading], what: str) -> None:
    """Each of these is given up. Raises Untested if the runtime asked about none."""
    asked = [reading for reading in found if reading.asked]
    if not asked:
        raise Untested(f"the runtime never got {what}, since it asked about none of these calls (see RTS003)")
    for reading in asked:
        if not reading.pruned and not reading.vector.may_be_kept:
            runtime.report(
                Violation(
                    f"the call is given up: {reading.vector.why}",
                    "the runtime still waits for it",
                    *reading.evidence,
                    case=f"kept after {reading.case}",
                    absence=True,
                )
            )


@scenario("RTS005", control=Positive("the runtime has to ask before anything is judged"))
def test_keeps_when_unreachable(runtime: RuntimePeer) -> None:
    """No whole answer, no pruning: refused, reset, too late, cut short, TLS and names that fail."""
    judge_kept(runtime, readings(runtime).where(failed=True), "a failure")
    with runtime.part("a server that dies between two calls"):
        server = runtime.server()
        calls = [runtime.call(server, alive(True, dies=True)) for _ in range(4)]
        runtime.boot(calls)
        state = runtime.settled(calls)
        if not any(runtime.queries(call) for call in calls):
            raise Untested("the runtime asked about none of these calls (see RTS003)")
        for call in calls:
            if state.pruned(call):
                raise Violation(
                    "the call is kept: its server is not there to ask",
                    "the runtime gave it up",
                    *runtime.evidence(call, state),
                    case="given up after its server died",
                )


@scenario("RTS006", control=Positive("the runtime has to ask before anything is judged"))
def test_keeps_on_5xx(runtime: RuntimePeer) -> None:
    """A 5xx ends nothing, whatever its body says."""
    judge_kept(runtime, readings(runtime).where(status=5, failed=False), "a 5xx")


@scenario("RTS007", control=Positive("the runtime has to ask before anything is judged"))
def test_keeps_alive_calls(runtime: RuntimePeer) -> None:
    """What its server calls alive is kept, however that is written, and whatever others share its id."""
    found = readings(runtime).where(status=2, failed=False)
    judge_kept(runtime, [one for one in found if one.vector.liveness is Liveness.ALIVE], "`alive: true`")
    with runtime.part("a lost call of the same id in another thread"):
        for subscription in (False, True):
            shared, lost = fresh(), runtime.server()
            one = runtime.call(
                runtime.server(), alive(True), thread=fresh("thread"), id=shared, subscription=subscription
            )
            two = runtime.call(lost, thread=fresh("thread"), id=shared, subscription=subscription)
            runtime.boot([one, two])
            state = runtime.settled([one, two], [two])
            if not one.server.queries:
                raise Untested("the runtime did not ask about the call (see RTS003)")
            if state.pruned(one):
                raise Violation(
                    "the call is kept: its server says that it is alive",
                    "the runtime gave it up, as one of the same id in another thread",
                    *[query.exchange for query in one.server.queries[-1:]],
                    state.exchange,
                    case=f"{one.what} given up with its namesake",
                )


@scenario("RTS008", control=Positive("the runtime has to ask before anything is judged"))
def test_prunes_gone(runtime: RuntimePeer) -> None:
    """`alive: false` ends the waiting."""
    judge_pruned(runtime, [one for one in readings(runtime).all if plainly_false(one)], "`alive: false`")


@scenario("RTS009", control=Positive("the runtime has to ask before anything is judged"))
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


def may_say_false(reading: Reading) -> bool:
    """Whether some reader finds `alive: false` in the answer."""
    return reading.vector.name.startswith("alive-false")


def plainly_false(reading: Reading) -> bool:
    """Whether every reader does."""
    vector = reading.vector
    if not may_say_false(reading) or dict(vector.headers) != {"Content-Type": "application/json"}:
        return False
    try:
        return bool(strict_json(vector.body) == {"alive": False})
    except ValueError:
        return False
