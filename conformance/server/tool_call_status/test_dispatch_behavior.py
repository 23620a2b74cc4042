"""Many questions at once, as a runtime asks them for independent calls: each gets its own right answer.

Specification: "Tool Call Status Check", section "Dispatch Behavior".
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import scenario
from rap_conformance.network.pace import NoAnswer
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import certainly_live, until_alive
from rap_conformance.server.call import Call
from rap_conformance.server.peer import Peer

QUESTIONS, CROWD, LIVE = 240, 8, 4
"""How many questions are asked, how many at once, and about how many live calls."""

LEAST = 20
"""Answers about live calls without which nothing is said of a crowd."""


@scenario("TCS022", control=Control("asked alone, each call is alive and an unknown id is not"))
def test_right_under_concurrency(peer: Peer) -> None:
    """Hundreds of questions at once, about live and unknown ids: each gets its own right answer."""
    telling = 0
    for _ in range(1 if peer.session.slow() else 3):
        round_ = Round(peer)
        telling += round_.judge()
        if telling >= LEAST or round_.hopeless:
            break
    peer.controlled(
        telling >= LEAST, "the pending calls ended before many could ask; let scenario.pending last longer"
    )


class Round:
    """One set of calls that many ask about at once.

    The twin, the oldest, is asked about now and then: while it is alive, age alone made no call unknown.
    What is wrong even if one asks alone is TCS004's and TCS005's, and judged there.
    """

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        at_once = peer.session.tempo.at_once
        with ThreadPoolExecutor(1 + LIVE) as sides:
            # At once, for an acknowledgement may take its time.
            made = [sides.submit(peer.invoke, "pending") for _ in range(1 + LIVE)]
        self.twin, *self.calls = sorted((each.result() for each in made), key=lambda call: call.sent)
        peer.patience.pace(peer.slack)
        began = peer.patience.now()
        unknown = partial(peer.ask, fresh(), self.calls[0].thread)
        first, *alone = at_once([unknown, *(partial(until_alive, peer, call) for call in self.calls)])
        self.unknown_right = not means_alive(first)
        self.live_right = all(means_alive(exchange) for exchange in alone)
        ended = [call.results[0].arrived for call in self.calls if call.results]
        self.too_soon = any(end < began + peer.slack for end in ended)

    @property
    def hopeless(self) -> bool:
        """Whether another round would tell no more: asked alone, a call is not alive although it has time."""
        return not self.live_right and not self.too_soon

    def ask(self, number: int) -> tuple[Call | None, Exchange] | None:
        """A question of the crowd: about a live call, an unknown id or, now and then, the twin."""
        call = self.calls[number // 2 % LIVE] if number % 2 else None if number % 30 else self.twin
        # Nothing is learnt once the calls ended, as they do meanwhile where the server slows us down.
        if any(each.results for each in self.calls):
            return None
        try:
            if call is None:
                return call, self.peer.ask(fresh(), self.calls[0].thread)
            return call, self.peer.ask_about(call)
        except NoAnswer:
            return None

    def judge(self) -> int:
        """Let the crowd ask and judge its answers; gives how many answers about live calls tell something."""
        with ThreadPoolExecutor(max(CROWD, self.peer.session.tempo.sides)) as crowd:
            answers = [answer for answer in crowd.map(self.ask, range(QUESTIONS)) if answer is not None]
        everybody = [*self.calls, self.twin]
        for call in everybody:
            self.peer.need_result(call)
        sane = [
            exchange.started
            for about, exchange in answers
            if about is self.twin
            and means_alive(exchange)
            and all(certainly_live(self.peer, call, exchange) for call in everybody)
        ]
        self.peer.record.examples += len(answers)
        judged = 0
        whole = [(about is not None, e) for about, e in answers if e.failure is None]
        for about, exchange in answers:
            beside = [e for live, e in whole if live is (about is None)][:1]
            if about is None:
                self._expect(exchange, False, self.unknown_right, beside)
            elif about is not self.twin and exchange.ended <= max(sane, default=0.0):
                judged += self._expect(exchange, True, self.live_right, beside)
        return judged

    def _expect(self, exchange: Exchange, right: bool, alone: bool, beside: list[Exchange]) -> bool:
        """Judge an answer that can be read, if one who asks `alone` gets the right one; gives that.

        `beside`: a question of the other sort, as there were as many at the same time.
        """
        alive = means_alive(exchange)
        if not alone:
            return False
        if exchange.failure is None and alive is not None:
            self.peer.expect(
                alive is right,
                f"`alive: {str(right).lower()}`",
                f"`alive: {str(alive).lower()}`",
                exchange,
                *beside,
                case="a live call, asked by many" if right else "an unknown id, asked by many",
                crowd=QUESTIONS,
            )
        return True
