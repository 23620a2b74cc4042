"""The only place that waits.

A verdict never rests on a bare sleep: waiting is for a condition with a
deadline, and ends early when the run is halted or its time is up.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from rap_conformance.engine.scenario import Halted

T = TypeVar("T")


class Patience:
    """Waits for conditions, for one run.

    `max_time` is how long the run may take, in seconds; None for no limit.
    """

    def __init__(self, max_time: float | None = None) -> None:
        self.began = time.monotonic()
        self._halt = threading.Event()
        self._end = None if max_time is None else self.began + max_time

    def now(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.began

    def halt(self) -> None:
        """End every wait of this run, now and from now on."""
        self._halt.set()

    @property
    def halted(self) -> bool:
        """Whether the run is over."""
        return self._halt.is_set() or self.time_is_up

    @property
    def time_is_up(self) -> bool:
        """Whether the time allowed for the run has passed."""
        return self._end is not None and time.monotonic() >= self._end

    def check(self) -> None:
        """Raise Halted if the run is over."""
        if self.halted:
            raise Halted("the time allowed for the run is up" if self.time_is_up else "the run was halted")

    def until(self, condition: Callable[[], T], within: float, every: float = 0.02) -> T | None:
        """The first true value of `condition`, asked every `every` seconds, or None after `within` seconds.

        Raises Halted when the run ends first.
        """
        deadline = time.monotonic() + within
        while True:
            self.check()
            if value := condition():
                return value
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self._halt.wait(min(every, left))

    def pace(self, seconds: float) -> None:
        """Put `seconds` between two requests. Decides nothing; raises Halted when the run ends."""
        self.check()
        self._halt.wait(seconds)
        self.check()

    async def hold_back(self, seconds: float, until: Callable[[], bool]) -> None:
        """Hold an answer back, for `seconds` or until `until` comes true or the run ends (asynchronous)."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and not self.halted and not until():
            await asyncio.sleep(min(0.1, left))


class Bell:
    """Lets one thread wait for what another one brings about."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._condition = threading.Condition()

    def ring(self) -> None:
        """Something changed: whoever waits looks again."""
        with self._condition:
            self._condition.notify_all()

    def until(self, condition: Callable[[], T], within: float) -> T | None:
        """The first true value of `condition`, or None after `within` seconds. Raises Halted."""
        deadline = time.monotonic() + within
        with self._condition:
            while True:
                self._patience.check()
                if value := condition():
                    return value
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                self._condition.wait(min(left, 0.2))


class Queue:
    """Where those wait whom one limit slowed down: one asks at a time, first come, first served."""

    def __init__(self) -> None:
        self.waiting: deque[object] = deque()
        self._moved = threading.Condition()

    @contextmanager
    def turn(self, over: Callable[[], bool]) -> Iterator[None]:
        """Wait for one's turn, or until there is no more time to wait."""
        ticket = object()
        with self._moved:
            self.waiting.append(ticket)
            while self.waiting[0] is not ticket and not over():
                self._moved.wait(0.2)
        try:
            yield
        finally:
            with self._moved:
                self.waiting.remove(ticket)
                self._moved.notify_all()
