"""What must not disturb the status check: hostile ids and malformed bodies; and what errors say.

Specification: "Tool Call Status Check", section "Security Considerations".
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any, Literal

from rap_conformance.contract import coverage_cases, hostile_queries, malformed_bodies, names_fields
from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange, Headers
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.network.credentials import NOBODY
from rap_conformance.network.spoken import unfinished
from rap_conformance.protocol.leaks import internals, leaked
from rap_conformance.protocol.messages import encode, fresh, query
from rap_conformance.protocol.payloads import Malformed, hostile_ids, malformed_payloads
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import ITSELF, Labelled, Question, itself, while_live
from rap_conformance.server.call import Call, planted
from rap_conformance.server.controls import need_alive, need_answer
from rap_conformance.server.corpus import smallest_of
from rap_conformance.server.manners import SLOW_PIECES, said
from rap_conformance.server.peer import Peer

BIG = 64 * 1024
"""Bytes of a request from which on a reset, like a 413, is a legal refusal."""
BY_A_STRANGER = " instead of POST, without credentials"
GENERATED_IDS = "a hostile id, generated"
GENERATED_BODY = "a malformed body, generated"
GENERATED_NONSENSE = "a body that is no JSON object, generated"
GENERATED = frozenset({GENERATED_IDS, GENERATED_BODY, GENERATED_NONSENSE})

Input = tuple[str, Exchange, bool]
"""What was sent, in words; the answer; and whether it was a JSON object, of which the members are wrong."""


@scenario("TCS013", control=Control("a query with ordinary ids is answered, before and after", need_answer))
def test_hostile_ids(peer: Peer) -> None:
    """Any string is an id: not alive, or a 4xx."""
    before = peer.ask(fresh(), fresh("thread"))
    judge_inputs(peer, hostile(peer), "hostile")
    expect_unchanged(peer, before, "an ordinary query after hostile ids")


@scenario("TCS014", control=Control("a well-formed query is answered, before and after", need_answer))
def test_malformed_rejected(peer: Peer) -> None:
    """What is no status check is refused, and the server goes on."""
    before = peer.ask(fresh(), fresh("thread"))
    judge_inputs(peer, malformed(peer), "malformed")
    with peer.part("another type in place of a live call's id"):
        judge_mistyped(peer)
    with peer.part("a body in slow pieces"):
        (slow,) = said(peer, [encode(query(fresh(), fresh("thread")))], SLOW_PIECES)
        peer.survived(slow.exchange)
        peer.expect_rejected(slow.exchange, "a body in slow pieces")
        peer.judged()
    with peer.part("a body that never ends"):
        probe, url = peer.session.probe, peer.session.facts.status_url
        short = unfinished(probe, url, b'{"thread_id": "rapc-', announced=200, within=1.0)
        peer.session.history.ended(short, of_status=False)
        peer.survived(short, watch=0.5)
        peer.judged()
    expect_unchanged(peer, before, "an ordinary query after malformed bodies")


def hostile(peer: Peer) -> Iterator[Input]:
    """Every hostile id as both ids at once, and where that goes wrong as each alone; then generated ones."""
    for entry in hostile_ids():
        both = peer.post_status(encode(query(entry.value, entry.value)))
        if refusal(peer, both, oversized=True) is not None and peer.session.answers():
            for field in ("tool_call_id", "thread_id"):
                alone = peer.post_status(encode({**query(fresh(), fresh("thread")), field: entry.value}))
                yield f"{field}: {entry.name}", alone, True
        yield entry.name, both, True
    for body in hostile_queries(peer.session.common.examples, peer.session.common.seed):
        peer.record.examples += 1
        yield GENERATED_IDS, peer.post_status(encode(body)), True


def malformed(peer: Peer) -> Iterator[Input]:
    """Every malformed body of the collection, then Schemathesis' coverage cases and its negative mode."""
    options = peer.session.common
    for bad in malformed_payloads():
        yield bad.label, send_malformed(peer, bad), names_fields(bad)
    for bad in coverage_cases(options.seed):
        yield f"coverage: {bad.label}", send_malformed(peer, bad), names_fields(bad)
    for bad in malformed_bodies(options.examples, options.seed):
        peer.record.examples += 1
        fields = names_fields(bad)
        yield GENERATED_BODY if fields else GENERATED_NONSENSE, send_malformed(peer, bad), fields


def send_malformed(peer: Peer, bad: Malformed) -> Exchange:
    """One malformed request."""
    headers: Headers = (("Content-Type", bad.content_type),) if bad.content_type is not None else ()
    return peer.post_status(bad.body, headers=headers)


def judge_inputs(peer: Peer, inputs: Iterator[Input], kind: Literal["hostile", "malformed"]) -> None:
    """Judge each input, and after each look whether the server is still there."""
    before: Exchange | None = None
    for case, exchange, fields in inputs:
        peer.session.history.provoke(exchange)
        peer.survived(exchange, before)
        before = exchange
        oversized = len(exchange.request_body) >= BIG
        if (violation := refusal(peer, exchange, case, fields=fields, oversized=oversized)) is None:
            peer.judged()
            continue
        if case in GENERATED and not any(f.case == case for f in peer.record.findings):
            violation.exchanges = (smallest(peer, kind, violation, exchange),)
        peer.report(violation)


def smallest(
    peer: Peer, kind: Literal["hostile", "malformed"], found: Violation, exchange: Exchange
) -> Exchange:
    """The exchange of the smallest generated input found that is answered as wrongly as this one."""

    def as_wrong(candidate: Exchange) -> bool:
        types = [value for name, value in candidate.request_headers if name.lower() == "content-type"]
        sent = Malformed("", candidate.request_body, types[0] if types else None)
        wrong = refusal(peer, candidate, fields=kind == "hostile" or names_fields(sent))
        return wrong is not None and wrong.level is found.level

    return smallest_of(peer, kind, as_wrong, exchange)


def refusal(
    peer: Peer, exchange: Exchange, case: str = "", *, fields: bool = True, oversized: bool = False
) -> Violation | None:
    """What is wrong with the answer to an input that need not be understood; None if it is as it may be.

    With `fields`, a JSON object with members to validate. To anything else `true`, silence and death are as
    bad; but that it is rejected is only a SHOULD ("Overview", "Implementation Guidelines").
    """
    try:
        peer.expect_rejected(exchange, case, oversized=oversized)
    except Violation as violation:
        if not fields and exchange.failure is None and not means_alive(exchange):
            violation.level = Level.SHOULD
        return violation
    return None


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
    answers = [(case, ask(bad)) for case, bad in refusable(call_id, thread)]
    answers.append(("another media type", ask(body, headers=text)))
    answers.append(("no credentials", ask(body, credentials=NOBODY)))
    answers += [(f"{method} instead of POST", ask(b"", method=method)) for method in ("GET", "PUT", "DELETE")]
    for method in ("GET", "OPTIONS", "QUERY"):
        stranger = ask(b"", method=method, credentials=NOBODY)
        answers.append((f"{method}{BY_A_STRANGER}", stranger))
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
