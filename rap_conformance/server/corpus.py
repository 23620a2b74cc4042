"""Exchanges that several requirements judge, made once a run, and the small helpers to judge them.

Form is judged by several requirements from the same answers: media type,
JSON, members, keys. The exchanges are made once; on a violation a smaller
input that shows it is looked for, within bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import PeerDied, Violation
from rap_conformance.network.pace import NoAnswer
from rap_conformance.protocol.messages import encode, fresh
from rap_conformance.protocol.reading import lenient_json
from rap_conformance.server.asking import Labelled, while_live
from rap_conformance.server.peer import Peer

Check = Callable[[Exchange], tuple[str, str] | None]
"""Looks at one exchange; gives what was expected and what was there instead, or None if all is well."""

GENERATED = "an ordinary unknown id, generated"
LIVE = "a live call"
SHRINK_SECONDS, SHRINK_REQUESTS = 5.0, 200


def ordinary(peer: Peer) -> list[Labelled]:
    """Answers to ordinary queries for ids nobody ever used: fixed shapes and generated ones."""

    def make() -> list[Labelled]:
        from rap_conformance.contract import ordinary_queries

        options = peer.session.common
        generated = ordinary_queries(options.examples, options.seed)
        asked = [("an unknown id", peer.ask(fresh(), fresh("thread")))]
        asked += [(f"an unknown id {title}", peer.ask(each, fresh("thread"))) for title, each in id_shapes()]
        asked += [(GENERATED, peer.post_status(encode(body))) for body in generated]
        if not options.gentle:
            peer.session.pool.submit(_prepare, options.examples, options.seed)
        return asked

    answers = peer.session.once("ordinary", make)
    peer.record.examples = sum(case == GENERATED for case, _ in answers)
    return answers


def live(peer: Peer) -> list[Labelled]:
    """Answers about a call that was certainly live. Raises Untested without a tool that stays pending."""
    return peer.session.once("live", lambda: while_live(peer, [(LIVE, peer.ask_about)] * 3))


def subscribed(peer: Peer) -> list[Labelled]:
    """Answers about a subscription; their form is owed even if it should have ended meanwhile.

    Raises Untested without a tool that makes one.
    """

    def make() -> list[Labelled]:
        call = peer.invoke("subscription")
        peer.need_result(call)
        answers = [("an active subscription", peer.ask_about(call)) for _ in range(3)]
        peer.cancel(call)
        return answers

    return peer.session.once("subscribed", make)


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
        if case == GENERATED:
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


def near_misses(call_id: str) -> list[tuple[str, str]]:
    """Ids that resemble a live one and are not it, each with the way in which it differs."""
    middle = len(call_id) // 2
    swapped = call_id[:-1] + (call_id[-1].swapcase() if call_id[-1].isalpha() else "Z")
    other = "0" if call_id[middle] != "0" else "1"
    variants = [
        ("in upper case", call_id.upper()),
        ("with its first letter in upper case", call_id[0].upper() + call_id[1:]),
        ("with its last character changed", swapped),
        ("with a character in the middle changed", call_id[:middle] + other + call_id[middle + 1 :]),
        ("without its last character", call_id[:-1]),
        ("without its first character", call_id[1:]),
        ("cut to its first half", call_id[:middle]),
        ("cut to its prefix", call_id[: call_id.rindex("-") + 1]),
        ("cut to its last part", call_id[call_id.rindex("-") + 1 :]),
        ("with a character more at its end", call_id + "0"),
        ("with a character more at its start", "0" + call_id),
        ("twice in a row", call_id + call_id),
        ("with a dot for a character", call_id[:-1] + "."),
        ("with an underscore for a character", call_id[:-1] + "_"),
        ("with a dash for a character", call_id[:middle] + "-" + call_id[middle + 1 :]),
        ("followed by a colon and a number", call_id + ":1"),
        ("without its dashes", call_id.replace("-", "")),
        ("with underscores for its dashes", call_id.replace("-", "_")),
        ("with its first letter percent-encoded", f"%{ord(call_id[0]):02X}{call_id[1:]}"),
        ("behind a dot and a slash", "./" + call_id),
        ("with a slash at its end", call_id + "/"),
        ("with a percent sign for its end", call_id[:middle] + "%"),
        ("with an asterisk for its end", call_id[:middle] + "*"),
        ("with a question mark for a character", call_id[:-1] + "?"),
        ("as a single percent sign", "%"),
        ("as a single asterisk", "*"),
        ("as a regular expression", ".*"),
    ]
    return [(title, variant) for title, variant in variants if variant != call_id]


def id_shapes() -> list[tuple[str, str]]:
    """Ids nobody used, shaped like those that models and runtimes make; the prefix keeps them ours."""
    from uuid import uuid4

    unique = uuid4().hex
    return [
        ("shaped like a UUID", f"rapc-{uuid4()}"),
        ("shaped like an OpenAI call id", f"rapc-call_{unique[:24]}"),
        ("shaped like an Anthropic call id", f"rapc-toolu_01{unique[:22]}"),
        ("shaped like a number", f"rapc-{int(unique[:8], 16)}"),
        ("of 64 characters", f"rapc-{unique}{unique}"[:64]),
        ("with dots and colons", f"rapc-{unique[:6]}.{unique[6:9]}:0"),
    ]
