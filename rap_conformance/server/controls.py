"""The controls that many scenarios share: an ordinary question is answered, a live call is seen alive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Untested
from rap_conformance.protocol.leaks import reveals
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import ITSELF, Labelled
from rap_conformance.server.corpus import live
from rap_conformance.server.peer import Peer


def need_answer(peer: Peer) -> None:
    """An ordinary, authentic query gets a status answer, about an unknown id or else about a live call.

    Raises Untested if neither does.
    """
    exchange = peer.ask(fresh(), fresh("thread"))
    if reveals(exchange):
        return
    if exchange.failure is None:
        about_live = peer.session.once("control", lambda: _about_live(peer))
        if any(reveals(each) for each in about_live):
            return
    got = exchange.failure or f"status {exchange.status}"
    raise Untested(f"the control, an ordinary query, gets no status answer ({got}), which TCS001 is about")


def _about_live(peer: Peer) -> list[Exchange]:
    """Answers about a live call, none where no call can be made."""
    try:
        return [exchange for _, exchange in live(peer)]
    except Untested:
        return []


def need_alive(peer: Peer, exchange: Exchange, what: str) -> None:
    """The control beside what is not alive: what is, is seen alive. Raises Untested if it is not."""
    peer.controlled(means_alive(exchange), f"{what} is never alive, which TCS005 and TCS007 are about")


def judge_false(peer: Peer, answers: Iterable[Labelled]) -> None:
    """None of these answers may be `true`. What cannot be read is left to those who judge form.

    Raises Untested if none can be read.
    """
    readable = [(case, exchange) for case, exchange in answers if means_alive(exchange) is not None]
    if not readable:
        raise Untested("no answer could be read")
    for case, exchange in readable:
        peer.expect(not means_alive(exchange), "`alive: false`", "`alive: true`", exchange, case=case)


def judge_resembling(peer: Peer, answers: Sequence[Labelled]) -> None:
    """Of these answers only the first, about the live call itself, may be `true`, and it has to be."""
    (_, control), *others = answers
    judge_false(peer, others)
    need_alive(peer, control, ITSELF)
