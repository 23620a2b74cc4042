"""How fast a server is, and what that leaves time for: fewer examples, more at once where answers are late.

A run has to end in bounded time whatever a server does. What is left out is said in the report.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T")
AT_EASE = 0.05
"""Seconds an answer may take before anything is done differently."""
GENERATED_SECONDS = {20: 6.0, 100: 15.0, 1000: 120.0}
"""Seconds that one requirement's generated examples may take, by how many the profile asks for."""
MOST_SIDES = 64
"""Requests that are under way at once where answers are late."""
CROWD = 8
"""Questions that are asked at once to see whether a server of late answers has them wait for each other."""
QUEUED = 2.5
"""How many times as long as one alone the last of them takes where they do."""
LEAST = 5
"""Generated examples that are tried however late answers are."""


def batched(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items in their order, `size` at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


class Tempo:
    """What the answers' lateness leaves time for. `elapsed` are response times in seconds.

    `crowd` are those of questions that were asked at once: a server may answer one after the other.
    """

    def __init__(self, elapsed: Sequence[float] = (), crowd: Sequence[float] = ()) -> None:
        self.latency = median(elapsed) if elapsed else 0.0
        self.queues = bool(crowd) and max(crowd) > QUEUED * self.latency
        """Whether whoever asks at the same time as others waits for them."""

    @property
    def late(self) -> bool:
        """Whether anything has to be done differently."""
        return self.latency > AT_EASE

    @property
    def sides(self) -> int:
        """How many requests that depend on nothing are under way at once."""
        if not self.late or self.queues:
            return 1
        return min(MOST_SIDES, max(1, round(self.latency / AT_EASE) * 3))

    def examples(self, wanted: int) -> int:
        """How many of the generated examples there is time for."""
        if not self.late:
            return wanted
        fit = int(GENERATED_SECONDS.get(wanted, 15.0) / self.latency * self.sides)
        return max(LEAST, min(wanted, fit))

    def said(self, wanted: int) -> str:
        """What is done differently, for the report; empty if nothing is."""
        if not self.late:
            return ""
        fewer = self.examples(wanted)
        what = f"{fewer} generated examples instead of {wanted}" if fewer < wanted else "all examples"
        at_once = f"up to {self.sides} at once" if self.sides > 1 else "one after the other, as they come"
        return f"answers take {self.latency:.2g} s, so {what} were tried, {at_once}"

    def at_once(self, asks: Sequence[Callable[[], T]]) -> list[T]:
        """Do all of these, several at once where answers are late; gives what they give, in their order."""
        if self.sides == 1 or len(asks) < 2:
            return [ask() for ask in asks]
        with ThreadPoolExecutor(self.sides, thread_name_prefix="late") as pool:
            return [future.result() for future in [pool.submit(ask) for ask in asks]]
