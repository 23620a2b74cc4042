"""What strangers are told, as far as it depends on what they sent: not on a lock-out, not on a limit.

A server that shuts out whoever sent wrong credentials too often says nothing about the next ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Untested
from rap_conformance.network.answers import retry_after, slowed_down
from rap_conformance.network.credentials import Credentials
from rap_conformance.protocol.messages import fresh
from rap_conformance.server.call import Call
from rap_conformance.server.peer import Peer

T = TypeVar("T")
Ask = tuple[str, Callable[[], T]]
"""A question of a stranger: in words, and as it is asked."""

BATCH = 8
"""Questions of strangers after which a right one is asked."""
PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds between attempts of a stranger who is asked to slow down."""


def ask_as(peer: Peer, caller: Credentials, call: Call | None = None, **how: Any) -> Exchange:
    """The status check by somebody else, about a call of ours or else about an unknown one."""
    ids = (fresh(), fresh("thread")) if call is None else (call.id, call.thread)
    return unhurried(peer, lambda: peer.ask(*ids, credentials=caller, patient=False, **how))


def unhurried(peer: Peer, ask: Callable[[], Exchange]) -> Exchange:
    """What a stranger gets who slows down when asked to, within bounds."""
    return calmly(peer, lambda: [ask()])[0]


def calmly(peer: Peer, ask: Callable[[], list[Exchange]]) -> list[Exchange]:
    """The same of several questions, of which the last answer tells."""
    for pause in PAUSES:
        exchanges = ask()
        if not slowed_down(exchanges[-1]):
            return exchanges
        peer.patience.pace(max(pause, min(retry_after(exchanges[-1]), PAUSES[-1])))
    return ask()


def on_merit(peer: Peer, asks: Iterable[Ask[T]]) -> Iterator[tuple[str, T]]:
    """What strangers get, asked while right questions are answered; a lock-out is waited out in between.

    Raises Untested if it is not over in time.
    """
    recovery = peer.session.recovery
    waiting = list(asks)
    while waiting:
        size = 1 if recovery.locks_out else max(BATCH, peer.session.tempo.sides)
        batch, waiting = waiting[:size], waiting[size:]
        told = peer.session.tempo.at_once([ask for _, ask in batch])
        answers = [(title, each) for (title, _), each in zip(batch, told, strict=True)]
        if not recovery.is_over():
            wait_out(peer)
            if size > 1:
                recovery.locks_out = True
                waiting = batch + waiting
                continue
        yield from answers


def wait_out(peer: Peer) -> None:
    """Wait until right questions are answered again. Raises Untested if they are not."""
    if not peer.session.recovered():
        raise Untested(peer.session.recovery.failed)
