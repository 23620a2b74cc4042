"""What must not disturb the status check: hostile ids and malformed bodies.

Specification: "Tool Call Status Check", section "Security Considerations".
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Literal

from rap_conformance.contract import coverage_cases, hostile_queries, malformed_bodies, names_fields
from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange, Headers
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.scenario import PeerDied, Violation, scenario
from rap_conformance.network.spoken import unfinished
from rap_conformance.protocol.messages import encode, fresh, query
from rap_conformance.protocol.payloads import Malformed, hostile_ids, malformed_payloads
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import ITSELF, Question, itself, while_live
from rap_conformance.server.beside import in_parts
from rap_conformance.server.call import Call
from rap_conformance.server.controls import need_alive, need_answer
from rap_conformance.server.corpus import smallest_of
from rap_conformance.server.manners import in_slow_pieces
from rap_conformance.server.onlookers import Onlookers
from rap_conformance.server.peer import Peer
from rap_conformance.server.tempo import batched

BIG = 64 * 1024
"""Bytes of a request from which on a reset, like a 413, is a legal refusal."""
GENERATED_IDS = "a hostile id, generated"
GENERATED_BODY = "a malformed body, generated"
GENERATED_NONSENSE = "a body that is no JSON object, generated"
GENERATED = frozenset({GENERATED_IDS, GENERATED_BODY, GENERATED_NONSENSE})

Input = tuple[str, Callable[[], Exchange], bool]
"""What is sent, in words; how; and whether it is a JSON object, of which the members are wrong."""


@scenario("TCS013", control=Control("a query with ordinary ids is answered, before and after", need_answer))
def test_hostile_ids(peer: Peer) -> None:
    """Any string is an id: not alive, or a 4xx."""
    before = peer.ask(fresh(), fresh("thread"))
    judge_inputs(peer, [*hostile(peer)], "hostile")
    expect_unchanged(peer, before, "an ordinary query after hostile ids")


@scenario("TCS014", control=Control("a well-formed query is answered, before and after", need_answer))
def test_malformed_rejected(peer: Peer) -> None:
    """What is no status check is refused, and the server goes on."""
    before = peer.ask(fresh(), fresh("thread"))
    in_parts(
        peer,
        {
            "malformed bodies": lambda peer: judge_inputs(peer, [*malformed(peer)], "malformed"),
            "another type in place of a live call's id": judge_mistyped,
            "a body in slow pieces": judge_slow_pieces,
            "a body that never ends": judge_endless,
        },
    )
    expect_unchanged(peer, before, "an ordinary query after malformed bodies")


def judge_slow_pieces(peer: Peer) -> None:
    """A body that comes bit by bit is a body."""
    slow = in_slow_pieces(peer, encode(query(fresh(), fresh("thread"))))
    peer.survived(slow)
    peer.expect_rejected(slow, "a body in slow pieces")
    peer.judged()


def judge_endless(peer: Peer) -> None:
    """Whoever never sends the rest of a body disturbs nobody."""
    probe, url = peer.session.probe, peer.session.facts.status_url
    short = unfinished(probe, url, b'{"thread_id": "rapc-', announced=200, within=1.0)
    peer.session.history.ended(short, of_status=False)
    peer.survived(short, watch=0.5)
    peer.judged()


def hostile(peer: Peer) -> Iterator[Input]:
    """Every hostile id as both ids at once; then generated ones."""
    for entry in hostile_ids():
        yield entry.name, partial(peer.post_status, encode(query(entry.value, entry.value))), True
    generated = hostile_queries(peer.session.common.examples, peer.session.common.seed)
    for body in generated[: peer.session.examples]:
        peer.record.examples += 1
        yield GENERATED_IDS, partial(peer.post_status, encode(body)), True


def alone(peer: Peer, case: str, wrong: Exchange) -> Iterator[tuple[str, Exchange]]:
    """A hostile id that was answered wrongly as both ids at once, as each of them."""
    value = next(entry.value for entry in hostile_ids() if entry.name == case)
    if refusal(peer, wrong, oversized=True) is not None and peer.session.answers():
        for field in ("tool_call_id", "thread_id"):
            yield (
                f"{field}: {case}",
                peer.post_status(encode({**query(fresh(), fresh("thread")), field: value})),
            )


def malformed(peer: Peer) -> Iterator[Input]:
    """Every malformed body of the collection, then Schemathesis' coverage cases and its negative mode."""
    options = peer.session.common
    for bad in malformed_payloads():
        yield bad.label, partial(send_malformed, peer, bad), names_fields(bad)
    for bad in coverage_cases(options.seed):
        yield f"coverage: {bad.label}", partial(send_malformed, peer, bad), names_fields(bad)
    for bad in malformed_bodies(options.examples, options.seed)[: peer.session.examples]:
        peer.record.examples += 1
        fields = names_fields(bad)
        yield GENERATED_BODY if fields else GENERATED_NONSENSE, partial(send_malformed, peer, bad), fields


def send_malformed(peer: Peer, bad: Malformed) -> Exchange:
    """One malformed request."""
    headers: Headers = (("Content-Type", bad.content_type),) if bad.content_type is not None else ()
    return peer.post_status(bad.body, headers=headers)


def judge_inputs(peer: Peer, inputs: list[Input], kind: Literal["hostile", "malformed"]) -> None:
    """Judge each input; after each, or after several of a slow server, look whether it is still there."""
    onlookers = Onlookers(peer)
    for (case, _, fields), exchange in zip(inputs, answered(peer, inputs), strict=True):
        onlookers.saw(exchange)
        if kind == "hostile" and case not in GENERATED:
            for title, single in alone(peer, case, exchange):
                peer.survived(single, exchange)
                judge_input(peer, title, single, fields, kind)
        judge_input(peer, case, exchange, fields, kind)
    with peer.part("a call that is pending meanwhile"):
        onlookers.judge("hostile ids" if kind == "hostile" else "malformed bodies")


def judge_input(
    peer: Peer, case: str, exchange: Exchange, fields: bool, kind: Literal["hostile", "malformed"]
) -> None:
    """Judge the answer to one input."""
    oversized = len(exchange.request_body) >= BIG
    if (violation := refusal(peer, exchange, case, fields=fields, oversized=oversized)) is None:
        peer.judged()
        return
    if case in GENERATED and not any(f.case == case for f in peer.record.findings):
        violation.exchanges = (smallest(peer, kind, violation, exchange),)
    peer.report(violation)


def answered(peer: Peer, inputs: list[Input]) -> Iterator[Exchange]:
    """What each input gets, from a server that is still there after it. Raises PeerDied, naming the input."""
    before: Exchange | None = None
    for some in batched(inputs, peer.session.tempo.sides):
        if (together := at_once(peer, some)) is not None:
            yield from together
            continue
        for _, ask, _ in some:
            exchange = ask()
            peer.session.history.provoke(exchange)
            peer.survived(exchange, before)
            before = exchange
            yield exchange


def at_once(peer: Peer, some: Sequence[Input]) -> list[Exchange] | None:
    """What several inputs get that are sent at once; None if they are better sent one by one.

    So they are if the server is not slow, and if it died of one of them: then it is started again.
    """
    if len(some) < 2:
        return None
    try:
        exchanges = peer.session.tempo.at_once([ask for _, ask, _ in some])
        peer.survived(exchanges[-1])
    except PeerDied as death:
        peer.session.revive(death)
        if peer.session.over():
            raise
        return None
    for exchange in exchanges:
        peer.session.history.provoke(exchange)
    return exchanges


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
