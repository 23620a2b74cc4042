"""What is made once a run, whoever asks for it first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

T = TypeVar("T")


class Once:
    """Values by their keys, each made when it is first asked for. Safe to use from many threads."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._locks: dict[str, threading.RLock] = {}

    def get(self, key: str, make: Callable[[], T]) -> T:
        """The value of `make()`, computed once; an exception counts as not computed."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.RLock())
        with lock:
            if key not in self._made:
                self._made[key] = make()
            return cast(T, self._made[key])
