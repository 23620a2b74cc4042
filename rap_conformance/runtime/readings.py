"""Boots in which each liveness vector is the answer about some call, and what became of the calls.

All vectors are played in one boot. Calls that it left unasked, because one of the failures stopped the
runtime, get further boots; what is never asked about is counted and named, and leaves no plain pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Untested
from rap_conformance.network.toolserver import ToolServer
from rap_conformance.protocol.reading import Liveness, strict_json
from rap_conformance.runtime.peer import NOBODY_ASKED, RuntimePeer
from rap_conformance.runtime.state import State, Waiting
from rap_conformance.runtime.vectors import Vector, vectors

_BOOTS = 4
"""How often those are booted again at most that were not asked about."""
_NAMED = 6
"""Vectors that are named one by one in a sentence."""
WATCHED = {"quick": 12.0, "standard": 20.0, "thorough": 60.0}
"""Seconds after the boot until which calls that must be kept are watched, by profile: a runtime may ask again
and again, and give up after so many failures."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of one call whose check was answered by a vector, in the state `state`."""

    vector: Vector
    call: Waiting
    asked: bool
    state: State
    evidence: tuple[Exchange, ...]

    @property
    def pruned(self) -> bool:
        """Whether the call was given up."""
        return self.state.pruned(self.call)

    @property
    def case(self) -> str:
        """Its name in findings: the vector's."""
        return f"{self.vector.name}, {self.call.what}"


@dataclass(frozen=True, slots=True)
class Readings:
    """All of them. `boot`: the runtime's boot in which every vector was played, if one was enough."""

    all: tuple[Reading, ...]
    boot: int | None

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
    for reading in asked(runtime, [one for one in found if not one.vector.may_be_pruned], what):
        expect_kept(runtime, reading, f"given up after {reading.case}")


def expect_kept(runtime: RuntimePeer, reading: Reading, case: str) -> bool:
    """One call is not given up."""
    return runtime.expect(
        not reading.pruned,
        f"the call is kept: {reading.vector.why}",
        "the runtime gave it up",
        *reading.evidence,
        case=case,
    )


def judge_pruned(runtime: RuntimePeer, found: Iterable[Reading], what: str) -> None:
    """Each of these is given up. Raises Untested if the runtime asked about none."""
    for reading in asked(runtime, [one for one in found if not one.vector.may_be_kept], what):
        runtime.expect(
            reading.pruned,
            f"the call is given up: {reading.vector.why}",
            f"the runtime still waits for it, {runtime.timing.patience:g} s after the answer",
            *reading.evidence,
            case=f"kept after {reading.case}",
            absence=True,
        )


def asked(runtime: RuntimePeer, found: Sequence[Reading], what: str) -> list[Reading]:
    """Those of them that the runtime asked about; says how many these are, and names the others.

    Raises Untested if it asked about none.
    """
    there = [reading for reading in found if reading.asked]
    if not there:
        raise Untested(f"the runtime never got {what}, since it asked about none of these calls (see RTS003)")
    count = f"{len(there)} of {len(found)} answers were asked for ({what})"
    runtime.note(count)
    if missed := [reading.case for reading in found if not reading.asked]:
        more = f" and {len(missed) - _NAMED} more" if len(missed) > _NAMED else ""
        runtime.partial(f"{count}; never asked for: {'; '.join(missed[:_NAMED])}{more}")
    return there


def watched(runtime: RuntimePeer, failed: bool) -> list[Reading]:
    """The calls of unknown liveness, long after the boot: those without a whole answer, or with a 5xx.

    The runtime may have asked about them again. Raises Untested if it asked about none at all.
    """
    found = runtime.session.once(f"watched {runtime.attempt}", lambda: _watch(runtime))
    return [one for one in found if bool(one.vector.failure) is failed]


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


# --- playing them ------------------------------------------------------------------------------------------


def _read(runtime: RuntimePeer) -> Readings | None:
    quick = runtime.session.common.profile == "quick"
    parts = [
        (vector, kind)
        for number, vector in enumerate(vectors())
        for kind in runtime.kinds
        if not quick or len(runtime.kinds) == 1 or kind is bool(number % 2)
    ]
    found = _play(runtime, parts)
    boot: int | None = runtime.habits.boots
    stopped = not any(one.asked for one in found.values())
    for _ in range(_BOOTS):
        left = [
            part for part, one in found.items() if not one.asked and not (stopped and part[0].unreachable)
        ]
        if not left:
            break
        boot = None
        again = {part: one for part, one in _play(runtime, left).items() if one.asked}
        found |= again
        if not again:
            break
    if not any(one.asked for one in found.values()):
        return None
    if stopped:
        runtime.session.say(
            "with a server configured that cannot be reached this runtime asked nobody about anything (see "
            "RTS023); the answers were played without such servers"
        )
    _note_silent(runtime, found.values())
    return Readings(tuple(found.values()), boot)


