"""Two requests on one connection, ours and a stranger's in either order: neither changes what the other gets.

Specification: "Tool Call Status Check", section "Security Considerations"; RFC 9112, 9.3 (persistence).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rap_conformance.engine.evidence import Exchange
from rap_conformance.network.answers import slowed_down
from rap_conformance.network.credentials import NOBODY
from rap_conformance.network.spoken import Asked, converse
from rap_conformance.protocol.messages import encode, fresh, query
from rap_conformance.server.merit import calmly, on_merit
from rap_conformance.server.peer import Peer
from rap_conformance.server.strangers import identity, plainly_wrong, strangers

LARGE = 100_000
"""Bytes of a body that a server may not want to read to its end before it rejects it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two requests, and in words what is tried."""

    case: str
    first: Asked
    second: Asked


def before_us(peer: Peer) -> Iterator[Pair]:
    """A stranger's request of some size, and an ordinary one of ours after it."""
    caller = plainly_wrong(peer) if identity(peer).certified else NOBODY
    body = _body()
    yield Pair("a rejected one", Asked(body, caller), Asked(_body()))
    yield Pair("a rejected one in chunks", Asked(body, caller, chunked=True), Asked(_body()))
    yield Pair("a large rejected one", Asked(body + b" " * LARGE, caller), Asked(_body()))


def after_us(peer: Peer) -> Iterator[Pair]:
    """An ordinary request of ours, and after it one of a stranger; a certificate is the connection's own."""
    for title, caller in strangers(peer):
        if caller.certificate is peer.session.probe.credentials.certificate:
            yield Pair(title, Asked(_body()), Asked(_body(), caller))


def conversations(peer: Peer, pairs: Iterable[Pair]) -> Iterator[tuple[Pair, list[Exchange]]]:
    """What comes back on each connection while right questions are answered.

    One answer where the server hung up after the first.

    Raises Untested if a lock-out is not over in time.
    """
    made = {pair.case: pair for pair in pairs}
    asks = [(case, lambda pair=pair: _ask(peer, pair)) for case, pair in made.items()]
    for case, exchanges in on_merit(peer, asks):
        yield made[case], exchanges


def spoilt(peer: Peer, exchanges: list[Exchange]) -> bool:
    """Whether a request was rejected for its credentials and the one after it got no ordinary answer.

    To be told to slow down is no answer at all.
    """
    if len(exchanges) < 2 or exchanges[0].status not in {401, 403} or slowed_down(exchanges[1]):
        return False
    return exchanges[1].status != peer.session.facts.status_plainly


def _ask(peer: Peer, pair: Pair) -> list[Exchange]:
    url = peer.session.facts.status_url
    return calmly(peer, lambda: converse(peer.session.probe, url, (pair.first, pair.second)))


def _body() -> bytes:
    return encode(query(fresh(), fresh("thread")))
