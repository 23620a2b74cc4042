"""What the engine asks of a role: a session that speaks to the peer, and its account of itself at the end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol, TypeVar

from rap_conformance.engine.evidence import Exchange, Verdict
from rap_conformance.engine.requirement import Stage
from rap_conformance.engine.run import Opening, Target
from rap_conformance.engine.scenario import PeerDied

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Lack:
    """Something that a requirement needs is not there: the verdict that makes, and the reason."""

    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class Account:
    """What a session says of itself when it is over; the run is made of that and of the results.

    `incomplete` says why nothing can be concluded although nothing was cut short; `doubtful`: requirements
    are not applicable only as far as could be seen.
    """

    target: Target
    requests: int = 0
    duration: float = 0.0
    causes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    cut_short: str = ""
    incomplete: str = ""
    doubtful: bool = False
    configuration: tuple[tuple[str, str], ...] = ()
    latencies: tuple[float, ...] = ()
    life: tuple[Exchange, ...] = ()
    openings: tuple[Opening, ...] = ()


@dataclass(frozen=True, slots=True)
class Preview:
    """What a run would do: lines of plain text, and what would let more be judged."""

    lines: tuple[str, ...]
    openings: tuple[Opening, ...] = ()


class Judging(Protocol):
    """What the runner needs of a session: everything the scenarios of one run share."""

    @property
    def requests(self) -> int:
        """How many requests were made so far."""

    def over(self) -> str:
        """Why nothing more can be judged; empty as long as something can."""

    def now(self) -> float:
        """Seconds since the run began."""

    def lack(self, need: str, /) -> Lack | None:
        """What is wrong if something of that name is needed; None if it is there."""

    def revive(self, death: PeerDied, /) -> None:
        """The peer died: start it again if it is ours, else nothing more can be judged."""

    def recover(self) -> None:
        """Wait until what our own inputs provoked is over: it is held against nobody, nor judged by."""

    def broken(self, code: str, /) -> None:
        """A requirement was found broken: what follows from that is not held against others."""

    def beside(self, work: Callable[[], T]) -> Future[T]:
        """Do something beside all else."""

    def slow(self, stage: Stage = Stage.HARMLESS) -> bool:
        """Whether each answer is so late that everything of a stage runs beside each other."""

    def left(self) -> float:
        """About how many seconds what runs beside each other still takes."""


class Session(Judging, Protocol):
    """What the driver needs of a session too: its beginning and its end."""

    def shown(self) -> str:
        """What is under test, for the first line."""

    def time_is_up(self) -> bool:
        """Whether the time allowed for the run has passed."""

    def halt(self) -> None:
        """End every wait, now and from now on."""

    def leaving(self) -> str:
        """What `close` will do, in words, for somebody who waits for it."""

    def hurry(self) -> None:
        """Leave out what is still to be done for the peer's sake while `close` is under way."""

    def close(self) -> None:
        """Leave the peer as it was found and stop what was started; safe to call twice."""

    def account(self) -> Account:
        """What to say of this session at its end."""
