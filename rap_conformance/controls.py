"""Positive controls (law 3): the same request, one thing different, accepted.

A check that something is refused, not alive or not told passes just as well where nothing is there at all. So
each such check has a control, a request that differs in what is judged and must be accepted. A control that
fails accuses nobody: the requirement is untested, and the reason names the requirement that is about it.
CONTROLS says for each of them what its control is, and `tests/test_controls.py` proves that it works.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rap_conformance.corpus import live
from rap_conformance.evidence import Exchange
from rap_conformance.leaks import reveals
from rap_conformance.peer import Call, Peer, fresh
from rap_conformance.scenario import Untested
from rap_conformance.wire import means_alive

EVERY = 0.06
"""Seconds between two questions about a call that should be alive."""


@dataclass(frozen=True, slots=True)
class Control:
    """What must be accepted beside what a check expects to be refused, and the function that makes it."""

    what: str
    made_by: str = "need_answer"


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


def seen_alive(peer: Peer, call: Call, over: Callable[[], object]) -> bool:
    """Ask about a call until it is alive, or `over`, within the grace time; whether it was alive."""
    end = peer.patience.now() + peer.grace
    while True:
        if means_alive(peer.ask_about(call)):
            return True
        if over() or peer.patience.now() > end:
            return False
        peer.patience.pace(EVERY)


def need_alive(known: object, what: str = "the live call itself") -> None:
    """Raises Untested unless the call that a check is about was alive to whoever asked rightly."""
    if not known:
        raise Untested(f"the control fails: {what} is never alive, which TCS005 and TCS007 are about")


CONTROLS: Mapping[str, Control] = {
    "TCS004": Control("ordinary queries are answered; the live call that the near misses resemble is alive"),
    "TCS006": Control("ordinary queries are answered; the call that was pending was alive before its end"),
    "TCS008": Control("the subscription was alive before its final event", "seen_alive"),
    "TCS009": Control("questions are answered, and a call is made that they could change"),
    "TCS010": Control("questions are answered, and a call is made with secrets that could come back"),
    "TCS011": Control("the same query with the right credentials is answered", "reveals"),
    "TCS012": Control("an authentic query is answered: what is rejected is rejected for its credentials"),
    "TCS013": Control("a query with ordinary ids is answered, before and after"),
    "TCS014": Control("a well-formed query is answered, before and after"),
    "TCS015": Control("a well-formed query is answered: an error has its reason in what provoked it"),
    "TCS016": Control("right before the crash a call is alive that may be lost in it", "need_alive"),
    "TCS019": Control("one query alone is answered: a limit is met by many only"),
    "TCS020": Control("the live id under its own thread's id is alive", "need_alive"),
    "TCS021": Control("two calls with different ids, made and ended alike, are told apart", "known_alone"),
    "TCS022": Control("asked alone, each call is alive and an unknown id is not", "known_alone"),
    "TCS023": Control("the same URL answers an ordinary query by POST"),
    "TCS024": Control("an authentic query is answered: what is timed are rejections for credentials"),
    "TCS026": Control("a question is answered; a twin that nobody asks about gets its second attempt"),
    "TCS027": Control("ordinary queries of the same caller are answered"),
    "TCS028": Control("to the plain query the live call is alive; an invocation runs the tool", "need_alive"),
    "TCS030": Control("the live id, exactly, is alive", "need_alive"),
    "TCS031": Control("the subscription was alive before its cancellation", "seen_alive"),
    "TCS033": Control("a well-formed query is answered: an error has its reason in what provoked it"),
    "TCS034": Control("the same query with the right credentials is answered"),
    "TCS035": Control("the right secret in its right place is accepted"),
    "TCS037": Control("to the identity that made it the call is alive", "seen_alive"),
}
"""The control of each requirement whose check passes if something is refused, absent or unchanged."""

POSITIVE: Mapping[str, str] = {
    "TCS001": "an answer with 200 and JSON has to be there",
    "TCS002": "the form of 2xx answers is judged; without any it is untested",
    "TCS003": "the form of 2xx answers is judged; without any it is untested",
    "TCS005": "an answer `true` has to be there",
    "TCS007": "an answer `true` has to be there",
    "TCS017": "an answer has to be there",
    "TCS018": "an answer has to be there",
    "TCS025": "an answer `true` has to be there while attempts go on",
    "TCS029": "an answer `true` has to be there",
    "TCS032": "the form of 2xx answers is judged; without any it is untested",
    "TCS036": "the form of 2xx answers is judged; without any it is untested",
}
"""The other requirements of the status check, and why a server at which nothing is there cannot pass them."""
