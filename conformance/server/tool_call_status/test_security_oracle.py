"""A rejection tells nobody whether a call exists.

Specification: "Tool Call Status Check", section "Security Considerations".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import comb
from statistics import median

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange, Failure
from rap_conformance.engine.requirement import Stage
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.network.answers import slowed_down
from rap_conformance.network.credentials import NOBODY, Credentials
from rap_conformance.protocol.leaks import VOLATILE_HEADERS, reveals
from rap_conformance.protocol.noise import essence
from rap_conformance.server.asking import Labelled, Question, while_live
from rap_conformance.server.beside import beside
from rap_conformance.server.controls import need_answer
from rap_conformance.server.merit import ask_as, wait_out
from rap_conformance.server.peer import Peer
from rap_conformance.server.states import subscribed
from rap_conformance.server.strangers import plainly_wrong

PAIRS, WORTH_TELLING, IMPROBABLE = 40, 0.010, 1e-6
_BEFORE_ANY_QUESTION = frozenset({Failure.TLS, Failure.RESET})
NO_CONNECTION = "no connection"
"""A handshake that is refused for the certificate ends in either, by chance, before anything was asked."""


@dataclass(frozen=True, slots=True)
class Rejections:
    """What one kind of caller got about a live call, and about unknown ones around it.

    So a header that changes with time alone changes for the unknown ones as well.
    """

    caller: str
    alive: tuple[Exchange, ...]
    unknown: tuple[Exchange, ...]

    @property
    def comparable(self) -> bool:
        """Whether there is anything to compare with several rejections; an answer is TCS011's."""
        rejected = not any(reveals(exchange) for exchange in self.unknown)
        return rejected and bool(self.alive) and len(self.unknown) > 1

    def joined(self, more: Rejections) -> Rejections:
        """These and more of the same caller."""
        return Rejections(self.caller, self.alive + more.alive, self.unknown + more.unknown)


@scenario(
    "TCS012",
    control=Control(
        "an authentic query is answered: what is rejected is rejected for its credentials", need_answer
    ),
)
def test_no_existence_oracle(peer: Peer) -> None:
    """A rejection about a live call is like one about an unknown call."""
    seen = rejections(peer)
    if any(list(oracles(each)) for each in seen):
        # What differs by chance, as between the machines behind one address, hardly does so twice.
        more = {each.caller: each for each in rejections(peer)}
        seen = [each.joined(more[each.caller]) for each in seen if each.caller in more]
    compared = 0
    for each in seen:
        found = list(oracles(each))
        for violation in found:
            peer.report(violation)
        if not found and each.comparable:
            peer.judged(len(each.alive))
        compared += bool(found or each.comparable)
    if not compared:
        raise Untested("strangers are not rejected, or limited to fewer requests than can be compared")


def rejections(peer: Peer) -> list[Rejections]:
    """What callers without credentials and with wrong ones get.

    Where wrong credentials shut the caller out, each comes by itself, and asks as little as can be compared.
    """
    recovery = peer.session.recovery
    callers = {"no credentials": NOBODY, "wrong credentials": plainly_wrong(peer)}
    if not recovery.locks_out:
        questions = [each for title, caller in callers.items() for each in series(peer, title, caller, 3)]
        others = partial(about_subscriptions, peer, callers)
        if peer.session.slow(Stage.FORGED):
            answers, more = beside(lambda: while_live(peer, questions), others)
            others = partial(list[Rejections], more)
        else:
            answers = while_live(peer, questions)
        if recovery.is_over():
            return [about(title, answers) for title in callers] + others()
        recovery.locks_out = True
    seen = []
    for title, caller in callers.items():
        wait_out(peer)
        seen.append(about(title, while_live(peer, series(peer, title, caller, 1))))
    wait_out(peer)
    return seen


def about_subscriptions(peer: Peer, callers: dict[str, Credentials]) -> list[Rejections]:
    """What the same callers get about a subscription; nothing where there is none, or a lock-out begins."""
    try:
        call = subscribed(peer)
    except Untested as missing:
        peer.note(f"rejections about subscriptions were not compared: {missing}")
        return []
    cases = {f"{title}, about a subscription": caller for title, caller in callers.items()}
    asked = [each for case, caller in cases.items() for each in series(peer, case, caller, 3)]
    answers = peer.session.tempo.at_once([partial(ask, call) for _, ask in asked])
    told = [(what, exchange) for (what, _), exchange in zip(asked, answers, strict=True)]
    seen = [about(case, told) for case in cases]
    peer.cancel(call)
    if peer.session.recovery.is_over():
        return seen
    peer.session.recovery.locks_out = True
    return []


def series(peer: Peer, title: str, caller: Credentials, count: int) -> list[Question]:
    """Questions about a live call, each between two about unknown ones."""
    unknown = question(peer, f"{title}/unknown", caller)
    return [unknown, question(peer, f"{title}/live", caller, True)] * count + [unknown]


def about(title: str, answers: list[Labelled]) -> Rejections:
    """What one kind of caller got; to be told to slow down is no rejection for credentials."""
    told = [(case, exchange) for case, exchange in answers if not slowed_down(exchange)]
    return Rejections(
        title,
        tuple(exchange for case, exchange in told if case == f"{title}/live"),
        tuple(exchange for case, exchange in told if case == f"{title}/unknown"),
    )


def question(
    peer: Peer, title: str, caller: Credentials, about_live: bool = False, *, keep: bool = False
) -> Question:
    """What somebody asks while a call is live: about it, or about an unknown one."""
    return title, lambda call: ask_as(peer, caller, call if about_live else None, keep=keep)


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
        "failure": NO_CONNECTION if exchange.failure in _BEFORE_ANY_QUESTION else exchange.failure,
    }
    for name, value in exchange.response_headers:
        if name.lower() not in VOLATILE_HEADERS:
            seen[f"header {name.lower()}"] = value
    return seen


def oracles(seen: Rejections) -> Iterator[Violation]:
    """Whatever all rejections about unknown calls have in common and those about a live call have not."""
    if not seen.comparable:
        return
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
)
def test_even_timing(peer: Peer) -> None:
    """A rejection about a live call takes as long as one about an unknown call."""
    caller = next((who for who in (NOBODY, plainly_wrong(peer)) if not reveals(ask_as(peer, who))), None)
    if caller is None:
        raise Untested("no wrong credential is rejected, which TCS011 is about")
    pair = [question(peer, "live", caller, True, keep=True), question(peer, "unknown", caller, keep=True)]
    recovery = peer.session.recovery
    if recovery.locks_out:
        raise Untested("wrong credentials shut the caller out before times can be compared")
    # Where answers are late, both of a pair are asked at once: what delays the one delays the other.
    answers = while_live(peer, pair * PAIRS, timed=not peer.session.tempo.late)
    if any(slowed_down(exchange) for _, exchange in answers) or not recovery.is_over():
        raise Untested("strangers are limited to fewer requests than it takes to compare times")
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
