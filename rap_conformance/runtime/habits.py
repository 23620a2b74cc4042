"""What is particular about a runtime: what it cannot be booted with, and how long things take it. No I/O.

An adapter says the first in its answers to POST /boot (schemas/adapter/boot_answer.json); the second is seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from rap_conformance.engine.scenario import NotApplicable

SEVERAL_PENDING, UNKNOWN_ORIGIN, FOREIGN_THREAD_IDS = (
    "several-pending",
    "unknown-origin",
    "foreign-thread-ids",
)
SUBSCRIPTIONS, KILL = "subscriptions", "kill"
_IN_WORDS = {
    SEVERAL_PENDING: "cannot have two pending calls in one thread",
    UNKNOWN_ORIGIN: "always knows which server has a call",
    FOREIGN_THREAD_IDS: "cannot be given such thread ids",
    SUBSCRIPTIONS: "has no subscriptions",
    KILL: "cannot be killed by its adapter",
}
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}")
_WAKERS = 32
"""Messages that wake conversations, under way at once."""


def needs(threads: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What a runtime has to support to be booted with these threads (as in the body of /boot)."""
    for thread in threads:
        if len(thread["pending"]) > 1:
            yield SEVERAL_PENDING
        if thread["subscriptions"]:
            yield SUBSCRIPTIONS
        if not _PLAIN.fullmatch(thread["thread_id"]):
            yield FOREIGN_THREAD_IDS
        if any(call["server_url"] is None for call in [*thread["pending"], *thread["subscriptions"]]):
            yield UNKNOWN_ORIGIN


class Habits:
    """One runtime's. Seconds: `asking` is how long after a boot it asked first, None if it asked nobody;
    `pruning` how long after the answers it had given up what it gives up."""

    def __init__(self) -> None:
        self.unsupported: list[str] = []
        self.asking: float | None = None
        self.pruning = 0.0
        self.gave_up = False
        """Whether it was seen giving something up, or not doing so in time."""
        self.boots = 0
        """How often it was booted."""
        self._wakers: ThreadPoolExecutor | None = None
        self._waking: list[Future[object]] = []

    def learn(self, unsupported: Iterable[str]) -> None:
        """Keep what an answer to /boot says."""
        self.unsupported += [name for name in unsupported if name not in self.unsupported]

    def demand(self, wanted: Iterable[str]) -> None:
        """Raises NotApplicable if something wanted is not supported."""
        for name in wanted:
            if name in self.unsupported:
                raise NotApplicable(f"the runtime {_IN_WORDS[name]} (its adapter says `{name}`)")

    def lacks(self, name: str) -> bool:
        """Whether something is not supported."""
        return name in self.unsupported

    def told(self) -> list[str]:
        """What reports say of it."""
        return [f"the runtime {_IN_WORDS[name]}: its adapter says `{name}`" for name in self.unsupported]

    def wake(self, threads: Iterable[str], say: Callable[[str], object]) -> None:
        """Say something in each conversation, beside all else."""
        if self._wakers is None:
            self._wakers = ThreadPoolExecutor(_WAKERS, thread_name_prefix="waker")
        self._waking = [self._wakers.submit(say, thread) for thread in threads]

    def forget(self) -> None:
        """Wake nobody any more who sleeps still."""
        for one in self._waking:
            one.cancel()
        self._waking = []

    def close(self) -> None:
        """Stop what wakes."""
        self.forget()
        if self._wakers is not None:
            self._wakers.shutdown(wait=True, cancel_futures=True)
