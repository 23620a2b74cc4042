"""What must not disturb the status check: hostile ids and malformed bodies; and what errors say.

Specification: "Tool Call Status Check", section "Security Considerations".
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any, Literal

from rap_conformance.contract import coverage_cases, hostile_queries, malformed_bodies
from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.network.credentials import NOBODY
from rap_conformance.protocol.leaks import internals, leaked
from rap_conformance.protocol.messages import encode, fresh, query
from rap_conformance.protocol.payloads import Malformed, hostile_ids, malformed_payloads
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import ITSELF, Labelled, Question, itself, while_live
from rap_conformance.server.call import Call, planted
from rap_conformance.server.controls import need_alive, need_answer
from rap_conformance.server.corpus import smallest_of
from rap_conformance.server.peer import Peer

BIG = 64 * 1024
"""Bytes of a request from which on a reset, like a 413, is a legal refusal."""
GENERATED_IDS = "a hostile id, generated"
GENERATED_BODY = "a malformed body, generated"


@scenario("TCS013", control=Control("a query with ordinary ids is answered, before and after", need_answer))
def test_hostile_ids(peer: Peer) -> None:
    """Any string is an id: not alive, or a 4xx."""
    before = peer.ask(fresh(), fresh("thread"))
    judge_inputs(peer, hostile(peer), GENERATED_IDS, "hostile")
    expect_unchanged(peer, before, "an ordinary query after hostile ids")


@scenario("TCS014", control=Control("a well-formed query is answered, before and after", need_answer))
def test_malformed_rejected(peer: Peer) -> None:
    """What is no status check is refused, and the server goes on."""
    before = peer.ask(fresh(), fresh("thread"))
    judge_inputs(peer, malformed(peer), GENERATED_BODY, "malformed")
    with peer.part("another type in place of a live call's id"):
        judge_mistyped(peer)
    with peer.part("a body in slow pieces"):
        exchange = peer.post_status(slow_pieces(peer, encode(query(fresh(), fresh("thread")))))
        peer.survived(exchange)
        judge_rejected(peer, exchange, "a body in slow pieces")
    with peer.part("a body that never ends"):
        short = peer.session.probe.unfinished(
            peer.session.facts.status_url, b'{"thread_id": "rapc-', announced=200, within=1.0
        )
        peer.session.history.ended(short, of_status=False)
        peer.survived(short, watch=0.5)
        peer.judged()
    expect_unchanged(peer, before, "an ordinary query after malformed bodies")


def hostile(peer: Peer) -> Iterator[Labelled]:
    """Every hostile id as both ids at once, and where that goes wrong as each alone; then generated ones."""
    for entry in hostile_ids():
        both = peer.post_status(encode(query(entry.value, entry.value)))
        if not is_rejected(peer, both, oversized=True) and peer.session.answers():
            for field in ("tool_call_id", "thread_id"):
                alone = peer.post_status(encode({**query(fresh(), fresh("thread")), field: entry.value}))
                yield f"{field}: {entry.name}", alone
        yield entry.name, both
    for body in hostile_queries(peer.session.common.examples, peer.session.common.seed):
        peer.record.examples += 1
        yield GENERATED_IDS, peer.post_status(encode(body))


def malformed(peer: Peer) -> Iterator[Labelled]:
    """Every malformed body of the collection, then Schemathesis' coverage cases and its negative mode."""
    options = peer.session.common
    for bad in malformed_payloads():
        yield bad.label, send_malformed(peer, bad)
    for bad in coverage_cases(options.seed):
        yield f"coverage: {bad.label}", send_malformed(peer, bad)
    for bad in malformed_bodies(options.examples, options.seed):
        peer.record.examples += 1
        yield GENERATED_BODY, send_malformed(peer, bad)


def send_malformed(peer: Peer, bad: Malformed) -> Exchange:
    """One malformed request."""
    headers = (("Content-Type", bad.content_type),) if bad.content_type is not None else ()
    return peer.post_status(bad.body, headers=headers, method=bad.method)


def slow_pieces(peer: Peer, body: bytes) -> Iterator[bytes]:
    """A body, twenty bytes at a time."""
    for start in range(0, len(body), 20):
        yield body[start : start + 20]
        peer.patience.pace(0.05)


