"""The answer tells nothing but `alive`: no secret, no member, no value, no header of a call.

Specification: "Tool Call Status Check", section "Security Considerations".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.protocol.leaks import leaked
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.reading import carries_alive, means_alive
from rap_conformance.protocol.telling import Told, of_headers, of_members
from rap_conformance.server.asking import Question, while_live
from rap_conformance.server.beside import in_parts
from rap_conformance.server.call import Call, planted
from rap_conformance.server.controls import need_answer
from rap_conformance.server.corpus import live, ordinary
from rap_conformance.server.peer import Peer
from rap_conformance.server.states import states


@dataclass
class Seen:
    """Answers about known and unknown calls so far, and the places of members that seem to repeat `alive`."""

    known: list[Exchange] = field(default_factory=list)
    unknown: list[Exchange] = field(default_factory=list)
    mirrors: set[str] = field(default_factory=set)


NEARLY = {
    "elsewhere": "asked for a live id under another thread's",
    "near": "asked for an id like a live one",
}
"""Questions that name no call and nearly do, in words."""

Groups = tuple[list[Exchange], list[Exchange]]
"""Answers about known calls, and about unknown ones before, between and after them.

So what changes with time alone, such as a server's uptime, changes for the unknown ones as well.
"""


@scenario(
    "TCS010",
    control=Control(
        "questions are answered, and a call is made with secrets that could come back", need_answer
    ),
    overlap=True,
)
def test_nothing_but_alive(peer: Peer) -> None:
    """No byte tells anything about the call: no secret comes back, only `alive` differs for known calls."""
    ended: list[Call] = []
    seen = Seen()

    def live_calls(peer: Peer) -> None:
        judge_group(peer, seen, lambda: live_beside_unknown(peer, ended), [e for _, e in live(peer)])

    def active(peer: Peer) -> None:
        subscription = peer.invoke("subscription")
        peer.need_result(subscription)
        try:
            judge_group(peer, seen, lambda: beside_unknown(peer, subscription))
        finally:
            peer.cancel(subscription)

    in_parts(peer, {"live calls": live_calls, "an active subscription": active})
    with peer.part("a call that ended"):
        if not ended:
            raise Untested("no call was pending that could end")
        if not peer.patience.until(lambda: not means_alive(peer.ask_about(ended[0])), peer.grace, every=0.1):
            raise Untested("the call is alive after its end, which TCS006 is about")
        judge_group(peer, seen, lambda: beside_unknown(peer, ended[0]))
    for state, made in states(peer).items():
        if state not in {"unknown ids", "a live call"} and made.exception() is None:
            with peer.part(state):
                judge_state(peer, seen, [e for _, e in made.result() if e.status == 200 and carries_alive(e)])
    judge_mirrors(peer, seen)
    with peer.part("planted secrets"):
        if not peer.session.calls:
            raise Untested("no call was made, so that no secret is planted")
        asked = ordinary(peer)
        answered([exchange for _, exchange in asked])
        for case, exchange in asked:
            if exchange.status is None:
                continue
            what = leaked(exchange, planted(peer.session.calls))
            peer.expect(not what, "nothing about any call", f"{what} in the answer", exchange, case=case)


def judge_state(peer: Peer, seen: Seen, first: list[Exchange]) -> None:
    """Judge what was answered anyway about a call in some state; asked again if that seems to tell of it."""

    def again() -> Groups:
        asks = [lambda: peer.ask(fresh(), fresh("thread"))]
        for exchange in first:
            asks += [partial(peer.post_status, exchange.request_body), asks[0]]
        answers = peer.session.tempo.at_once(asks)
        return answered([e for e in answers[1::2] if carries_alive(e)]), answered(answers[::2])

    made = iter([(answered(first), answered([e for _, e in ordinary(peer)]))])
    judge_group(peer, seen, lambda: next(made, None) or again())


def live_beside_unknown(peer: Peer, ended: list[Call]) -> Groups:
    """Two live calls; the first is put into `ended`."""
    first = peer.invoke("pending")
    questions: list[Question] = [("unknown", lambda call: peer.ask(fresh(), call.thread))]
    questions += [
        ("elsewhere", lambda call: peer.ask(call.id, fresh("thread"))),
        ("near", lambda call: peer.ask(f"{call.id[:-1]}.", call.thread)),
    ]
    for title, ask in (("live", peer.ask_about), ("other", lambda _: peer.ask_about(first))) * 2:
        questions += [(title, ask), questions[0]]
    answers = while_live(peer, questions)
    over = peer.need_result(first).arrived - peer.slack
    ended.append(first)
    for title, exchange in answers:
        if title in NEARLY and (what := leaked(exchange, planted(peer.session.calls))):
            got = f"{what} in the answer"
            raise Violation(
                "nothing about the call", got, exchange, case=f"a call's secrets, {NEARLY[title]}"
            )
    alive = [e for title, e in answers if title == "live" or (title == "other" and e.ended < over)]
    return answered(alive), answered([e for title, e in answers if title == "unknown"])


def beside_unknown(peer: Peer, call: Call) -> Groups:
    """One call."""
    asks = [lambda: peer.ask(fresh(), call.thread), lambda: peer.ask_about(call)] * 4
    answers = peer.session.tempo.at_once([*asks, asks[0]])
    return answered(answers[1::2]), answered(answers[::2])


def answered(asked: Sequence[Exchange]) -> list[Exchange]:
    """Those that were answered at all. Raises Untested if none was."""
    kept = [exchange for exchange in asked if exchange.status is not None]
    if not kept:
        raise Untested("no question was answered, which TCS001 is about")
    return kept


def judge_group(peer: Peer, seen: Seen, make: Callable[[], Groups], more: Iterable[Exchange] = ()) -> None:
    """Raise a Violation for whatever the answers about known calls tell beyond `alive`.

    What seems to say `alive` once more is left to `judge_mirrors`.
    """
    known, unknown = make()
    everything = [*known, *(exchange for exchange in more if exchange.status is not None)]
    for exchange in everything:
        if what := leaked(exchange, planted(peer.session.calls)):
            expected, got = "nothing about the call", f"{what} in the answer"
            raise Violation(expected, got, exchange, case="a call's secrets")
    if told(peer, seen, known, unknown):
        # What differs by chance, as between the machines behind one address, hardly does so twice.
        again = make()
        if found := told(peer, seen, known + again[0], unknown + again[1]):
            raise Violation(found.expected, found.actual, *found.exchanges, case=found.case)
    seen.known += known
    seen.unknown += unknown
    peer.judged(len(everything))


def told(peer: Peer, seen: Seen, known: list[Exchange], unknown: list[Exchange]) -> Told | None:
    """The first thing that answers about known calls tell, if there is one."""
    alike = [*unknown, *many_unknown(peer, unknown)]
    found = [*of_members(known, alike), *of_headers(known, alike)]
    seen.mirrors |= {each.place for each in found if each.mirrors}
    return next((each for each in found if not each.mirrors), None)


def many_unknown(peer: Peer, unknown: list[Exchange]) -> list[Exchange]:
    """The answers to all ordinary queries about unknown ids, as far as they are like those given."""
    kinds = {(exchange.status, carries_alive(exchange)) for exchange in unknown}
    return [e for _, e in ordinary(peer) if e.failure is None and (e.status, carries_alive(e)) in kinds]


def judge_mirrors(peer: Peer, seen: Seen) -> None:
    """A boolean that is everywhere what `alive` is tells nothing more; one that is not, tells of the call."""
    if not seen.mirrors:
        return
    for each in of_members(seen.known, seen.unknown):
        if each.place not in seen.mirrors:
            continue
        if each.mirrors:
            peer.note(f"the member {each.place[:60]!a} says what `alive` says, everywhere")
        else:
            peer.report(Violation(each.expected, each.actual, *each.exchanges, case=each.case))
