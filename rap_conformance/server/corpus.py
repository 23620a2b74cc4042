"""Answers to ordinary queries that several requirements judge, made once a run, and how they are judged.

Form is judged by several requirements from the same answers: media type, JSON, members, keys; about calls in
every state. On a violation a smaller input that shows it is looked for, within bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from rap_conformance.engine.evidence import Exchange, Failure
from rap_conformance.engine.scenario import PeerDied, Violation
from rap_conformance.network.pace import NoAnswer
from rap_conformance.protocol.ids import shaped
from rap_conformance.protocol.messages import encode, fresh, query
from rap_conformance.protocol.reading import lenient_json
from rap_conformance.server.asking import Labelled, while_live
from rap_conformance.server.peer import Peer
from rap_conformance.server.tempo import batched

Check = Callable[[Exchange], tuple[str, str] | None]
"""Looks at one exchange; gives what was expected and what was there instead, or None if all is well."""

GENERATED = "an ordinary unknown id, generated"
LIVE = "a live call"
SHRINK_SECONDS, SHRINK_REQUESTS = 5.0, 200
UNHURRIED = 4.0
"""Seconds over which ordinary queries are spread: others ask at the same time, and all share one limit."""
MOST_SILENT = 3
"""Ordinary queries without an answer after which no more are made: each costs a whole time-out."""


@dataclass(slots=True)
class Asked:
    """Answers to ordinary queries, and how many of those that were meant to be asked were not."""

    answers: list[Labelled] = field(default_factory=list)
    left_out: int = 0


def ordinary(peer: Peer) -> list[Labelled]:
    """Answers to ordinary queries for ids nobody ever used: fixed shapes and generated ones.

    A second attempt asks anew: a query that was left without an answer once may have met a cold start.
    """
    asked = peer.session.once(f"ordinary {peer.attempt}", lambda: _ordinary(peer))
    peer.record.examples = sum(case == GENERATED for case, _ in asked.answers)
    if asked.left_out:
        peer.note(f"{asked.left_out} ordinary queries were not made: {MOST_SILENT} others got no answer")
    return asked.answers


def _ordinary(peer: Peer) -> Asked:
    from rap_conformance.contract import ordinary_queries

    options = peer.session.common
    queries = [("an unknown id", query(fresh(), fresh("thread")))]
    queries += [(f"an unknown id {title}", query(each, fresh("thread"))) for title, each in shaped()]
    queries += [(GENERATED, body) for body in ordinary_queries(peer.session.examples, options.seed)]
    asked = Asked(left_out=len(queries))
    tempo = peer.session.tempo
    for some in batched(queries, tempo.sides):
        answers = tempo.at_once([partial(peer.post_status, encode(body)) for _, body in some])
        asked.answers += [(case, exchange) for (case, _), exchange in zip(some, answers, strict=True)]
        asked.left_out -= len(some)
        if sum(exchange.failure is Failure.TIMEOUT for _, exchange in asked.answers) >= MOST_SILENT:
            break
        if not tempo.late:
            peer.patience.pace(UNHURRIED / len(queries))
    if not options.gentle:
        peer.session.pool.submit(_prepare, peer.session.examples, options.seed)
    return asked


def live(peer: Peer) -> list[Labelled]:
    """Answers about a call that was certainly live. Raises Untested without a tool that stays pending."""
    key = f"live {peer.attempt}"
    return peer.session.once(key, lambda: while_live(peer, [(LIVE, peer.ask_about)] * 3))


def judge_answers(peer: Peer, answers: Iterable[Labelled], check: Check) -> None:
    """Judge each answer by what the check finds; a generated input is made as small as it gets, once."""
    wrong: set[str] = set()
    for case, exchange in answers:
        if (found := check(exchange)) is None:
            peer.judged()
            continue
        if case in wrong:
            continue
        wrong.add(case)
        if case == GENERATED and exchange.failure is not Failure.TIMEOUT:
            exchange = smallest_of(peer, "ordinary", lambda e: check(e) is not None, exchange)
            found = check(exchange) or found
        peer.report(Violation(found[0], found[1], exchange, case=case))


def _prepare(examples: int, seed: int) -> None:
    """Make the generated inputs of a later stage while others wait; they are kept."""
    from rap_conformance.contract import coverage_cases, hostile_queries, malformed_bodies

    hostile_queries(examples, seed)
    coverage_cases(seed)
    malformed_bodies(examples, seed)


def smallest_of(
    peer: Peer,
    kind: Literal["ordinary", "hostile", "malformed"],
    wrong: Callable[[Exchange], bool],
    known: Exchange,
) -> Exchange:
    """The exchange of the smallest generated input found for which `wrong` holds, else `known`."""
    from rap_conformance.contract import smallest

    kept: dict[bytes, Exchange] = {}

    def violates(value: Any) -> bool:
        if isinstance(value, dict):
            exchange = peer.post_status(encode(value))
        else:
            headers = (("Content-Type", value.content_type),) if value.content_type else ()
            exchange = peer.post_status(value.body, headers=headers)
        if wrong(exchange):
            kept[repr(value).encode("ascii", "backslashreplace")] = exchange
            return True
        return False

    start = [lenient_json(known.request_body)] if kind != "malformed" else []
    try:
        found = smallest(
            kind,
            violates,
            seed=peer.session.common.seed,
            seconds=SHRINK_SECONDS,
            requests=SHRINK_REQUESTS,
            known=start,
        )
    except (PeerDied, NoAnswer):
        return known
    return kept.get(repr(found).encode("ascii", "backslashreplace"), known)
