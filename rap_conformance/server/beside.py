"""Several things of one scenario done at once: most of them wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
S = TypeVar("S")


def at_once(works: Mapping[str, Callable[[], T]]) -> dict[str, Future[T]]:
    """Do everything beside each other; gives, in the order given, what came of each, exceptions included."""
    with ThreadPoolExecutor(max(1, len(works))) as sides:
        return {title: sides.submit(work) for title, work in works.items()}


def beside(one: Callable[[], S], other: Callable[[], T]) -> tuple[S, T]:
    """Do two things at once. Raises what either raises, the first one first."""
    with ThreadPoolExecutor(2) as sides:
        first, second = sides.submit(one), sides.submit(other)
    return first.result(), second.result()
