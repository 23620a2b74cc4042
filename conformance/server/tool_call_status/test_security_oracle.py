"""A rejection tells nobody whether a call exists.

Specification: "Tool Call Status Check", section "Security Considerations".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import comb
from statistics import median

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Violation, scenario
from rap_conformance.network.credentials import NOBODY, Credentials
from rap_conformance.protocol.leaks import VOLATILE_HEADERS
from rap_conformance.protocol.noise import essence
from rap_conformance.server.asking import Question, while_live
from rap_conformance.server.controls import need_answer
from rap_conformance.server.peer import Peer
from rap_conformance.server.strangers import ask_as, need_headers

PAIRS, WORTH_TELLING, IMPROBABLE = 40, 0.010, 1e-6


@dataclass(frozen=True, slots=True)
class Rejections:
    """What one kind of caller got about a live call, and about unknown ones around it.

    So a header that changes with time alone changes for the unknown ones as well.
    """

    caller: str
    alive: tuple[Exchange, ...]
    unknown: tuple[Exchange, ...]

    def joined(self, more: Rejections) -> Rejections:
        """These and more of the same caller."""
        return Rejections(self.caller, self.alive + more.alive, self.unknown + more.unknown)


@scenario(
    "TCS012",
    control=Control(
        "an authentic query is answered: what is rejected is rejected for its credentials", need_answer
    ),
    overlap=True,
)
def test_no_existence_oracle(peer: Peer) -> None:
    """A rejection about a live call is like one about an unknown call."""
    seen = rejections(peer)
    if any(list(oracles(each)) for each in seen):
        # What differs by chance, as between the machines behind one address, hardly does so twice.
        seen = [one.joined(more) for one, more in zip(seen, rejections(peer), strict=True)]
    for each in seen:
        found = list(oracles(each))
        for violation in found:
            peer.report(violation)
        if not found:
            peer.judged(len(each.alive))


def rejections(peer: Peer) -> list[Rejections]:
    """What callers without credentials and with wrong ones get."""
    wrong = [(name, f"{value.partition(' ')[0]} rapc-wrong-credential") for name, value in need_headers(peer)]
    callers = {"no credentials": NOBODY, "wrong credentials": Credentials(tuple(wrong))}
    questions: list[Question] = []
    for title, caller in callers.items():
        unknown, alive = (
            question(peer, f"{title}/unknown", caller),
            question(peer, f"{title}/live", caller, True),
        )
        questions += [unknown, alive] * 3 + [unknown]
    answers = while_live(peer, questions)

    def about(title: str) -> tuple[Exchange, ...]:
        return tuple(exchange for case, exchange in answers if case == title)

    return [Rejections(title, about(f"{title}/live"), about(f"{title}/unknown")) for title in callers]


def question(peer: Peer, title: str, caller: Credentials, about_live: bool = False) -> Question:
    """What somebody asks while a call is live: about it, or about an unknown one."""
    return title, lambda call: ask_as(peer, caller, call if about_live else None)


def features(exchange: Exchange) -> dict[str, object]:
    """What an observer of a rejection sees, by name; without the ids that were asked about."""
    try:
        asked = [str(value) for value in json.loads(exchange.request_body).values()]
    except ValueError:
        asked = []
    status, media, body = essence(exchange, *asked)
    seen: dict[str, object] = {
        "status": status,
        "media type": media,
        "body": body,
        "failure": exchange.failure,
    }
    for name, value in exchange.response_headers:
        if name.lower() not in VOLATILE_HEADERS:
            seen[f"header {name.lower()}"] = value
    return seen


def oracles(seen: Rejections) -> Iterator[Violation]:
    """Whatever all rejections about unknown calls have in common and those about a live call have not."""
    ours, theirs = [features(e) for e in seen.alive], [features(e) for e in seen.unknown]
    for name in sorted({name for each in (*ours, *theirs) for name in each}):
        mine, other = ({repr(each.get(name)) for each in group} for group in (ours, theirs))
        if len(other) == 1 and mine != other:
            yield Violation(
                f"the {name} of a rejection about an unknown call: {next(iter(other))[:80]}",
                ", ".join(sorted(value[:80] for value in mine)),
                next(e for e in seen.alive if repr(features(e).get(name)) not in other),
                seen.unknown[0],
                case=f"{seen.caller}: another {name.split()[0]} for a live call",
            )


@scenario(
    "TCS024",
    control=Control(
        "an authentic query is answered: what is timed are rejections for credentials", need_answer
    ),
    overlap=True,
)
def test_even_timing(peer: Peer) -> None:
    """A rejection about a live call takes as long as one about an unknown call."""
    need_headers(peer)
    pair = [question(peer, "live", NOBODY, True), question(peer, "unknown", NOBODY)]
    answers = while_live(peer, pair * PAIRS)
    alive = [exchange for case, exchange in answers if case == "live"]
    unknown = [exchange for case, exchange in answers if case == "unknown"]
    differences = [one.elapsed - two.elapsed for one, two in zip(alive, unknown, strict=True)]
    usual = median(differences)
    one_sided = sum((d > 0) == (usual > 0) for d in differences)
    chance = 2 * sum(comb(PAIRS, k) for k in range(one_sided, PAIRS + 1)) / 2**PAIRS
    peer.expect(
        abs(usual) <= WORTH_TELLING or chance >= IMPROBABLE,
        "the same response time for live and unknown calls",
        f"{abs(usual) * 1000:.0f} ms {'more' if usual > 0 else 'less'} for a live call "
        f"(median of {PAIRS} pairs)",
        alive[-1],
        unknown[-1],
        case="response time of a rejection",
        depends=f"the median of {PAIRS} pairs: one request shows nothing",
    )
