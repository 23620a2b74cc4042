"""HTTP as clients speak it: an ordinary query stays an ordinary query, in whatever manner it is said.

Runtimes are written with many HTTP clients. Some write header names in lower case, some send a body in chunks
or ask before they send it, and a network splits whatever it is given.
Specification: "Tool Call Status Check", section "Request"; HTTP is RFC 9110 and RFC 9112.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from rap_conformance.engine.evidence import Exchange, Failure, Headers
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.scenario import Untested, Violation
from rap_conformance.network.line import Manner, byte_by_byte, split
from rap_conformance.network.spoken import Spoken, speak
from rap_conformance.protocol.messages import JSON, encode, fresh, query
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import Question, while_live
from rap_conformance.server.call import Call
from rap_conformance.server.corpus import Check
from rap_conformance.server.peer import Peer
from rap_conformance.server.tempo import batched

PLAIN = Manner()
CHUNKED = "a chunked body"
MANNERS: tuple[tuple[str, Manner], ...] = (
    ("head and body in one packet", PLAIN),
    ("header names in lower case", Manner(names=str.lower)),
    ("header names in upper case", Manner(names=str.upper)),
    (CHUNKED, Manner(chunk=16)),
    ("Expect: 100-continue", Manner(expect=True)),
    ("a body split over packets", Manner(packets=split, pause=0.03)),
    ("one byte at a time", Manner(packets=byte_by_byte, pause=0.001)),
)


@dataclass(frozen=True, slots=True)
class Wording:
    """How a query is written. `write` makes its body of the call's id and the thread's.

    `headers` beside those of every message; `level` of a finding, if it is not the requirement's.
    """

    write: Callable[[str, str], bytes] = lambda call_id, thread: encode(query(call_id, thread))
    headers: Headers = JSON
    level: Level | None = None


def escaped(call_id: str, thread: str) -> bytes:
    """With an escape in place of each id's first character, which JSON allows for any."""
    first = f"\\u{ord(call_id[0]):04x}".encode("ascii")
    return encode(query("@" + call_id[1:], thread)).replace(b'"@', b'"' + first)


WORDINGS: tuple[tuple[str, Wording], ...] = (
    ("JSON without spaces", Wording(lambda c, t: json.dumps(query(c, t), separators=(",", ":")).encode())),
    ("the call before the thread", Wording(lambda c, t: encode({"tool_call_id": c, "thread_id": t}))),
    ("JSON over several lines", Wording(lambda c, t: json.dumps(query(c, t), indent=2).encode() + b"\n")),
    ("an escaped letter in the id", Wording(escaped)),
    ("Accept: */*", Wording(headers=(*JSON, ("Accept", "*/*")))),
    (
        "a media type in capitals",
        Wording(headers=(("Content-Type", "Application/JSON"),), level=Level.ADVICE),
    ),
)
"""What JSON and HTTP let clients write otherwise. RFC 8259, 2 and 7; RFC 9110, 8.3.1 and 12.5.1."""
MOST_SILENT = 2
"""Manners that are left without an answer before no more are tried: each costs a whole time-out."""
SLOW_PIECES = Manner(chunk=20, packets=lambda head, body: pieces(head, body, 25), pause=0.05)


def pieces(head: bytes, body: bytes, size: int) -> list[bytes]:
    """The head, then the body, so many bytes at a time."""
    return [head, *(body[at : at + size] for at in range(0, len(body), size))]


def takes_chunks(peer: Peer) -> bool:
    """Whether the server answers in HTTP/1.1: chunks are for those who are known to understand it.

    RFC 9112, 6.1.
    """

    def look() -> bool:
        (plain,) = said(peer, [encode(query(fresh(), fresh("thread")))], PLAIN)
        return plain.version != "1.0"

    taken = peer.session.once("takes chunks", look)
    if not taken:
        peer.note("no chunked body was sent: the server answers in HTTP/1.0")
    return taken


def in_slow_pieces(peer: Peer, body: bytes) -> Exchange:
    """A body that comes bit by bit, as from somebody who types; in chunks where those are understood."""
    manner = SLOW_PIECES if takes_chunks(peer) else replace(SLOW_PIECES, chunk=0)
    return said(peer, [body], manner)[0].exchange


def said(peer: Peer, bodies: list[bytes], manner: Manner) -> list[Spoken]:
    """Bodies to the status endpoint in a manner, one after the other on one connection if it is kept."""
    peer.patience.check()
    made = speak(peer.session.probe, peer.session.facts.status_url, bodies, JSON, manner)
    for each in made:
        peer.record.exchanges += 1
        peer.session.history.ended(each.exchange, of_status=False)
    return made


