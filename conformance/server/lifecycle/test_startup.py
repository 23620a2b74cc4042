"""Ready before the port is open: who starts late is taken for somebody who is not there.

Specification: "Protocol Lifecycle", section "Startup".
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.evidence import Exchange, Failure
from rap_conformance.engine.scenario import Trouble, Untested, scenario
from rap_conformance.network.supervisor import listens
from rap_conformance.protocol.messages import JSON, encode, fresh, invocation
from rap_conformance.server.peer import Peer

STARTING = 30.0
"""Seconds that a server may take to open its port, and then to answer."""


NOT_YET_UP = frozenset({Failure.REFUSED, Failure.RESET, Failure.CUT_SHORT})
"""What a port gives that is published before anybody listens behind it."""


@scenario("DSC013", control=Positive("the manifest has to be there"))
def test_ready_first(peer: Peer) -> None:
    """From the first answer on, discovery and invocation are there. A reset before any answer is none."""
    start_anew(peer)
    first = at_last(
        peer, lambda: peer.session.probe.send("GET", peer.session.facts.discovery_url, patient=False)
    )
    second = at_last(peer, lambda: invoked_at_once(peer))
    if not peer.patience.until(peer.session.answers, STARTING, every=0.05):
        raise Trouble(f"the server did not answer discovery within {STARTING:g} s of its restart")
    for what, exchange in (("discovery", first), ("invocation", second)):
        if exchange is None:
            peer.note("invocation was not asked: no tool may be called")
            continue
        silent = exchange.status is None and exchange.failure is not Failure.REFUSED
        peer.expect(
            exchange.status is not None and exchange.status < 400,
            f"{what} answers" if silent else "no error",
            str(exchange.failure or f"status {exchange.status}"),
            exchange,
            case=f"{what} right after the start",
        )


def at_last(peer: Peer, ask: Callable[[], Exchange | None]) -> Exchange | None:
    """The first answer, or whatever there is in its place when a server must have started."""
    made: list[Exchange | None] = []

    def up() -> bool:
        made.append(ask())
        last = made[-1]
        return last is None or last.status is not None or last.failure not in NOT_YET_UP

    peer.patience.until(up, STARTING, every=0.02)
    return made[-1]


def start_anew(peer: Peer) -> None:
    """Kill the server, start it, and wait for the very moment at which its port is open."""
    supervisor = peer.session.supervisor
    assert supervisor is not None
    supervisor.kill()
    supervisor.start(None)
    parts = urlsplit(peer.session.facts.base)
    listening = peer.patience.until(
        lambda: listens(parts.hostname or "", parts.port or 80) or not supervisor.running,
        STARTING,
        every=0.005,
    )
    if not listening or not supervisor.running:
        raise peer.session.lost(supervisor.output()[-200:].strip() or "it said nothing")


def invoked_at_once(peer: Peer) -> Exchange | None:
    """An invocation of a quick tool, sent once; None if no tool may be called."""
    try:
        tool = peer.session.tool("quick")
    except Untested:
        return None
    box = peer.session.receiver.mailbox()
    body = invocation(tool.operation, tool.arguments, fresh(), fresh("thread"), box.url)
    return peer.session.probe.send(
        "POST", peer.session.facts.endpoint, encode(body), headers=JSON, patient=False
    )