def _watch(runtime: RuntimePeer) -> list[Reading]:
    """Those of unknown liveness in the boot that played them all, if it goes on; else booted once more."""
    found = readings(runtime)
    if found.boot == runtime.habits.boots:
        kept = [one for one in found.all if one.vector.unknown]
    else:
        stopped = [one.vector for one in found.all if one.vector.unreachable and not one.asked]
        parts = [(one.vector, one.call.subscription) for one in found.all if one.vector.unknown]
        kept = [*_play(runtime, [part for part in parts if part[0] not in stopped]).values()]
    last = WATCHED[runtime.session.common.profile]
    while (left := last - runtime.since_boot) > 0 and not all(one.pruned for one in kept):
        runtime.patience.pace(min(1.0, left))
        state = runtime.state()
        kept = [_reading(runtime, state, one.vector, one.call, one.asked) for one in kept]
    most = max((len(runtime.queries(one.call)) for one in kept), default=0)
    runtime.session.say(
        f"calls of unknown liveness were watched for {last:g} s after a boot, in which the runtime asked "
        f"about none of them more than {most} time{'s' if most != 1 else ''}"
    )
    return kept


Part = tuple[Vector, bool]
"""A vector, and whether it is the answer about a subscription."""


def _play(runtime: RuntimePeer, parts: Sequence[Part]) -> dict[Part, Reading]:
    """One boot in which these are the answers. Those that give none come last."""
    homes = _Homes(runtime)
    calls = {
        part: runtime.call(homes.of(part[0]), part[0].act(), subscription=part[1])
        for part in sorted(parts, key=lambda part: bool(part[0].failure))
    }
    everything = [*calls.values()]
    runtime.boot(everything)
    gone = [call for part, call in calls.items() if not part[0].may_be_kept]
    state = runtime.settled(everything, gone, patient=True)
    lost = [call for call in everything if state.pruned(call)]
    if not all(state.outcomes(call) for call in lost):
        told = runtime.timing.settle
        state = runtime.until(lambda now: all(now.outcomes(c) or now.elsewhere(c) for c in lost), told)
    somebody = any(runtime.queries(call) for call in everything)

    def tried(call: Waiting) -> bool:
        unseen = not call.server.listening  # nobody sees who knocks at a closed port
        return (unseen and somebody) or bool(runtime.queries(call)) or call.server.handshakes > 0

    return {part: _reading(runtime, state, part[0], calls[part], tried(calls[part])) for part in parts}


class _Homes:
    """The servers of one boot: those that fail by their address have one of their own; failures and 5xx each
    have one, so that who gives up on a server for a while still asks the others."""

    def __init__(self, runtime: RuntimePeer) -> None:
        self._runtime = runtime
        self._made: dict[str, ToolServer] = {}

    def of(self, vector: Vector) -> ToolServer:
        """The server that plays a vector."""
        if vector.failure == "tls":
            return self._runtime.server(tls=vector.partial)
        makers: dict[str, Callable[[], ToolServer]] = {
            "refused": self._runtime.servers.nobody,
            "name": self._runtime.servers.nowhere,
        }
        kind = vector.failure if vector.failure in makers else "failing" if vector.failure else ""
        if not kind and vector.unknown:
            kind = "unavailable"
        if kind not in self._made:
            self._made[kind] = makers.get(kind, self._runtime.server)()
        return self._made[kind]


def _reading(runtime: RuntimePeer, state: State, vector: Vector, call: Waiting, asked: bool) -> Reading:
    return Reading(vector, call, asked, state, runtime.evidence(call))


def _note_silent(runtime: RuntimePeer, found: Iterable[Reading]) -> None:
    """What the runtime does where several readings are right, if it is not what this suite would do."""
    silent = [one for one in found if one.vector.silent and one.asked and not one.call.subscription]
    kept = [one.vector.name for one in silent if not one.pruned and one.vector.liveness is Liveness.GONE]
    pruned = [one.vector.name for one in silent if one.pruned and one.vector.liveness is not Liveness.GONE]
    for names, does in ((kept, "keeps"), (pruned, "gives up")):
        if names:
            runtime.session.say(
                f"where the specification is silent this runtime {does}, unlike this suite's own reading, "
                f"calls answered by: {', '.join(names)}"
            )
