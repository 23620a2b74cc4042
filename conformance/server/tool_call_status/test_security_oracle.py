"""The status check is for authentic callers only, and a rejection tells nothing.

Specification: "Tool Call Status Check", section "Security Considerations".
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from statistics import median

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Violation, scenario
from rap_conformance.network.probe import NOBODY, Credentials
from rap_conformance.protocol.leaks import VOLATILE_HEADERS
from rap_conformance.protocol.noise import essence
from rap_conformance.server.asking import Labelled, while_live
from rap_conformance.server.controls import need_answer
from rap_conformance.server.peer import Peer
from rap_conformance.server.strangers import need_headers, rejected_asking

PAIRS, WORTH_TELLING, IMPROBABLE = 40, 0.010, 1e-6


def rejections(peer: Peer) -> list[tuple[str, list[Exchange], list[Exchange]]]:
    """For each kind of rejected caller: rejections about a live call, and about unknown ones around them.

    So a header that changes with time alone changes for the unknown ones as well.
    """
    kinds = [("no credentials", NOBODY)]
    wrong = [(name, f"{value.partition(' ')[0]} rapc-wrong-credential") for name, value in need_headers(peer)]
    kinds.append(("wrong credentials", Credentials(tuple(wrong))))
    questions = []
    for title, who in kinds:
        for number in range(3):
            questions.append((f"{title}/unknown/{number}", lambda _, w=who: rejected_asking(peer, w)))
            questions.append((f"{title}/live/{number}", lambda call, w=who: rejected_asking(peer, w, call)))
        questions.append((f"{title}/unknown/last", lambda _, w=who: rejected_asking(peer, w)))
    answers: list[Labelled] = while_live(peer, questions)
    return [
        (
            title,
            [e for case, e in answers if case.startswith(f"{title}/live")],
            [e for case, e in answers if case.startswith(f"{title}/unknown")],
        )
        for title, _ in kinds
    ]


def features(exchange: Exchange) -> dict[str, object]:
    """What an observer of a rejection sees, by name; without the ids that were asked about."""
    import json

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


@scenario(
    "TCS012",
    control=Control(
        "an authentic query is answered: what is rejected is rejected for its credentials", need_answer
    ),
    overlap=True,
)
def test_no_existence_oracle(peer: Peer) -> None:
    """A rejection about a live call is like one about an unknown call."""
    need_headers(peer)
    seen = rejections(peer)
    if list(telling(seen)):
        # What differs by chance, as between the machines behind one address, hardly does so twice.
        again = rejections(peer)
        seen = [(t, a + more[1], u + more[2]) for (t, a, u), more in zip(seen, again, strict=True)]
    for violation in telling(seen):
        peer.report(violation)


def telling(seen: list[tuple[str, list[Exchange], list[Exchange]]]) -> Iterator[Violation]:
    """Whatever all rejections about unknown calls have in common and those about a live call have not."""
    for title, alive, unknown in seen:
        ours, theirs = [features(e) for e in alive], [features(e) for e in unknown]
        names = {name for seen in (*ours, *theirs) for name in seen}
        for name in sorted(names):
            mine, other = ({repr(seen.get(name)) for seen in group} for group in (ours, theirs))
            if len(other) == 1 and mine != other:
                yield Violation(
                    f"the {name} of a rejection about an unknown call: {next(iter(other))[:80]}",
                    ", ".join(sorted(value[:80] for value in mine)),
                    next(e for e in alive if repr(features(e).get(name)) not in other),
                    unknown[0],
                    case=f"{title}: another {name.split()[0]} for a live call",
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
    questions = []
    for _ in range(PAIRS):
        questions.append(("live", lambda call: rejected_asking(peer, NOBODY, call)))
        questions.append(("unknown", lambda _: rejected_asking(peer, NOBODY)))
    answers = while_live(peer, questions)
    alive = [exchange for case, exchange in answers if case == "live"]
    unknown = [exchange for case, exchange in answers if case == "unknown"]
    differences = [one.elapsed - two.elapsed for one, two in zip(alive, unknown, strict=True)]
    usual = median(differences)
    one_sided = sum((d > 0) == (usual > 0) for d in differences)
    chance = 2 * sum(comb(PAIRS, k) for k in range(one_sided, PAIRS + 1)) / 2**PAIRS
    if abs(usual) > WORTH_TELLING and chance < IMPROBABLE:
        raise Violation(
            "the same response time for live and unknown calls",
            f"{abs(usual) * 1000:.0f} ms {'more' if usual > 0 else 'less'} for a live call "
            f"(median of {PAIRS} pairs)",
            alive[-1],
            unknown[-1],
            case="response time of a rejection",
        )
