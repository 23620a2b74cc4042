"""The answer tells nothing but `alive`: no secret, no member, no header of a call.

Specification: "Tool Call Status Check", section "Security Considerations".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.protocol.leaks import OF_THE_BODY, VOLATILE_HEADERS, leaked, members
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import Question, while_live
from rap_conformance.server.call import Call, planted
from rap_conformance.server.controls import need_answer
from rap_conformance.server.corpus import live, ordinary
from rap_conformance.server.peer import Peer

Groups = tuple[list[Exchange], list[Exchange]]
"""Answers about known calls, and about unknown ones before, between and after them.

So a header that changes with time alone, such as a server's uptime, changes for the unknown ones as well.
"""


@scenario(
    "TCS010",
    control=Control(
        "questions are answered, and a call is made with secrets that could come back", need_answer
    ),
    overlap=True,
)
def test_nothing_but_alive(peer: Peer) -> None:
    """No byte tells anything about the call: no secret comes back, only `alive` differs for live calls."""
    ended: list[Call] = []
    with peer.part("live calls"):
        judge_group(peer, lambda: live_beside_unknown(peer, ended), [e for _, e in live(peer)])
    with peer.part("an active subscription"):
        subscription = peer.invoke("subscription")
        peer.need_result(subscription)
        try:
            judge_group(peer, lambda: beside_unknown(peer, subscription))
        finally:
            peer.cancel(subscription)
    with peer.part("a call that ended"):
        if not ended:
            raise Untested("no call was pending that could end")
        if not peer.patience.until(lambda: not means_alive(peer.ask_about(ended[0])), peer.grace, every=0.1):
            raise Untested("the call is alive after its end, which TCS006 is about")
        judge_group(peer, lambda: beside_unknown(peer, ended[0]))
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


def live_beside_unknown(peer: Peer, ended: list[Call]) -> Groups:
    """Two live calls; the first is put into `ended`."""
    first = peer.invoke("pending")
    questions: list[Question] = [("unknown", lambda call: peer.ask(fresh(), call.thread))]
    for title, ask in (("live", peer.ask_about), ("other", lambda _: peer.ask_about(first))) * 2:
        questions += [(title, ask), questions[0]]
    answers = while_live(peer, questions)
    over = peer.need_result(first).arrived - peer.slack
    ended.append(first)
    alive = [e for title, e in answers if title == "live" or (title == "other" and e.ended < over)]
    return answered(alive), answered([e for title, e in answers if title == "unknown"])


def beside_unknown(peer: Peer, call: Call) -> Groups:
    """One call."""
    known, unknown = [], [peer.ask(fresh(), call.thread)]
    for _ in range(4):
        known.append(peer.ask_about(call))
        unknown.append(peer.ask(fresh(), call.thread))
    return answered(known), answered(unknown)


def answered(asked: Sequence[Exchange]) -> list[Exchange]:
    """Those that were answered at all. Raises Untested if none was."""
    kept = [exchange for exchange in asked if exchange.status is not None]
    if not kept:
        raise Untested("no question was answered, which TCS001 is about")
    return kept


def judge_group(peer: Peer, make: Callable[[], Groups], more: Iterable[Exchange] = ()) -> None:
    """Raise a Violation for whatever the answers about known calls tell beyond `alive`."""
    known, unknown = make()
    everything = [*known, *(exchange for exchange in more if exchange.status is not None)]
    for exchange in everything:
        if what := leaked(exchange, planted(peer.session.calls)):
            expected, got = "nothing about the call", f"{what} in the answer"
            raise Violation(expected, got, exchange, case="a call's secrets")
    if found := another_member(everything, unknown):
        raise found
    if another_header(known, unknown):
        # What differs by chance, as between the machines behind one address, hardly does so twice.
        again = make()
        if found := another_header(known + again[0], unknown + again[1]):
            raise found
    peer.judged(len(everything))


def another_member(alive: list[Exchange], unknown: list[Exchange]) -> Violation | None:
    """A member of the body that is there for live calls only."""
    known = set.union(*(members(e) for e in unknown))
    for exchange in alive:
        if extra := members(exchange) - known - {"alive"}:
            names = ", ".join(ascii(name)[:40] for name in sorted(extra)[:5])
            return Violation(
                "the members of an answer about an unknown id",
                f"also {names}",
                exchange,
                unknown[0],
                case="a member for live calls only",
            )
    return None


def another_header(known: list[Exchange], unknown: list[Exchange]) -> Violation | None:
    """A header that is there for known calls only, or differs for them while all unknown ones share it."""
    for name in sorted({k.lower() for e in known + unknown for k, _ in e.response_headers}):
        theirs, ours = ({e.header(name) for e in group} for group in (unknown, known))
        volatile = name in VOLATILE_HEADERS
        if theirs == {None} and not (volatile and None in ours):
            return Violation(
                "the headers of an answer about an unknown id",
                f"also {ascii(name)[:60]}",
                next(e for e in known if e.header(name) is not None),
                unknown[0],
                case="a header for known calls only",
            )
        if volatile or not (differs_by_body if name in OF_THE_BODY else differs)(name, known, unknown):
            continue
        return Violation(
            f"{name}: {str(next(iter(theirs)))[:60]!a}, as for unknown ids",
            ", ".join(ascii(str(value)[:60]) for value in sorted(map(str, ours))[:3]),
            next((e for e in known if e.header(name) not in theirs), known[0]),
            unknown[0],
            case="a header that differs for known calls",
        )
    return None


def differs(name: str, known: list[Exchange], unknown: list[Exchange]) -> bool:
    """Whether a header has one value for all unknown calls, and another or several for known ones."""
    theirs, ours = ({e.header(name) for e in group} for group in (unknown, known))
    return len(theirs) == 1 and ours != theirs


def differs_by_body(name: str, known: list[Exchange], unknown: list[Exchange]) -> bool:
    """The same for a header that is computed from the body: among answers with the same body."""

    def having(group: list[Exchange], body: bytes) -> list[Exchange]:
        return [e for e in group if e.response_body == body]

    if len({e.header(name) for e in unknown}) != 1:
        return False
    for body in {e.response_body for e in known}:
        mine, theirs = having(known, body), having(unknown, body)
        if len({e.header(name) for e in mine}) > 1 or (theirs and differs(name, mine, theirs)):
            return True
    return False
