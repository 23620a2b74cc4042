"""What errors say of calls, of the server's inside and of whoever asks.

Specification: "Tool Call Status Check", section "Security Considerations".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.network.credentials import NOBODY
from rap_conformance.protocol.leaks import internals, leaked
from rap_conformance.protocol.messages import encode, fresh, query
from rap_conformance.server.asking import Labelled
from rap_conformance.server.call import Call, planted
from rap_conformance.server.controls import need_answer
from rap_conformance.server.peer import Peer

BY_A_STRANGER = " instead of POST, without credentials"


@scenario(
    "TCS015",
    control=Control(
        "a well-formed query is answered: an error has its reason in what provoked it", need_answer
    ),
)
def test_errors_reveal_nothing(peer: Peer) -> None:
    """Errors hold nothing of any call, and no other method tells a stranger of calls."""

    def look(exchange: Exchange) -> str | None:
        return leaked(exchange, planted(peer.session.calls))

    with peer.part("errors"):
        judge_errors(peer, look)
    if peer.authenticated:
        with peer.part("other methods, without credentials"):
            made = peer.session.once("provocations", lambda: provocations(peer))
            judge_shown(peer, [each for each in made if each[0].endswith(BY_A_STRANGER)], look)
        with peer.part("our own credentials"):
            judge_betrayals(peer)


@scenario(
    "TCS033",
    control=Control(
        "a well-formed query is answered: an error has its reason in what provoked it", need_answer
    ),
)
def test_errors_without_internals(peer: Peer) -> None:
    """Errors hold nothing of the server's inside."""
    judge_errors(peer, internals)


def judge_errors(peer: Peer, look: Callable[[Exchange], str | None]) -> None:
    """Report what `look` sees in an error answer, each case once."""
    made = peer.session.once("provocations", lambda: provocations(peer))
    kept = [("an input of TCS013 or TCS014", exchange) for exchange in peer.session.history.provoked]
    errors = [
        (case, exchange)
        for case, exchange in (*made, *kept)
        if exchange.status is not None and exchange.status >= 400
    ]
    if not errors:
        raise Untested("no input made the server answer with an error")
    judge_shown(peer, errors, look)


def judge_shown(peer: Peer, answers: list[Labelled], look: Callable[[Exchange], str | None]) -> None:
    """Report what `look` sees in an answer, each case once."""
    for case, exchange in answers:
        what = look(exchange)
        peer.expect(not what, "an answer without it", str(what), exchange, case=case)


def judge_betrayals(peer: Peer) -> None:
    """No answer so far, to whatever was asked, gave a secret back with which somebody identifies himself."""
    answers, betrayals = peer.session.history.betrayals
    if not answers:
        raise Untested("the status endpoint gave no answer")
    for what, exchange in betrayals.items():
        peer.report(Violation("no credential in any answer", what, exchange, case=what))
    peer.judged(answers - len(betrayals))


def provocations(peer: Peer) -> list[Labelled]:
    """Answers to what should be refused, asked while calls with planted secrets are live."""
    try:
        call: Call | None = peer.invoke("pending")
    except Untested:
        call = None
    call_id, thread = (call.id, call.thread) if call else (fresh(), fresh("thread"))
    body = encode(query(call_id, thread))

    def ask(body: bytes, **how: Any) -> Exchange:
        exchange = peer.post_status(body, **how)
        if exchange.status is None and peer.session.supervisor is not None and not peer.session.answers():
            peer.session.restart()  # that it dies is TCS014's
        return exchange

    text = (("Content-Type", "text/plain"),)
    asks = [(case, partial(ask, bad)) for case, bad in refusable(call_id, thread)]
    asks.append(("another media type", partial(ask, body, headers=text)))
    asks.append(("no credentials", partial(ask, body, credentials=NOBODY)))
    asks += [
        (f"{method} instead of POST", partial(ask, b"", method=method)) for method in ("GET", "PUT", "DELETE")
    ]
    for method in ("GET", "OPTIONS", "QUERY"):
        asks.append((f"{method}{BY_A_STRANGER}", partial(ask, b"", method=method, credentials=NOBODY)))
    told = peer.session.tempo.at_once([make for _, make in asks])
    answers = [(case, exchange) for (case, _), exchange in zip(asks, told, strict=True)]
    if call is not None:
        peer.survived(answers[-1][1])
    return answers


def refusable(call_id: str, thread: str) -> list[tuple[str, bytes]]:
    """Bodies that a server may well answer with an error, about a call."""
    return [
        ("a number as the call's id", encode({"thread_id": thread, "tool_call_id": 7})),
        ("a number as the thread's id", encode({"thread_id": 7, "tool_call_id": call_id})),
        ("no thread id", encode({"tool_call_id": call_id})),
        ("no call id", encode({"thread_id": thread})),
        ("a list with the call's id", encode({"thread_id": thread, "tool_call_id": [call_id]})),
        ("an object as the call's id", encode({"thread_id": thread, "tool_call_id": {"$ne": ""}})),
        ("a list", encode([query(call_id, thread)])),
        ("JSON that ends early", encode(query(call_id, thread))[:-2]),
        ("bytes that are not UTF-8", b'{"thread_id": "\xff\xfe", "tool_call_id": "\xc3\x28"}'),
        ("an empty body", b""),
        ("a quote in the id", encode({"thread_id": thread, "tool_call_id": "'\"`;--"})),
        ("a NUL in the id", encode({"thread_id": thread, "tool_call_id": "\0"})),
        ("a lone surrogate in the id", encode({"thread_id": thread, "tool_call_id": "\ud800"})),
        ("a path in the id", encode({"thread_id": "../../etc/passwd", "tool_call_id": "../" * 40})),
    ]
