"""Questions of callers who are not authentic, made from the credentials of one who is.

Each is one step away from an authentic one. What matters is whether it is rejected for that step: a server
that shuts out whoever sent wrong credentials too often says nothing about the next ones.

Specification: "Tool Call Status Check", section "Security Considerations"; "Transport", "Authentication".
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from rap_conformance.engine.evidence import Exchange, Headers
from rap_conformance.engine.scenario import Untested
from rap_conformance.network.answers import retry_after, slowed_down
from rap_conformance.network.credentials import NOBODY, Credentials
from rap_conformance.protocol.forgeries import PLAINLY_WRONG, forged, forgeries, wrong
from rap_conformance.protocol.leaks import reveals
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.secrets import Piece, pieces, rewritten
from rap_conformance.server.call import Call
from rap_conformance.server.identity import self_made
from rap_conformance.server.peer import Peer

Stranger = tuple[str, Credentials]
"""What is wrong with a caller's credentials, and the credentials."""

T = TypeVar("T")
Ask = tuple[str, Callable[[], T]]
"""A question of a stranger: in words, and as it is asked."""

Change = Callable[[Headers], Headers]

OTHER_AUTHORITY = "a certificate of another authority"
BATCH = 8
"""Questions of strangers after which a right one is asked."""
PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds between attempts of a stranger who is asked to slow down."""


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

    def changed(self, change: Change, certificate: ssl.SSLContext | None) -> Credentials:
        """Other credentials: headers as `change` makes them of ours, and a certificate or none."""
        ours = self.ours

        def sign(method: str, url: str, body: bytes) -> Headers:
            return change(ours.made(method, url, body))

        if ours.signer is None:
            return Credentials(change(ours.headers), certificate=certificate)
        return Credentials(signer=sign, certificate=certificate)

    def forging(self, piece: Piece, title: str) -> Credentials:
        """Ours with one piece forged."""
        return self.changed(lambda headers: forged(headers, piece, title), self.ours.certificate)

    def alone(self, piece: Piece, title: str = "") -> Credentials:
        """One piece without the others, forged if there is a title."""

        def change(headers: Headers) -> Headers:
            made = forged(headers, piece, title) if title else headers
            return rewritten(made, lambda each: each.text if each.key == piece.key else None)

        return self.changed(change, None)

    def without(self, piece: Piece) -> Credentials:
        """Ours without one piece."""

        def change(headers: Headers) -> Headers:
            return rewritten(headers, lambda each: None if each.key == piece.key else each.text)

        return self.changed(change, self.ours.certificate)

    def all_wrong(self) -> Credentials:
        """Every piece in its right form, and wrong."""
        return self.changed(lambda headers: rewritten(headers, wrong), self.self_made)


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
    if len(who.pieces) + who.certified > 1:
        yield PLAINLY_WRONG, who.all_wrong()
        yield from _partly(peer, who)
    elif who.self_made is not None:
        yield OTHER_AUTHORITY, who.all_wrong()
    for piece in who.pieces if len(who.pieces) + who.certified == 1 else ():
        for title, _ in forgeries(piece):
            yield title, who.forging(piece, title)


def _partly(peer: Peer, who: Identity) -> Iterator[Stranger]:
    """Forged pieces of several, as far as they identify us: others may be a preference, a tenant, a version.

    A piece counts if neither a wrong one nor none passes beside the others, which are right; then it is
    forged beside them. If another is enough, but this one alone is too, it is forged alone.
    """
    for piece in who.pieces:
        asks: list[Ask[Exchange]] = [
            (title, lambda caller=caller: ask_as(peer, hidden(peer, caller)))  # type: ignore[misc]
            for title, caller in (
                ("wrong", who.forging(piece, PLAINLY_WRONG)),
                ("absent", who.without(piece)),
                ("alone", who.alone(piece)),
            )
        ]
        passes = {title: reveals(exchange) for title, exchange in on_merit(peer, asks)}
        if not piece.telling or not (passes["alone"] or not (passes["wrong"] or passes["absent"])):
            peer.note(f"{piece.title} was not forged: it looks like no secret, or does not decide")
            continue
        for title, _ in forgeries(piece):
            yield title, who.alone(piece, title) if passes["alone"] else who.forging(piece, title)
    if who.self_made is not None:
        yield OTHER_AUTHORITY, Credentials(certificate=who.self_made)


def hidden(peer: Peer, credentials: Credentials) -> Credentials:
    """Credentials that are not ours, hidden in reports like ours."""
    for _, value in credentials.headers:
        if len(value) >= 8:
            peer.session.redactor.learn(value)
    return credentials


def ask_as(peer: Peer, caller: Credentials, call: Call | None = None) -> Exchange:
    """The status check by somebody else, about a call of ours or else about an unknown one."""
    ids = (fresh(), fresh("thread")) if call is None else (call.id, call.thread)
    return unhurried(peer, lambda: peer.ask(*ids, credentials=caller, patient=False))


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
        size = 1 if recovery.locks_out else BATCH
        batch, waiting = waiting[:size], waiting[size:]
        answers = [(title, ask()) for title, ask in batch]
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
