"""The status check only reads, and tells nothing but `alive`.

Specification: "Tool Call Status Check", sections "Query Semantics" and "Security Considerations".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from rap_conformance.controls import need_answer
from rap_conformance.corpus import live, ordinary
from rap_conformance.evidence import Exchange
from rap_conformance.leaks import OF_THE_BODY, VOLATILE_HEADERS, leaked, members
from rap_conformance.peer import Call, Peer, Question, fresh
from rap_conformance.scenario import Untested, Violation, scenario
from rap_conformance.wire import means_alive

HAMMER_THREADS, HAMMER_PACE, HAMMER_MOST = 3, 0.03, 100


def hammer(peer: Peer, call: Call, twins: list[Call]) -> tuple[Exchange, list[tuple[Exchange, Exchange]]]:
    """Ask about one call from several sides until it ended, or its twins did a while ago.

    Gives the last answer, and every "not alive" that held on for a moment with what the older twin got.
    """
    denied: list[tuple[Exchange, Exchange]] = []

    def over() -> bool:
        ends = [twin.results[0].arrived for twin in twins if twin.results]
        return bool(call.results) or (len(ends) == len(twins) and peer.patience.now() > max(ends) + 1.0)

    def ask(side: int) -> Exchange:
        last = peer.ask_about(call)
        asked = doubts = 1
        while not over():
            last = peer.ask_about(call)
            asked += 1
            if side == 0 and doubts < 8 and not means_alive(last):
                doubts += 1
                peer.patience.pace(0.1)
                last, beside = peer.ask_about(call), peer.ask_about(twins[0])
                if not means_alive(last) and means_alive(beside):
                    denied.append((last, beside))
            peer.patience.pace(HAMMER_PACE if asked < HAMMER_MOST / HAMMER_THREADS else 0.5)
        return last

    with ThreadPoolExecutor(HAMMER_THREADS) as sides:
        return list(sides.map(ask, range(HAMMER_THREADS)))[-1], denied


@scenario("TCS009", overlap=True)
def test_read_only(peer: Peer) -> None:
    """Asking, often and from many sides, changes nothing; compared with twins that nobody asks about."""
    need_answer(peer)
    with peer.part("pending calls"):
        pending_unchanged(peer)
    with peer.part("subscriptions"):
        subscriptions_unchanged(peer)
    with peer.part("unknown ids"):
        if not peer.record.judged:
            raise Untested("no call was made that could become known")
        call_id, thread = fresh(), fresh("thread")
        for number in range(30):
            exchange = peer.ask(call_id, thread)
            if means_alive(exchange) and not number:
                raise Untested("an unknown id is alive at the first question, which TCS004 is about")
            if means_alive(exchange):
                raise Violation(
                    "`alive: false` however often one asks",
                    f"`alive: true` at question {number + 1}",
                    exchange,
                    case="an unknown id, asked again and again",
                )


def pending_unchanged(peer: Peer) -> None:
    """Three calls at once, one hammered with questions from before it was made: all three end alike."""
    call_id, thread = fresh(), fresh("thread")
    for _ in range(3):
        peer.ask(call_id, thread)
    # One twin is older, one younger: what age does befalls the older first, what a queue does befalls both.
    older = peer.invoke("pending")
    asked = peer.invoke("pending", id=call_id, thread=thread)
    twins = [older, peer.invoke("pending")]
    lasts = peer.session.tool("pending").seconds or 0.0
    last, denied = hammer(peer, asked, twins)
    ends = [peer.need_result(twin) for twin in twins]
    took = [end.arrived - twin.sent for end, twin in zip(ends, twins, strict=True)]
    tolerance = max(1.0, 0.5 * max(took), 3 * abs(took[0] - took[1]))
    if not asked.mailbox.until(lambda _: asked.result, lasts * 2 + tolerance):
        raise Violation(
            "a result, as for two calls that nobody asked about",
            f"none within {lasts * 2 + tolerance:.0f} s after theirs",
            last,
            case="asking about a pending call loses its result",
            absence=True,
        )
    assert asked.result is not None
    duration = asked.result.arrived - asked.sent
    if not min(took) - tolerance / 2 <= duration <= max(took) + tolerance:
        what = "delays" if duration > max(took) else "completes"
        raise Violation(
            f"a result after about {sum(took) / 2:.1f} s, as for two calls that nobody asked about",
            f"a result after {duration:.1f} s",
            last,
            asked.result.exchange,
            case=f"asking about a pending call {what} it",
        )
    texts = [comparable(call) for call in (asked, *twins)]
    if texts[1] == texts[2] != texts[0]:
        raise Violation(
            f"the text of two calls that nobody asked about: {texts[1][:80]!a}",
            f"{texts[0][:80]!a}",
            last,
            asked.result.exchange,
            case="asking about a pending call alters its result",
        )
    over = min(asked.result.arrived, *(end.arrived for end in ends)) - peer.slack
    for mine, beside in denied:
        if mine.started > asked.acknowledged + peer.slack and beside.ended < over:
            raise Violation(
                "`alive: true`, as for a call that nobody had asked about",
                f"`alive: false`, {asked.result.arrived - mine.ended:.1f} s before the result arrived",
                mine,
                beside,
                case="asking about a call makes it unknown",
            )
    ended_alike(peer, asked, twins[0])
    again = peer.ask_about(asked)
    if asked.mailbox.until(lambda _: len(asked.results) > 1, min(1.0, peer.race)):
        raise Violation(
            "one result, as for two calls that nobody asked about",
            f"{len(asked.results)} results",
            again,
            asked.results[-1].exchange,
            case="asking about a call repeats its result",
        )


def ended_alike(peer: Peer, asked: Call, twin: Call) -> None:
    """After their end a call that was asked about is as little alive as one that was not."""
    peer.patience.pace(max(peer.slack, 0.2))  # a question at the very end could be what keeps the twin alive
    if not peer.patience.until(lambda: not means_alive(peer.ask_about(twin)), peer.grace, every=0.2):
        return  # TCS006 is about that
    if not peer.patience.until(
        lambda: not means_alive(peer.ask_about(asked)), max(1.0, peer.race), every=0.2
    ):
        raise Violation(
            "`alive: false` after its end, as for a call that nobody asked about",
            "`alive: true`",
            peer.ask_about(asked),
            peer.ask_about(twin),
            case="asking about a call keeps it alive beyond its end",
            absence=True,
        )


def comparable(call: Call) -> str:
    """A result's text without what differs between any two calls: ids, secrets, numbers."""
    message = call.result.message if call.result else None
    text = str(message.get("text", "")) if isinstance(message, dict) else ""
    for own in (call.id, call.thread, call.mailbox.url, *call.canaries):
        text = text.replace(own, "*")
    return re.sub(r"\d+(\.\d+)?", "#", text)


