"""Several things of one scenario done at once: most of them wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from rap_conformance.engine.record import Record
from rap_conformance.server.peer import Peer

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


def in_parts(peer: Peer, works: Mapping[str, Callable[[Peer], None]]) -> None:
    """Several parts, each judged where it can be; beside each other where answers are late."""
    if not peer.session.slow(peer.record.requirement.stage):
        for title, work in works.items():
            with peer.part(title):
                work(peer)
        return

    def judged(title: str, work: Callable[[Peer], None]) -> Record:
        apart = peer.apart()
        with apart.part(title):
            work(apart)
        return apart.record

    for each in at_once({title: partial(judged, title, work) for title, work in works.items()}).values():
        peer.record.join(each.result())
