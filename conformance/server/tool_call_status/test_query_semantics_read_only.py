"""The status check only reads: asking, however often, does nothing to what is asked about.

Specification: "Tool Call Status Check", section "Query Semantics".
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import POLL, attempts_of, certainly_live
from rap_conformance.server.call import Call
from rap_conformance.server.controls import need_answer
from rap_conformance.server.peer import Peer

SIDES, PACE, MOST, RARELY = 3, 0.03, 100, 0.5
"""From how many sides a call is asked about; seconds between a side's questions, for how many questions in
all, and the seconds after those."""

UNKNOWN_MOST = 30
"""Questions about one unknown id."""

OFTEN = "being asked about, often, while it is live"
"""On what each change depends."""


def ask_from_all_sides(
    peer: Peer, call: Call, twins: list[Call]
) -> tuple[Exchange, list[tuple[Exchange, Exchange]]]:
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
            peer.patience.pace(PACE if asked < MOST / SIDES else RARELY)
        return last

    with ThreadPoolExecutor(SIDES) as sides:
        return list(sides.map(ask, range(SIDES)))[-1], denied


@scenario(
    "TCS009",
    control=Control("questions are answered, and a call is made that they could change", need_answer),
    overlap=True,
)
def test_read_only(peer: Peer) -> None:
    """Asking, often and from many sides, changes nothing; compared with twins that nobody asks about."""
    with peer.part("pending calls"):
        pending_unchanged(peer)
    with peer.part("subscriptions"):
        subscriptions_unchanged(peer)
    with peer.part("unknown ids"):
        if not peer.record.judged:
            raise Untested("no call was made that could become known")
        unknown_unchanged(peer)


def unknown_unchanged(peer: Peer) -> None:
    """An unknown id, asked about again and again, stays unknown."""
    call_id, thread = fresh(), fresh("thread")
    answers = [peer.ask(call_id, thread)]
    if means_alive(answers[0]):
        raise Untested("an unknown id is alive at the first question, which TCS004 is about")
    while len(answers) < UNKNOWN_MOST and not means_alive(answers[-1]):
        answers.append(peer.ask(call_id, thread))
    peer.expect(
        not means_alive(answers[-1]),
        "`alive: false` however often one asks",
        f"`alive: true` at question {len(answers)}",
        answers[-1],
        answers[0],
        case="an unknown id, asked again and again",
        depends="being asked about again and again",
        crowd=UNKNOWN_MOST,
    )


def pending_unchanged(peer: Peer) -> None:
    """Three calls at once, one asked about all the time and before it was made: all three end alike."""
    call_id, thread = fresh(), fresh("thread")
    for _ in range(3):
        peer.ask(call_id, thread)
    # One twin is older, one younger: what age does befalls the older first, what a queue does befalls both.
    older = peer.invoke("pending")
    asked = peer.invoke("pending", id=call_id, thread=thread)
    twins = [older, peer.invoke("pending")]
    last, denied = ask_from_all_sides(peer, asked, twins)
    for twin in twins:
        peer.need_result(twin)
    if not ended_in_time(peer, asked, twins, last):
        return
    texts = [comparable(call) for call in (asked, *twins)]
    peer.expect(
        texts[0] == texts[1] or texts[1] != texts[2],
        f"the text of two calls that nobody asked about: {texts[1][:80]!a}",
        f"{texts[0][:80]!a}",
        last,
        asked.results[0].exchange,
        case="asking about a pending call alters its result",
        depends=OFTEN,
        crowd=MOST // 2,
    )
    still_known(peer, asked, twins, denied)
    ended_alike(peer, asked, twins[0])
    again = peer.ask_about(asked)
    peer.expect(
        not asked.mailbox.until(attempts_of(asked, 2), min(1.0, peer.race)),
        "one result, as for two calls that nobody asked about",
        f"{len(asked.results)} results",
        again,
        asked.results[-1].exchange,
        case="asking about a call repeats its result",
        depends=OFTEN,
        crowd=MOST // 2,
    )


def ended_in_time(peer: Peer, asked: Call, twins: list[Call], last: Exchange) -> bool:
    """The call that was asked about ends when its twins do, neither never nor late nor early."""
    took = [twin.result.arrived - twin.sent for twin in twins if twin.result]
    tolerance = max(1.0, 0.5 * max(took), 3 * abs(took[0] - took[1]))
    within = (peer.session.tool("pending").seconds or 0.0) * 2 + tolerance
    if not peer.expect(
        asked.mailbox.until(lambda _: asked.result, within),
        "a result, as for two calls that nobody asked about",
        f"none within {within:.0f} s after theirs",
        last,
        case="asking about a pending call loses its result",
        absence=True,
        depends=OFTEN,
        crowd=MOST // 2,
    ):
        return False
    assert asked.result is not None
    duration = asked.result.arrived - asked.sent
    what = "delays" if duration > max(took) else "completes"
    return peer.expect(
        min(took) - tolerance / 2 <= duration <= max(took) + tolerance,
        f"a result after about {sum(took) / 2:.1f} s, as for two calls that nobody asked about",
        f"a result after {duration:.1f} s",
        last,
        asked.result.exchange,
        case=f"asking about a pending call {what} it",
        depends=OFTEN,
        crowd=MOST // 2,
    )


def still_known(peer: Peer, asked: Call, twins: list[Call], denied: list[tuple[Exchange, Exchange]]) -> None:
    """The call that was asked about is alive as long as a call that nobody had asked about."""
    for mine, beside in denied:
        sure = all(certainly_live(peer, call, beside) for call in (asked, *twins))
        if sure and certainly_live(peer, asked, mine):
            raise Violation(
                "`alive: true`, as for a call that nobody had asked about",
                f"`alive: false`, {asked.results[0].arrived - mine.ended:.1f} s before the result arrived",
                mine,
                beside,
                case="asking about a call makes it unknown",
                depends=OFTEN,
                crowd=MOST // 2,
            )
    peer.judged()


def ended_alike(peer: Peer, asked: Call, twin: Call) -> None:
    """After their end a call that was asked about is as little alive as one that was not."""
    peer.patience.pace(max(peer.slack, 0.2))  # a question at the very end could be what keeps the twin alive
    if not peer.patience.until(lambda: not means_alive(peer.ask_about(twin)), peer.grace, every=0.2):
        return  # TCS006 is about that
    answers: list[Exchange] = []

    def gone() -> bool:
        answers.append(peer.ask_about(asked))
        return not means_alive(answers[-1])

    peer.expect(
        peer.patience.until(gone, max(1.0, peer.race), every=0.2),
        "`alive: false` after its end, as for a call that nobody asked about",
        "`alive: true`",
        answers[-1],
        peer.ask_about(twin),
        case="asking about a call keeps it alive beyond its end",
        absence=True,
        depends=OFTEN,
        crowd=MOST // 2,
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
        peer.patience.pace(POLL)
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
    peer.expect(
        enough and not finals and not starved,
        f"{theirs} events, as for a subscription that nobody asked about",
        "a final event" if finals else f"{meanwhile if starved else ours} events in the same time",
        last,
        case="asking about a subscription ends or starves it",
        absence=not finals,
        depends=OFTEN,
        crowd=MOST // 2,
    )
    peer.expect(
        ours <= 2 * theirs + 2,
        f"about {theirs} events, as for a subscription that nobody asked about",
        f"{ours} events in the same time",
        last,
        case="asking about a subscription repeats its events",
        depends=OFTEN,
        crowd=MOST // 2,
    )
