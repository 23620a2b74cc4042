"""What happened in a session so far, as many threads write it: the last input, what was left unanswered.

Whose fault a death is depends on it, so every change is made under one lock.
"""

from __future__ import annotations

import threading

from rap_conformance.engine.evidence import Exchange, Failure


class History:
    """The exchanges of one session, as far as others need to know of them. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: Exchange | None = None
        self._silences = 0
        self._latencies: list[float] = []
        self._elapsed: list[float] = []
        self._provoked: list[Exchange] = []
        self._answers = 0
        self._betrayals: dict[str, Exchange] = {}
        self._broken: set[str] = set()

    def last(self) -> Exchange | None:
        """The exchange that ended last, whoever made it."""
        with self._lock:
            return self._last

    def ended(self, exchange: Exchange, *, of_status: bool) -> None:
        """An exchange ended; `of_status`: it was a question to the status endpoint."""
        with self._lock:
            self._last = exchange
            self._silences = self._silences + 1 if exchange.failure is Failure.TIMEOUT else 0
            if exchange.failure is None:
                self._elapsed.append(exchange.elapsed)
            if of_status and exchange.failure is None:
                self._latencies.append(exchange.elapsed)
            if of_status and exchange.status is not None:
                self._answers += 1
                if exchange.betrays:
                    kind = "an error" if exchange.status >= 400 else "an answer"
                    self._betrayals.setdefault(f"{exchange.betrays} in {kind}", exchange)

    @property
    def silences(self) -> int:
        """How many requests in a row were left without an answer."""
        with self._lock:
            return self._silences

    @property
    def elapsed(self) -> tuple[float, ...]:
        """How long each answer took, in seconds."""
        with self._lock:
            return tuple(self._elapsed)

    @property
    def latencies(self) -> tuple[float, ...]:
        """Response times of the status endpoint, in seconds."""
        with self._lock:
            return tuple(self._latencies)

    @property
    def betrayals(self) -> tuple[int, dict[str, Exchange]]:
        """How many answers the status endpoint gave, and those that held secrets of ours, by what it was."""
        with self._lock:
            return self._answers, dict(self._betrayals)

    def provoke(self, exchange: Exchange) -> None:
        """Keep an answer to an input that should be refused: what it reveals is judged later."""
        with self._lock:
            self._provoked.append(exchange)

    @property
    def provoked(self) -> tuple[Exchange, ...]:
        """The answers to inputs that should be refused."""
        with self._lock:
            return tuple(self._provoked)

    def break_(self, code: str) -> None:
        """A requirement was found broken."""
        with self._lock:
            self._broken.add(code)

    def is_broken(self, code: str) -> bool:
        """Whether a requirement was found broken so far: what follows from it is not held against others."""
        with self._lock:
            return code in self._broken
