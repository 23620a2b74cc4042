"""The controls that many scenarios share: an ordinary question is answered, a live call is seen alive."""

from __future__ import annotations

from collections.abc import Callable

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Untested
from rap_conformance.protocol.leaks import reveals
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.call import Call
from rap_conformance.server.corpus import live
from rap_conformance.server.peer import Peer

EVERY = 0.06
"""Seconds between two questions about a call that should be alive."""


def need_answer(peer: Peer) -> None:
    """An ordinary, authentic query gets a status answer, about an unknown id or else about a live call.

    Raises Untested if neither does.
    """
    exchange = peer.ask(fresh(), fresh("thread"))
    if reveals(exchange):
        return
    if exchange.failure is None:
        about_live = peer.session.once("control", lambda: _about_live(peer))
        if any(reveals(each) for each in about_live):
            return
    got = exchange.failure or f"status {exchange.status}"
    raise Untested(f"the control, an ordinary query, gets no status answer ({got}), which TCS001 is about")


def _about_live(peer: Peer) -> list[Exchange]:
    """Answers about a live call, none where no call can be made."""
    try:
        return [exchange for _, exchange in live(peer)]
    except Untested:
        return []


def seen_alive(peer: Peer, call: Call, over: Callable[[], object]) -> bool:
    """Ask about a call until it is alive, or `over`, within the grace time; whether it was alive."""
    end = peer.patience.now() + peer.grace
    while True:
        if means_alive(peer.ask_about(call)):
            return True
        if over() or peer.patience.now() > end:
            return False
        peer.patience.pace(EVERY)
