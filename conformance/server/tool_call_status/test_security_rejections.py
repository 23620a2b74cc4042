"""How callers who are not authentic are rejected, and what is ambiguous.

Specification: "Tool Call Status Check", section "Security Considerations"; RFC 9110, 15.5.2 and 15.5.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange, Failure, Headers
from rap_conformance.engine.scenario import NotApplicable, Untested, scenario
from rap_conformance.protocol.forgeries import PLAINLY_WRONG, WRONG, loose, wrong
from rap_conformance.protocol.leaks import reveals
from rap_conformance.protocol.messages import encode, fresh, query
from rap_conformance.protocol.secrets import Piece, rewritten
from rap_conformance.server.controls import need_answer
from rap_conformance.server.merit import Ask, ask_as, on_merit, unhurried
from rap_conformance.server.peer import Peer
from rap_conformance.server.strangers import OTHER_AUTHORITY, Change, deciding, hidden, identity, strangers


@scenario("TCS034", control=Control("the same query with the right credentials is answered", need_answer))
def test_rejected_as_such(peer: Peer) -> None:
    """Missing or wrong credentials get 401 with WWW-Authenticate, or 403."""
    plain = {"no credentials", PLAINLY_WRONG, OTHER_AUTHORITY}
    asks = [
        (title, lambda caller=caller: ask_as(peer, caller))
        for title, caller in strangers(peer)
        if title in plain
    ]
    rejected = False
    for title, exchange in on_merit(peer, asks):
        challenged = exchange.status == 401 and exchange.header("www-authenticate") is not None
        if reveals(exchange) and exchange.status != 403 and not challenged:
            peer.note(f"{title}: accepted, which TCS011 is about")
            continue
        rejected = True
        got = str(exchange.failure or f"status {exchange.status}")
        peer.expect(
            exchange.status == 403 or challenged or refused_by_tls(peer, exchange),
            "401 with WWW-Authenticate, or 403",
            "401 without WWW-Authenticate" if exchange.status == 401 else got,
            exchange,
            case=title,
        )
    if not rejected:
        raise Untested("no wrong credential is rejected, which TCS011 is about")


def refused_by_tls(peer: Peer, exchange: Exchange) -> bool:
    """Where a certificate is asked for, a failed handshake rejects as well, and so does 400 (nginx)."""
    if not identity(peer).certified:
        return False
    return exchange.status == 400 or exchange.failure in {Failure.TLS, Failure.RESET}


@dataclass(frozen=True, slots=True)
class Misplaced:
    """The right secret of one piece where it does not belong: what that makes of headers and query.

    `alone`: the piece is enough without the others, so they are left out.
    """

    title: str
    piece: Piece
    alone: bool
    change: Change
    search: str

    def asked(self, peer: Peer) -> Exchange:
        """What it gets."""
        return self._ask(peer, self.change, self.search)

    def falsified(self, peer: Peer) -> Exchange:
        """What a wrong secret gets in the same place."""

        def change(headers: Headers) -> Headers:
            key = self.piece.key
            return self.change(rewritten(headers, lambda each: wrong(each) if each.key == key else each.text))

        return self._ask(peer, change, self.search.replace(self.piece.secret, WRONG))

    def _ask(self, peer: Peer, change: Change, search: str) -> Exchange:
        made = identity(peer).changed(change, alone=self.piece if self.alone else None)
        caller = hidden(peer, made)
        path = urlsplit(peer.session.facts.status_url).path
        target = f"{path}?{search}" if search else None
        body = encode(query(fresh(), fresh("thread")))
        return unhurried(
            peer, lambda: peer.post_status(body, credentials=caller, target=target, patient=False)
        )


def misplaced(peer: Peer) -> Iterator[Misplaced]:
    """All that is tried."""
    decides = deciding(peer)
    for piece in identity(peer).pieces:
        if piece.key in decides:
            for title, change, search in loose(piece):
                yield Misplaced(title, piece, decides[piece.key], change, search)


@scenario("TCS035", control=Control("the right secret in its right place is accepted", need_answer))
def test_strict_credentials(peer: Peer) -> None:
    """The right secret in the wrong place, or beside a wrong one, is rejected."""
    tried = list(misplaced(peer))
    if not tried:
        raise NotApplicable("what identifies us has one place only")
    asks: list[Ask[tuple[Misplaced, Exchange]]] = [
        (each.title, lambda each=each: (each, each.asked(peer)))  # type: ignore[misc]
        for each in tried
    ]
    strict = False
    for title, (each, exchange) in on_merit(peer, asks):
        if reveals(exchange) and reveals(each.falsified(peer)):
            peer.note(f"{title}: a wrong one is accepted there as well, which TCS011 is about")
            continue
        strict = True
        peer.expect(not reveals(exchange), "a rejection", "an answer about the call", exchange, case=title)
    if not strict:
        raise Untested("wrong credentials are accepted everywhere, which TCS011 is about")