def judge_inputs(
    peer: Peer, inputs: Iterator[Labelled], generated: str, kind: Literal["hostile", "malformed"]
) -> None:
    """Judge each input, and after each look whether the server is still there."""
    before: Exchange | None = None
    for case, exchange in inputs:
        peer.session.history.provoke(exchange)
        peer.survived(exchange, before)
        before = exchange
        oversized = len(exchange.request_body) >= BIG
        if (violation := refusal(peer, exchange, case, oversized)) is None:
            peer.judged()
            continue
        if case == generated and not any(f.case == case for f in peer.record.findings):
            smaller = smallest_of(peer, kind, lambda candidate: not is_rejected(peer, candidate), exchange)
            violation.exchanges = (smaller,)
        peer.report(violation)


def judge_rejected(peer: Peer, exchange: Exchange, case: str) -> None:
    """Judge the answer to an input that need not be understood."""
    peer.expect_rejected(exchange, case)
    peer.judged()


def refusal(peer: Peer, exchange: Exchange, case: str, oversized: bool = False) -> Violation | None:
    """What is wrong with the answer to an input that need not be understood; None if it is as it may be."""
    try:
        peer.expect_rejected(exchange, case, oversized=oversized)
    except Violation as violation:
        return violation
    return None


def is_rejected(peer: Peer, exchange: Exchange, oversized: bool = False) -> bool:
    """Whether an input that need not be understood was answered as it may be."""
    return refusal(peer, exchange, "", oversized) is None


def expect_unchanged(peer: Peer, before: Exchange, after: str) -> None:
    """An ordinary query is answered as it was before."""
    exchange = peer.ask(fresh(), fresh("thread"))
    peer.expect(
        means_alive(exchange) is means_alive(before),
        "`alive: false` for an ordinary unknown id",
        str(exchange.failure or f"status {exchange.status}"),
        exchange,
        case=f"afterwards: {after}",
    )


def judge_mistyped(peer: Peer) -> None:
    """No value of another type stands for a live call's id."""
    digits = f"7{secrets.randbelow(10**14):014}"  # a whole number that any JSON reader keeps exactly
    (_, control), *answers = while_live(peer, mistyped(peer), id=digits)
    right = 0
    for case, exchange in answers:
        if violation := refusal(peer, exchange, case):
            peer.report(violation)
        else:
            right += 1
    need_alive(peer, control, ITSELF)
    peer.judged(right)


def mistyped(peer: Peer) -> list[Question]:
    """The control, then questions that name a live call's thread and, in place of its id, what is no text."""

    def question(title: str, make: Callable[[str], object]) -> Question:
        def ask(call: Call) -> Exchange:
            return peer.post_status(encode({"thread_id": call.thread, "tool_call_id": make(call.id)}))

        return f"{title} in place of a live call's id", ask

    return [
        itself(peer),
        question("the number that its digits are", int),
        question("a list that holds it", lambda call_id: [call_id]),
        question("an object that holds it", lambda call_id: {"id": call_id}),
        question("an operator that matches it", lambda call_id: {"$eq": call_id}),
        question("an operator that matches anything", lambda _: {"$ne": None}),
        question("a pattern that matches anything", lambda _: {"$regex": ".*"}),
        question("true", lambda _: True),
        question("null", lambda _: None),
        (
            "a list around a query for a live call",
            lambda call: peer.post_status(encode([query(call.id, call.thread)])),
        ),
    ]


@scenario(
    "TCS015",
    control=Control(
        "a well-formed query is answered: an error has its reason in what provoked it", need_answer
    ),
)
def test_errors_reveal_nothing(peer: Peer) -> None:
    """Errors hold nothing of any call."""
    judge_errors(peer, lambda exchange: leaked(exchange, planted(peer.session.calls)))
    if peer.authenticated:
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
    for case, exchange in errors:
        what = look(exchange)
        peer.expect(not what, "an error without it", str(what), exchange, case=case)


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
    answers = [(case, ask(bad)) for case, bad in refusable(call_id, thread)]
    answers.append(("another media type", ask(body, headers=text)))
    answers.append(("no credentials", ask(body, credentials=NOBODY)))
    answers += [(f"{method} instead of POST", ask(b"", method=method)) for method in ("GET", "PUT", "DELETE")]
    if call is not None:
        peer.survived(answers[-1][1])
    return answers


def refusable(call_id: str, thread: str) -> list[tuple[str, bytes]]:
    """Bodies that a server may well answer with an error, about a call."""
    return [
        ("a number as the call's id", encode({"thread_id": thread, "tool_call_id": 7})),
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
