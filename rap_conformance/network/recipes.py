"""How recent requests were made, so that they can be made again; recorded exchanges are redacted.

Kept within bounds, in memory only, and never shown. Safe to use from many threads.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from rap_conformance.engine.evidence import Headers
from rap_conformance.network.credentials import Credentials

MOST = 10_000
"""Requests that are remembered."""
MOST_BYTES = 64 << 20
"""Bytes of their bodies that are remembered, altogether."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """One request as it was meant to be sent; `credentials` None means ours.

    Only bodies are kept that are there as a whole: bytes, or a tuple of those that are sent in chunks.

    `connection`: on which one it went, 0 if that is not known. `before`: the number of the exchange that went
    there right before it, 0 if it was the first. `began` and `ended` are seconds since the run began.
    `by_hand`: without a client that looks after connections.
    """

    method: str
    url: str
    body: bytes | Iterable[bytes]
    headers: Headers
    credentials: Credentials | None
    target: str | None
    cap: int
    connection: int = 0
    before: int = 0
    began: float = 0.0
    ended: float = 0.0
    by_hand: bool = False


class Recipes:
    """The recipes of the last requests, by their numbers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, Recipe] = OrderedDict()
        self._last_on: OrderedDict[int, int] = OrderedDict()
        self._bytes = 0

    def keep(self, number: int, recipe: Recipe) -> None:
        """Remember how an exchange was made, which has ended; it learns what came before it."""
        with self._lock:
            if recipe.connection:
                recipe = replace(recipe, before=self._last_on.pop(recipe.connection, 0))
                self._last_on[recipe.connection] = number
            self._kept[number] = recipe
            self._bytes += _size(recipe)
            while len(self._kept) > MOST or self._bytes > MOST_BYTES:
                _, gone = self._kept.popitem(last=False)
                self._bytes -= _size(gone)
            while len(self._last_on) > MOST:
                self._last_on.popitem(last=False)

    def get(self, number: int) -> Recipe | None:
        """How an exchange was made, if that is still known."""
        with self._lock:
            return self._kept.get(number)

    def before(self, number: int, most: int) -> list[int]:
        """The exchanges that went before one on its connection and can be made again, the nearest first."""
        found: list[int] = []
        with self._lock:
            recipe = self._kept.get(number)
            while recipe is not None and recipe.before in self._kept and len(found) < most:
                found.append(recipe.before)
                recipe = self._kept[recipe.before]
        return found

    def beside(self, number: int) -> int:
        """How many other requests were under way at some time while this one was."""
        with self._lock:
            one = self._kept.get(number)
            if one is None:
                return 0
            return sum(r.began < one.ended and one.began < r.ended for r in self._kept.values()) - 1


def whole(body: bytes | Iterable[bytes]) -> bytes | None:
    """All of a body, if it is there more than once."""
    if isinstance(body, tuple):
        return b"".join(body)
    return body if isinstance(body, bytes) else None


def _size(recipe: Recipe) -> int:
    return len(whole(recipe.body) or b"")