def judge_manners(peer: Peer, check: Check) -> None:
    """Judge ordinary queries in each manner, about unknown ids and a live call, by what `check` finds."""
    if check(peer.ask(fresh(), fresh("thread"))) is not None:
        raise Untested("an ordinary query is answered wrongly, in whatever manner it is said")
    manners = [*MANNERS] if takes_chunks(peer) else [each for each in MANNERS if each[0] != CHUNKED]
    tempo = peer.session.tempo
    silent = 0

    def twice(manner: Manner) -> list[Spoken]:
        return said(peer, [encode(query(fresh(), fresh("thread"))) for _ in range(2)], manner)

    for some in batched(manners, tempo.sides):
        if silent >= MOST_SILENT:
            for title, _ in some:
                peer.note(f"not said, for the time that it takes to be left without an answer: {title}")
            continue
        spoken = tempo.at_once([partial(twice, manner) for _, manner in some])
        for (title, _), (first, *second) in zip(some, spoken, strict=True):
            judge(peer, title, first.exchange, check)
            silent += first.exchange.failure is Failure.TIMEOUT
            for kept in second:
                if not kept.fresh:
                    judge(peer, f"{title}, on a kept connection", kept.exchange, check)
    asks = [partial(worded, peer, wording, fresh(), fresh("thread")) for _, wording in WORDINGS]
    for (title, wording), exchange in zip(WORDINGS, tempo.at_once(asks), strict=True):
        judge(peer, title, exchange, check, wording.level)
    if silent >= MOST_SILENT:
        return
    with peer.part("a live call"):
        judge_live(peer, [each for each in manners if not is_found(peer, each[0])], check)


def worded(peer: Peer, wording: Wording, call_id: str, thread: str) -> Exchange:
    """A query written in that way."""
    return peer.post_status(wording.write(call_id, thread), headers=wording.headers)


def is_found(peer: Peer, case: str) -> bool:
    """Whether something is known to be wrong with a case."""
    return any(found.case.startswith(case) for found in peer.record.findings)


def judge_live(peer: Peer, manners: list[tuple[str, Manner]], check: Check) -> None:
    """In each manner a live call is alive, as it is to the plain query."""

    def question(manner: Manner) -> Question:
        def ask(call: Call) -> Exchange:
            return said(peer, [encode(query(call.id, call.thread))], manner)[0].exchange

        return "", ask

    def written(wording: Wording) -> Question:
        return "", lambda call: worded(peer, wording, call.id, call.thread)

    asks = {title: question(manner) for title, manner in manners}
    asks |= {title: written(wording) for title, wording in WORDINGS if not is_found(peer, title)}
    plain, told = beside_plain(peer, asks)
    wrong = {
        title: asks[title]
        for title, exchange in told.items()
        if judge(peer, title, exchange, check) and not means_alive(exchange)
    }
    if not wrong:
        return
    # A call that is not alive for a while is TCS005's: what is said wrongly is wrong of another call as well.
    plain, told = beside_plain(peer, wrong)
    for title, exchange in told.items():
        peer.expect(
            means_alive(exchange),
            "`alive: true`, as to the plain query",
            "`alive: false`",
            exchange,
            plain,
            case=title,
        )


def beside_plain(peer: Peer, asks: Mapping[str, Question]) -> tuple[Exchange, dict[str, Exchange]]:
    """The answer to the plain query about a live call, and those to the same query in other manners.

    Raises Untested if to the plain query the call is not alive.
    """
    (_, plain), *answers = while_live(peer, [("", peer.ask_about), *asks.values()])
    if not means_alive(plain):
        raise Untested("the live call, plainly asked about, is not alive, which TCS005 is about")
    return plain, {title: exchange for title, (_, exchange) in zip(asks, answers, strict=True)}


def judge(peer: Peer, case: str, exchange: Exchange, check: Check, level: Level | None = None) -> bool:
    """Judge one answer by what `check` finds; gives whether it is right."""
    found = check(exchange)
    if found is None:
        peer.judged()
        return True
    # HTTP lets a server ask for a length, and meet no expectation; a runtime reads even that as a lost call
    # (note N45).
    level = Level.SHOULD if exchange.status in {411, 417} else level
    peer.report(Violation(found[0], found[1], exchange, case=case, level=level))
    return False
