"""SIGINT and SIGTERM: either ends a run so that its reports are written, whenever it comes."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

BOTH = (signal.SIGINT, signal.SIGTERM)


class Signals:
    """What the two signals do while a run is made ready, and while it is under way.

    Does nothing outside the main thread, where Python allows no handlers.
    """

    def __init__(self) -> None:
        self._before: dict[signal.Signals, Any] = {}
        self._arrived = 0

    def defer(self) -> None:
        """Keep a signal that comes before `interrupt` is called; safe to call twice."""
        if threading.current_thread() is threading.main_thread() and not self._before:
            self._arrived = 0
            self._before = {number: signal.signal(number, self._keep) for number in BOTH}

    def interrupt(self) -> None:
        """Let both raise KeyboardInterrupt from now on, and at once if one came before."""
        for number in self._before:
            signal.signal(number, _raise)
        if self._arrived:
            raise KeyboardInterrupt(f"signal {self._arrived}")

    def hold(self, hurry: Callable[[], None]) -> None:
        """Interrupt nothing from now on: what was started is stopped and reports are written.

        That ends soon; one who does not want to wait for it sends a signal, which calls `hurry`, and ends the
        process by one more.
        """

        def hasten(number: int, frame: FrameType | None) -> None:
            self._keep(number, frame)
            for each in BOTH:
                signal.signal(each, signal.SIG_DFL)
            hurry()

        for number in self._before:
            signal.signal(number, hasten)

    def restore(self) -> int:
        """Put back what was there before; safe to call twice. Gives a signal that came, 0 for none."""
        while self._before:
            signal.signal(*self._before.popitem())
        # An interruption amid `exec` of a text (dataclasses do that while they are imported) leaves CPython
        # believing that nobody handled it: it would end the process by SIGINT after all. Another ends that.
        eval("None")  # noqa: S307 -- a constant
        return self._arrived

    def _keep(self, number: int, _: FrameType | None) -> None:
        self._arrived = number


SIGNALS = Signals()
"""The process's own: kept from its first moment on, where a run of ours is going to be made."""


def _raise(number: int, _: FrameType | None) -> None:
    raise KeyboardInterrupt(f"signal {number}")
