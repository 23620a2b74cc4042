"""The status check only reads: asking, however often, does nothing to what is asked about.

Specification: "Tool Call Status Check", section "Query Semantics".
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Untested, Violation, scenario
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server import twins
from rap_conformance.server.asking import certainly_live
from rap_conformance.server.call import Call
from rap_conformance.server.controls import need_answer
from rap_conformance.server.peer import Peer
from rap_conformance.server.tempo import batched
from rap_conformance.server.twins import (
    MOST_TRIES,
    SLOWED,
    Pair,
    Round,
    Subscriptions,
    ask_about_pending,
    ask_about_subscription,
)

UNKNOWN_MOST = 30
"""Questions about one unknown id."""

OFTEN = "being asked about, often, while it is live"
"""On what each change depends."""
TIMES = 50
"""Questions that should bring it about again."""

ROUNDS, MORE_TWINS = 3, 4
"""How often a call has to fare otherwise than its twins, and how many there are from the second time on: work
may last a different time each time."""


@scenario(
    "TCS009",
    control=Control("questions are answered, and a call is made that they could change", need_answer),
    overlap=True,
    parts=(twins.much_later("TCS009"),),
)
def test_read_only(peer: Peer) -> None:
    """Asking, often and from many sides, changes nothing; compared with twins that nobody asks about."""
    with ThreadPoolExecutor(2) as beside:
        subscriptions = beside.submit(ask_about_subscription, peer)
        if peer.session.slow():
            unknown = beside.submit(ask_unknown, peer).result
        else:
            unknown = partial(ask_unknown, peer)
        with peer.part("pending calls"):
            pending_unchanged(peer)
        with peer.part("subscriptions"):
            subscriptions_unchanged(peer, subscriptions.result())
    with peer.part("unknown ids"):
        if not peer.record.judged:
            raise Untested("no call was made that could become known")
        unknown_unchanged(peer, unknown())


def ask_unknown(peer: Peer) -> list[Exchange]:
    """The answers about one unknown id, asked about again and again, until it is alive."""
    call_id, thread = fresh(), fresh("thread")
    answers = [peer.ask(call_id, thread)]
    tempo = peer.session.tempo
    for some in batched([partial(peer.ask, call_id, thread)] * (UNKNOWN_MOST - 2), tempo.sides):
        answers += tempo.at_once(some)
        if any(map(means_alive, answers)):
            break
    else:
        answers.append(peer.ask(call_id, thread))
    last = next((number for number, each in enumerate(answers, 1) if means_alive(each)), len(answers))
    return answers[:last]


def unknown_unchanged(peer: Peer, answers: list[Exchange]) -> None:
    """An unknown id, asked about again and again, stays unknown."""
    if means_alive(answers[0]):
        raise Untested("an unknown id is alive at the first question, which TCS004 is about")
    if peer.expect(
        not means_alive(answers[-1]),
        "`alive: false` however often one asks",
        f"`alive: true` at question {len(answers)}",
        answers[-1],
        answers[0],
        case="an unknown id, asked again and again",
        depends="being asked about again and again",
        crowd=UNKNOWN_MOST,
    ):
        twins.asked_unknown(peer).append(answers[-1])


def pending_unchanged(peer: Peer) -> None:
    """A call that is asked about all the time fares like its twins. Judged by several, where it does not."""
    rounds: list[Round] = []
    odd: Violation | None = None
    tries = MOST_TRIES
    while len(rounds) < ROUNDS:
        rounds.append(ask_about_pending(peer, MORE_TWINS if rounds else 1))
        slowed = rounds[-1].slowed > SLOWED and not peer.session.tempo.late
        if slowed and (tries := tries - 1):
            rounds.pop()  # a limit made us wait: nothing was asked often
            continue
        before, odd = odd, odd_duration(rounds)
        if odd is None or (before is not None and odd.case != before.case) or odd.absence:
            break
    first = rounds[0]
    asked = first.asked
    if odd is not None and (odd.absence or len(rounds) == ROUNDS):
        raise odd
    peer.judged()
    if asked.result is None:
        return
    peer.expect(
        peer.result_of(first.neighbour, first.neighbour.seconds + peer.grace),
        "a result of the other call of its thread, too",
        "none",
        first.last,
        case="asking about a pending call loses another one of its thread",
        depends=OFTEN,
        crowd=TIMES,
        absence=True,
    )
    texts = [comparable(call) for call in (asked, *first.twins)]
    peer.expect(
        texts[0] == texts[1] or texts[1] != texts[2],
        f"the text of two calls that nobody asked about: {texts[1][:80]!a}",
        f"{texts[0][:80]!a}",
        first.last,
        asked.results[0].exchange,
        case="asking about a pending call alters its result",
        depends=OFTEN,
        crowd=TIMES,
    )
    still_known(peer, asked, first.twins, first.denied)
    ended_alike(peer, asked, first.twins[0])
    pair = Pair(asked, first.twins[1], peer.ask_about(asked), "asking about a call repeats its result")
    twins.pairs(peer, "TCS009").append(pair)


def odd_duration(rounds: list[Round]) -> Violation | None:
    """What is wrong if the call that was asked about ended never, late or early, compared with all twins."""
    latest = rounds[-1]
    took = [each for one in rounds for each in one.took]
    # What twins differ in among each other is nobody's doing; two of them may be alike by chance.
    tolerance = max(1.0, 0.5 * max(took), max(took) - min(took))
    asked = latest.asked
    within = asked.seconds * 2 + tolerance
    if not asked.mailbox.until(lambda _: asked.result, within):
        return Violation(
            "a result, as for two calls that nobody asked about",
            f"none within {within:.0f} s after theirs",
            latest.last,
            case="asking about a pending call loses its result",
            depends=OFTEN,
            crowd=TIMES,
            absence=True,
        )
    assert asked.result is not None
    duration = asked.result.arrived - asked.sent
    if min(took) - tolerance / 2 <= duration <= max(took) + tolerance:
        return None
    what = "delays" if duration > max(took) else "completes"
    return Violation(
        f"a result after about {sum(took) / len(took):.1f} s, as for calls that nobody asked about",
        f"a result after {duration:.1f} s",
        latest.last,
        asked.result.exchange,
        case=f"asking about a pending call {what} it",
        depends=OFTEN,
        crowd=TIMES,
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
                crowd=TIMES,
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
        peer.patience.until(gone, max(peer.grace, peer.race), every=0.2),
        "`alive: false` after its end, as for a call that nobody asked about",
        "`alive: true`",
        answers[-1],
        peer.ask_about(twin),
        case="asking about a call keeps it alive beyond its end",
        depends=OFTEN,
        crowd=TIMES,
        absence=True,
    )


def comparable(call: Call) -> str:
    """A result's text without what differs between any two calls: ids, secrets, numbers."""
    message = call.result.message if call.result else None
    text = str(message.get("text", "")) if isinstance(message, dict) else ""
    for own in (call.id, call.thread, call.mailbox.url, *call.canaries):
        text = text.replace(own, "*")
    return re.sub(r"\d+(\.\d+)?", "#", text)


def subscriptions_unchanged(peer: Peer, seen: Subscriptions) -> None:
    """Two subscriptions, one of them asked about all the time: both went on alike."""
    ended = seen.ended and not seen.twin_ended
    starved = 2 * seen.meanwhile < seen.theirs
    peer.expect(
        seen.enough and not ended and not starved,
        f"{seen.theirs} events, as for a subscription that nobody asked about",
        "a final event" if ended else f"{seen.meanwhile if starved else seen.ours} events in the same time",
        seen.last,
        case="asking about a subscription ends or starves it",
        depends=OFTEN,
        crowd=TIMES,
        absence=not ended,
    )
    peer.expect(
        seen.ours <= 2 * seen.theirs + 2,
        f"about {seen.theirs} events, as for a subscription that nobody asked about",
        f"{seen.ours} events in the same time",
        seen.last,
        case="asking about a subscription repeats its events",
        depends=OFTEN,
        crowd=TIMES,
    )
    case = "asking about a subscription brings events after its end"
    twins.pairs(peer, "TCS009").append(Pair(seen.asked, seen.twin, seen.last, case, seen.cancelled))
