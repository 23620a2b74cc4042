"""Pending calls as other runtimes make them: other ids, other optional fields, several in one thread.

Whatever a call looks like and whatever becomes of those around it, it is alive until its result comes.
Specification: "Tool Invocation", section "Fields"; "Tool Call Status Check", section "Query Semantics".
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial
from typing import Any

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Trouble, Untested
from rap_conformance.protocol.ids import separable, token
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import attempts_of, certainly_live, until_alive
from rap_conformance.server.call import Call
from rap_conformance.server.peer import Peer

TIMES = 2
"""How often each call is asked about."""
OPTIONAL = ("call_id", "thread_ancestors", "user_id")
"""Fields of an invocation that may be left out. Specification: "Tool Invocation", section "Fields"."""


def various(peer: Peer) -> None:
    """Judge that pending calls of many forms are alive. Raises Untested if nothing could be told of any."""
    plain = peer.invoke("pending")
    calls = made(peer)
    peer.patience.pace(peer.slack)
    # One that came first shows that a call of this age is alive, whatever it looks like.
    alive = until_alive(peer, plain)
    asks = [(title, partial(peer.ask_about, call)) for title, call in calls.items()] * TIMES
    answers = list(
        zip([title for title, _ in asks], peer.session.tempo.at_once([ask for _, ask in asks]), strict=True)
    )
    answers += after_others(peer, calls)
    end = peer.patience.now() + peer.session.tools.patience("pending", plain.seconds, peer.grace)
    for call in (plain, *calls.values()):
        if not call.mailbox.until(attempts_of(call), max(0.0, end - peer.patience.now())):
            peer.cancel(call)  # it may wait for its turn still, and nothing is said of it
    if not means_alive(alive) or not certainly_live(peer, plain, alive):
        raise Untested("a plain pending call was not alive, or ended before others could be compared with it")
    told = 0
    for title, exchange in answers:
        about = calls.get(title.removesuffix(AFTERWARDS))
        if about is None or means_alive(exchange) is None or not certainly_live(peer, about, exchange):
            continue
        if exchange.status is not None and exchange.status >= 400:
            continue  # that an ordinary query is refused is TCS001's
        told += 1
        peer.expect(
            means_alive(exchange) is True,
            "`alive: true` until the result",
            f"`alive: false`, {about.results[0].arrived - exchange.ended:.1f} s before the result arrived",
            exchange,
            about.results[0].exchange,
            case=title,
        )
    if not told:
        raise Untested("no call of another form was certainly live while it was asked about")


BESIDE_OTHERS = "a pending call beside two others of its thread"
NEWEST = "the newest of three pending calls of a thread"
CANCELLED = "the one of three pending calls of a thread that is cancelled later"
AFTERWARDS = ", after one of them was cancelled and a quick one ended"


def made(peer: Peer) -> dict[str, Call]:
    """The calls of other forms that the server takes, as it may refuse some; the report says which."""

    def one(title: str, make: Callable[[], Call]) -> tuple[str, Call | None]:
        try:
            return title, make()
        except Trouble as refused:
            peer.note(f"{title}: {refused}")
            return title, None

    calls = peer.session.tempo.at_once([partial(one, title, make) for title, make in makers(peer).items()])
    return {title: call for title, call in calls if call is not None}


def makers(peer: Peer) -> dict[str, Callable[[], Call]]:
    """How calls of other forms are made, by what is special about them."""
    together = fresh("thread")
    ancestors = [fresh("thread"), fresh("thread")]

    def given(**fields: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
        return lambda body: {**body, **fields}

    def left_out(body: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in body.items() if name not in OPTIONAL}

    def of_id(call_id: str) -> Callable[[], Call]:
        return lambda: peer.invoke("pending", id=call_id)

    def formed(form: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[], Call]:
        return lambda: peer.invoke("pending", form=form)

    mailbox = peer.session.receiver.mailbox()

    def sharing() -> Call:
        return peer.invoke("pending", mailbox=mailbox)

    return {
        "a pending call whose id is all digits": of_id(secrets.choice("123456789") + token(29, "0123456789")),
        "a pending call whose id has letters of both cases": of_id(f"call_{token(24)}"),
        "a pending call whose id has 64 characters, a dot and a colon": of_id(separable()),
        "a pending call with a call_id": formed(given(call_id=fresh("item"))),
        "a pending call of a thread with ancestors": formed(given(thread_ancestors=ancestors)),
        "a pending call without optional fields": formed(left_out),
        "a pending call whose callback URL another one has, too": sharing,
        "the other pending call of one callback URL": sharing,
        BESIDE_OTHERS: lambda: peer.invoke("pending", thread=together),
        CANCELLED: lambda: peer.invoke("pending", thread=together),
        NEWEST: lambda: peer.invoke("pending", thread=together),
    }


def after_others(peer: Peer, calls: dict[str, Call]) -> list[tuple[str, Exchange]]:
    """Of three calls of a thread one is cancelled, and a quick one there ends: what of the two others?"""
    left = {title: calls[title] for title in (BESIDE_OTHERS, NEWEST) if title in calls}
    cancelled: Call | None = calls.pop(CANCELLED, None)
    if not left:
        return []
    thread = next(iter(left.values())).thread
    if cancelled is not None:
        peer.cancel(cancelled)
    try:
        quick = peer.invoke("quick", thread=thread)
        peer.need_result(quick, peer.grace)
    except (Trouble, Untested) as missing:
        peer.note(f"no quick call ended beside pending ones: {missing}")
    peer.patience.pace(peer.slack)  # what ended is tidied up a moment later
    return [(f"{title}{AFTERWARDS}", peer.ask_about(call)) for title, call in left.items()]
