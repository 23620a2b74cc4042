"""Unknown ids: not alive, however much they look like an id that is.

Specification: "Tool Call Status Check", section "Query Semantics".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from string import digits
from uuid import uuid4

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Trouble, Untested, scenario
from rap_conformance.protocol.ids import (
    Variant,
    cut_misses,
    injected,
    injected_threads,
    longer,
    near_misses,
    respelled_number,
    respelled_uuid,
    separable,
    splits,
    token,
)
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import Labelled, Question, in_its_thread, itself, while_live
from rap_conformance.server.beside import at_once
from rap_conformance.server.call import Call
from rap_conformance.server.controls import judge_false, judge_resembling, need_answer
from rap_conformance.server.corpus import GENERATED, ordinary, smallest_of
from rap_conformance.server.lives import share
from rap_conformance.server.peer import Peer


@scenario(
    "TCS004",
    control=Control(
        "ordinary queries are answered; the live call that the near misses resemble is alive", need_answer
    ),
    overlap=True,
    parts=(share("TCS004"),),
)
def test_unknown_not_alive(peer: Peer) -> None:
    """Ids nobody ever invoked are not alive, however much they resemble one that is."""
    asked = at_once(
        {
            "near misses of a live id": lambda: beside(peer, fresh(), resembling),
            "near misses of a long live id, and other borders": lambda: beside(peer, separable(), long),
            "near misses of a live id of 255 characters": lambda: beside(peer, token(255), long),
            "other spellings of a live number": lambda: beside(
                peer, f"7{token(19, digits)}", respelling("a live number as an id", respelled_number)
            ),
            "other spellings of a live UUID": lambda: beside(
                peer, str(uuid4()), respelling("a live UUID as an id", respelled_uuid)
            ),
            "texts that are no id": lambda: beside(peer, fresh(), hostile),
            "beside a subscription": lambda: beside(peer, fresh(), in_a_thread, "subscription"),
        }
    )
    for title, made in asked.items():
        with peer.part(title):
            judge_resembling(peer, made.result())
    with peer.part("unknown ids"):
        judge_unknown(peer, ordinary(peer))
    with peer.part("unknown ids that are longer than ordinary ones"):
        shapes = longer()
        judge_false(
            peer, [(f"an unknown id {title}", peer.ask(each, fresh("thread"))) for title, each in shapes]
        )


def beside(
    peer: Peer, call_id: str, questions: Callable[[Peer, str], Iterator[Question]], kind: str = "pending"
) -> list[Labelled]:
    """Ask while a call of that id is live. Raises Untested if the server takes no such id, as it may."""
    try:
        return while_live(peer, questions(peer, call_id), kind, id=call_id)
    except Trouble as refused:
        if len(call_id) <= 64:
            raise
        raise Untested(str(refused)) from refused


def resembling(peer: Peer, call_id: str) -> Iterator[Question]:
    """The control, then questions about ids that are not those of the live call and resemble them."""
    yield itself(peer)
    for how, variant in near_misses(call_id):
        yield in_its_thread(peer, f"a live call's id {how}", variant)
    yield in_its_thread(peer, "an unknown id in a thread with a live call", fresh())
    yield "a live call's thread id as the call's", lambda call: peer.ask(call.thread, call.thread)


def long(peer: Peer, call_id: str) -> Iterator[Question]:
    """The control, then ids that are alike where keys are cut, or once both ids are joined."""
    yield itself(peer)
    for how, variant in cut_misses(call_id):
        yield in_its_thread(peer, f"a long live id {how}", variant)
    if len(call_id) > 64:
        return

    def other_border(number: int) -> Callable[[Call], Exchange]:
        def ask(call: Call) -> Exchange:
            _, thread, rest = list(splits(call.thread, call.id))[number]
            return peer.ask(rest, thread)

        return ask

    for number, (how, _, _) in enumerate(splits(fresh("thread"), call_id)):
        yield f"a live id {how}", other_border(number)


def respelling(
    what: str, respelled: Callable[[str], Iterator[Variant]]
) -> Callable[[Peer, str], Iterator[Question]]:
    """The control, then ids that would be the live one to whoever reads more than text in it."""

    def ask(peer: Peer, call_id: str) -> Iterator[Question]:
        yield itself(peer)
        for how, variant in respelled(call_id):
            yield in_its_thread(peer, f"{what}, {how}", variant)

    return ask


def hostile(peer: Peer, call_id: str) -> Iterator[Question]:
    """The control, then texts that fit any id, or the live one, where they are built into a look-up."""
    yield itself(peer)

    def as_id(number: int) -> Callable[[Call], Exchange]:
        return lambda call: peer.ask(list(injected(call.id, call.thread))[number][1], call.thread)

    def as_thread(number: int) -> Callable[[Call], Exchange]:
        return lambda call: peer.ask(fresh(), list(injected_threads(call.thread))[number][1])

    for number, (how, _) in enumerate(injected(call_id, "")):
        yield f"a text {how}, while a call is live", as_id(number)
    for number, (how, _) in enumerate(injected_threads("")):
        yield f"an unknown id in a thread {how}, while a call is live", as_thread(number)


def in_a_thread(peer: Peer, call_id: str) -> Iterator[Question]:
    """The control, then unknown ids in the thread of a subscription."""
    where = "in a thread with a subscription"
    yield itself(peer)
    yield in_its_thread(peer, f"an unknown id {where}", fresh())
    yield in_its_thread(peer, f"its id cut by one character {where}", call_id[:-1])


def judge_unknown(peer: Peer, answers: list[Labelled]) -> None:
    """None may be `true`; of the generated ones that are, one is shown, as small as it gets."""

    def claims(exchange: Exchange) -> bool:
        return means_alive(exchange) is True

    wrong = [exchange for case, exchange in answers if case == GENERATED and claims(exchange)]
    judge_false(peer, [(c, e) for c, e in answers if c != GENERATED or not claims(e)])
    for exchange in wrong[:1]:
        judge_false(peer, [(GENERATED, smallest_of(peer, "ordinary", claims, exchange))])
