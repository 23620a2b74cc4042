"""Callers who are not authentic, made from the credentials of one who is: each is one step away from that.

Specification: "Tool Call Status Check", section "Security Considerations"; "Transport", "Authentication".
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from rap_conformance.engine.evidence import Headers
from rap_conformance.network.credentials import NOBODY, Credentials
from rap_conformance.protocol.forgeries import PLAINLY_WRONG, forged, forgeries, wrong
from rap_conformance.protocol.leaks import reveals
from rap_conformance.protocol.secrets import Piece, pieces, rewritten
from rap_conformance.server.identity import self_made
from rap_conformance.server.merit import ask_as, on_merit
from rap_conformance.server.peer import Peer

Stranger = tuple[str, Credentials]
"""What is wrong with a caller's credentials, and the credentials."""

Change = Callable[[Headers], Headers]

OTHER_AUTHORITY = "a certificate of another authority"
SELF_MADE = (("cert", "self-made.pem"),)
"""The file, as curl names it, that whoever repeats this has to make: certificate and key with our names."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What shows who we are, piece by piece. `self_made` presents a certificate that nobody vouches for."""

    ours: Credentials
    pieces: tuple[Piece, ...]
    self_made: ssl.SSLContext | None

    @property
    def certified(self) -> bool:
        """Whether a client certificate is among what identifies us."""
        return self.ours.certificate is not None

    @property
    def single(self) -> bool:
        """Whether one thing alone shows who we are."""
        return len(self.pieces) + self.certified == 1

    def changed(self, change: Change, *, alone: Piece | None = None) -> Credentials:
        """Ours with headers as `change` makes them; with `alone` of that piece, and nothing else."""
        ours = self.ours

        def sign(method: str, url: str, body: bytes) -> Headers:
            made = ours.made(method, url, body)
            if alone is not None:
                made = rewritten(made, lambda each: each.text if each.key == alone.key else None)
            return change(made)

        fixed = ours.signer is None
        return Credentials(
            headers=sign("", "", b"") if fixed else (),
            signer=None if fixed else sign,
            certificate=ours.certificate if alone is None else None,
            files=ours.files if alone is None else (),
        )

    def forging(self, piece: Piece, title: str, *, alone: bool) -> Credentials:
        """Ours with one piece forged in the way that `title` names."""
        return self.changed(lambda headers: forged(headers, piece, title), alone=piece if alone else None)

    def all_wrong(self) -> Credentials:
        """Every piece that looks like a secret in its right form, and wrong; if none does, every piece."""
        telling = {piece.key for piece in self.pieces if piece.telling} or {p.key for p in self.pieces}

        def change(headers: Headers) -> Headers:
            return rewritten(headers, lambda each: wrong(each) if each.key in telling else each.text)

        files = SELF_MADE if self.self_made else ()
        return replace(self.changed(change), certificate=self.self_made, files=files)


def identity(peer: Peer) -> Identity:
    """What shows who we are."""

    def make() -> Identity:
        ours = peer.session.probe.credentials
        found = pieces(ours.made("POST", peer.session.facts.status_url, b"{}"))
        return Identity(ours, tuple(found), self_made(peer.config.auth))

    return peer.session.once("identity", make)


def plainly_wrong(peer: Peer) -> Credentials:
    """A caller with credentials that resemble ours in nothing but their form."""
    return hidden(peer, identity(peer).all_wrong())


def deciding(peer: Peer) -> Mapping[tuple[str, str], bool]:
    """The pieces that decide whether we are let in, by their keys, and whether each is enough alone.

    Of several, one may be a preference, a tenant or a version: it decides if it looks like a secret, and
    either is enough without the others, or neither a wrong one nor none passes beside them, who are right.
    """
    return peer.session.once("deciding", lambda: dict(_deciding(peer)))


def _deciding(peer: Peer) -> Iterator[tuple[tuple[str, str], bool]]:
    who = identity(peer)
    for piece in who.pieces:
        if who.single:
            yield piece.key, False
            return

        def without(headers: Headers, piece: Piece = piece) -> Headers:
            return rewritten(headers, lambda each: None if each.key == piece.key else each.text)

        tried = {
            "alone": who.changed(lambda headers: headers, alone=piece),
            "wrong": who.forging(piece, PLAINLY_WRONG, alone=False),
            "absent": who.changed(without),
        }
        asks = [
            (how, lambda caller=caller: ask_as(peer, hidden(peer, caller))) for how, caller in tried.items()
        ]
        passes = {how: reveals(exchange) for how, exchange in on_merit(peer, asks)}
        if piece.telling and (passes["alone"] or not (passes["wrong"] or passes["absent"])):
            yield piece.key, passes["alone"]
        else:
            peer.note(f"{piece.title} was not forged: it looks like no secret, or does not decide")


def strangers(peer: Peer) -> list[Stranger]:
    """Callers who are not authentic, from none to nearly right credentials; found out once a run."""
    return peer.session.once(
        "strangers", lambda: [(title, hidden(peer, caller)) for title, caller in _strangers(peer)]
    )


def _strangers(peer: Peer) -> Iterator[Stranger]:
    who = identity(peer)
    yield "no credentials", NOBODY
    if who.certified and who.self_made is None:
        peer.note("no certificate of another authority was tried: pip install rap-conformance[mtls]")
    if who.self_made is not None:
        yield OTHER_AUTHORITY, Credentials(certificate=who.self_made, files=SELF_MADE)
    if not who.single:
        yield PLAINLY_WRONG, who.all_wrong()
    decides = deciding(peer)
    for piece in who.pieces:
        if piece.key in decides:
            for title, _ in forgeries(piece):
                yield title, who.forging(piece, title, alone=decides[piece.key])


def hidden(peer: Peer, credentials: Credentials) -> Credentials:
    """Credentials that are not ours, hidden in reports like ours."""
    for _, value in credentials.headers:
        if len(value) >= 8:
            peer.session.redactor.learn(value)
    return credentials
