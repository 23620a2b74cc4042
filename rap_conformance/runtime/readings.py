"""One boot in which each liveness vector is the answer about some call, and what became of the calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Untested
from rap_conformance.network.toolserver import ToolServer
from rap_conformance.protocol.reading import strict_json
from rap_conformance.runtime.peer import NOBODY_ASKED, RuntimePeer
from rap_conformance.runtime.state import State, Waiting
from rap_conformance.runtime.vectors import Vector, vectors


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of one call whose check was answered by a vector."""

    vector: Vector
    call: Waiting
    asked: bool
    pruned: bool
    evidence: tuple[Exchange, ...]

    @property
    def case(self) -> str:
        """Its name in findings: the vector's."""
        return f"{self.vector.name}, {self.call.what}"


@dataclass(frozen=True, slots=True)
class Readings:
    """All of them, and the state in which they were read."""

    state: State
    all: tuple[Reading, ...]

    def where(self, *, status: int | None = None, failed: bool | None = None) -> list[Reading]:
        """Those answered with this class of status (2, 4, 5, …), those with or without a whole answer."""
        return [
            reading
            for reading in self.all
            if (status is None or (reading.vector.status or 0) // 100 == status)
            and (failed is None or bool(reading.vector.failure) is failed)
        ]


def readings(runtime: RuntimePeer) -> Readings:
    """Boot with every vector and see; done once for all scenarios of one attempt.

    Raises Untested if the runtime asks nobody at all.
    """
    found = runtime.session.once(f"readings {runtime.attempt}", lambda: _read(runtime))
    if found is None:
        raise Untested(NOBODY_ASKED)
    return found


def judge_kept(runtime: RuntimePeer, found: Iterable[Reading], what: str) -> None:
    """None of these is given up. Raises Untested if the runtime asked about none."""
    for reading in _asked([one for one in found if not one.vector.may_be_pruned], what):
        runtime.expect(
            not reading.pruned,
            f"the call is kept: {reading.vector.why}",
            "the runtime gave it up",
            *reading.evidence,
            case=f"given up after {reading.case}",
        )


def judge_pruned(runtime: RuntimePeer, found: Iterable[Reading], what: str) -> None:
    """Each of these is given up. Raises Untested if the runtime asked about none."""
    for reading in _asked([one for one in found if not one.vector.may_be_kept], what):
        runtime.expect(
            reading.pruned,
            f"the call is given up: {reading.vector.why}",
            "the runtime still waits for it",
            *reading.evidence,
            case=f"kept after {reading.case}",
            absence=True,
        )


def _asked(found: list[Reading], what: str) -> list[Reading]:
    asked = [reading for reading in found if reading.asked]
    if not asked:
        raise Untested(f"the runtime never got {what}, since it asked about none of these calls (see RTS003)")
    return asked


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


def _read(runtime: RuntimePeer) -> Readings | None:
    home = {"": runtime.server(), "refused": runtime.servers.nobody(), "name": runtime.servers.nowhere()}
    calls: list[tuple[Vector, Waiting]] = []
    quick = runtime.session.common.profile == "quick"
    for number, vector in enumerate(vectors()):
        server = _home(runtime, vector, home)
        kinds = (bool(number % 2),) if quick else (False, True)
        calls += [(vector, runtime.call(server, vector.act(), subscription=kind)) for kind in kinds]
    everything = [call for _, call in calls]
    runtime.boot(everything)
    gone = [call for vector, call in calls if not vector.may_be_kept]
    state = runtime.settled(everything, gone)
    lost = [call for call in everything if state.pruned(call)]
    if not all(state.outcomes(call) for call in lost):
        told = runtime.timing.settle
        state = runtime.until(lambda now: all(now.outcomes(c) or now.elsewhere(c) for c in lost), told)
    if not any(runtime.queries(call) for call in everything):
        return None
    found = Readings(state, tuple(_reading(runtime, state, vector, call) for vector, call in calls))
    _note_silent(runtime, found)
    return found


def _home(runtime: RuntimePeer, vector: Vector, homes: dict[str, ToolServer]) -> ToolServer:
    """A server of its own where the failure is the address's, one for all other vectors."""
    if vector.failure == "tls":
        return runtime.server(tls=vector.partial)
    return homes.get(vector.failure, homes[""])


def _reading(runtime: RuntimePeer, state: State, vector: Vector, call: Waiting) -> Reading:
    asked = bool(runtime.queries(call)) or not call.server.listening or call.server.handshakes > 0
    return Reading(vector, call, asked, state.pruned(call), runtime.evidence(call))


def _note_silent(runtime: RuntimePeer, found: Readings) -> None:
    """What the runtime does where several readings are right, if it is not what this suite would do."""
    silent = [one for one in found.all if one.vector.silent and one.asked and not one.call.subscription]
    kept = [one.vector.name for one in silent if not one.pruned and one.vector.liveness == "gone"]
    pruned = [one.vector.name for one in silent if one.pruned and one.vector.liveness != "gone"]
    for names, does in ((kept, "keeps"), (pruned, "gives up")):
        if names:
            runtime.session.say(
                f"where the specification is silent this runtime {does}, unlike this suite's own reading, "
                f"calls answered by: {', '.join(names)}"
            )
