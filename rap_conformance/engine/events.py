"""What happens in a run, told to whoever listens: the terminal, test items, a harness that counts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from rap_conformance.engine.evidence import Finding
from rap_conformance.engine.requirement import Requirement
from rap_conformance.engine.run import Result, Run


@dataclass(frozen=True, slots=True)
class Begins:
    """A requirement is being judged; `done` of `planned` are over, and it takes about `left` seconds more."""

    requirement: Requirement
    done: int
    planned: int
    left: float = 0.0


@dataclass(frozen=True, slots=True)
class Found:
    """A finding, as soon as it is certain; `requests` were made until then."""

    requirement: Requirement
    finding: Finding
    requests: int


@dataclass(frozen=True, slots=True)
class Judged:
    """A requirement has its verdict."""

    result: Result


@dataclass(frozen=True, slots=True)
class Ended:
    """The run is over; `refusal` says why nothing could be judged, `reports` where its reports are."""

    run: Run
    refusal: str = ""
    reports: str = ""


Event = Begins | Found | Judged | Ended
Listener = Callable[[Event], None]


class Events:
    """Tells every listener of every event, one at a time, from whatever thread it comes."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []
        self._lock = threading.RLock()

    def listen(self, listener: Listener) -> None:
        """Tell `listener` of all that happens from now on."""
        self._listeners.append(listener)

    def tell(self, event: Event) -> None:
        """Tell everybody."""
        with self._lock:
            for listener in self._listeners:
                listener(event)