def subscriptions_unchanged(peer: Peer) -> None:
    """Two subscriptions, one of them asked about all the time: both go on alike."""
    asked, twin = (peer.invoke("subscription") for _ in range(2))
    for call in (asked, twin):
        peer.need_result(call)
    peer.session.fire()
    end = peer.patience.now() + peer.grace
    last = peer.ask_about(asked)
    while len(twin.events) < 5 and peer.patience.now() < end:
        last = peer.ask_about(asked)
        peer.patience.pace(0.06)
    theirs, meanwhile = len(twin.events), len(asked.events)
    if theirs < 3:
        raise Untested(f"a subscription that nobody asked about sent {theirs} events within {peer.grace:g} s")
    took = twin.events[-1].arrived - twin.events[0].arrived
    enough = asked.mailbox.until(lambda _: len(asked.events) >= theirs - 1, took + 2.0)
    ours = len(asked.events)
    finals = [event for event in asked.events if event.final]
    for call in (asked, twin):
        peer.cancel(call)
    starved = 2 * meanwhile < theirs
    if finals or not enough or starved:
        raise Violation(
            f"{theirs} events, as for a subscription that nobody asked about",
            "a final event" if finals else f"{meanwhile if starved else ours} events in the same time",
            last,
            case="asking about a subscription ends or starves it",
            absence=not finals,
        )
    if ours > 2 * theirs + 2:
        raise Violation(
            f"about {theirs} events, as for a subscription that nobody asked about",
            f"{ours} events in the same time",
            last,
            case="asking about a subscription repeats its events",
        )


@scenario("TCS010", overlap=True)
def test_nothing_but_alive(peer: Peer) -> None:
    """No byte tells anything about the call: no secret comes back, only `alive` differs for live calls."""
    need_answer(peer)
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
        for case, exchange in ordinary(peer):
            if what := leaked(exchange, peer.session.calls):
                raise Violation("nothing about any call", f"{what} in the answer", exchange, case=case)


Groups = tuple[list[Exchange], list[Exchange]]
"""Answers about known calls, and about unknown ones before, between and after them.

So a header that changes with time alone, such as a server's uptime, changes for the unknown ones as well.
"""


def live_beside_unknown(peer: Peer, ended: list[Call]) -> Groups:
    """Two live calls; the first is put into `ended`."""
    first = peer.invoke("pending")
    questions: list[Question] = [("unknown", lambda call: peer.ask(fresh(), call.thread))]
    for title, ask in (("live", peer.ask_about), ("other", lambda _: peer.ask_about(first))) * 2:
        questions += [(title, ask), questions[0]]
    answers = peer.while_pending(questions)[1]
    over = peer.need_result(first).arrived - peer.slack
    ended.append(first)
    alive = [e for title, e in answers if title == "live" or (title == "other" and e.ended < over)]
    return alive, [e for title, e in answers if title == "unknown"]


def beside_unknown(peer: Peer, call: Call) -> Groups:
    """One call."""
    known, unknown = [], [peer.ask(fresh(), call.thread)]
    for _ in range(4):
        known.append(peer.ask_about(call))
        unknown.append(peer.ask(fresh(), call.thread))
    return known, unknown


def judge_group(peer: Peer, make: Callable[[], Groups], more: Iterable[Exchange] = ()) -> None:
    """Raise a Violation for whatever the answers about known calls tell beyond `alive`."""
    known, unknown = make()
    everything = [*known, *more]
    for exchange in everything:
        if what := leaked(exchange, peer.session.calls):
            expected, got = "nothing about the call", f"{what} in the answer"
            raise Violation(expected, got, exchange, case="a call's secrets")
    if found := another_member(everything, unknown):
        raise found
    if another_header(known, unknown):
        # What differs by chance, as between the machines behind one address, hardly does so twice.
        again = make()
        if found := another_header(known + again[0], unknown + again[1]):
            raise found


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
