"""Calls brought into every state that a runtime may ask about, and what is answered there.

Specification: "Tool Call Status Check", section "Query Semantics", with "Tool Cancellation", "Thread Closure"
and "Subscription Events". What nobody used is `corpus.ordinary`; what a restart loses is TCS016's.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace

from rap_conformance.engine.evidence import Exchange, Failure
from rap_conformance.engine.scenario import NotApplicable, Trouble, Untested
from rap_conformance.network.receiver import OK, Answer
from rap_conformance.protocol.messages import fresh
from rap_conformance.server.asking import FAILING, Labelled, attempts_of
from rap_conformance.server.beside import at_once
from rap_conformance.server.call import Call
from rap_conformance.server.corpus import live, ordinary
from rap_conformance.server.peer import Peer

TIMES, APART = 3, 0.3
"""How often each call is asked about, and the seconds between two questions."""

States = dict[str, Future[list[Labelled]]]
"""By state, in words: what was answered, or why there is nothing."""


def states(peer: Peer) -> States:
    """Answers to ordinary queries about calls in every state, made once an attempt, all at once."""
    return peer.session.once(
        f"states {peer.attempt}",
        lambda: at_once(
            {
                "a live call": lambda: live(peer),
                "a subscription": lambda: asked(peer, subscribed(peer), "an active subscription"),
                "a call that ended": lambda: asked(peer, ended(peer), "a call that ended"),
                "a pending call that ended": lambda: asked(peer, outlived(peer), "a pending call that ended"),
                "a call that failed": lambda: asked(peer, failed(peer), "a call that failed"),
                "a subscription that ended": lambda: asked(
                    peer, final(peer), "a subscription after its final event"
                ),
                "a cancelled call": lambda: asked(
                    peer, stopped(peer, "pending", peer.cancel), "a cancelled call"
                ),
                "a cancelled subscription": lambda: asked(
                    peer, stopped(peer, "subscription", peer.cancel), "a cancelled subscription"
                ),
                "a closed call": lambda: asked(
                    peer, stopped(peer, "pending", peer.close_thread), "a call whose thread was closed"
                ),
                "a call that was given up": lambda: asked(peer, given_up(peer), "a call that was given up"),
                "a call that is delivered": lambda: asked(
                    peer, delivered_again(peer), "a call whose delivery is tried again"
                ),
                "unknown ids": lambda: ordinary(peer),
            }
        ),
    )


def asked(peer: Peer, call: Call, case: str) -> list[Labelled]:
    """Ask about a call a few times; whatever its state becomes meanwhile, the form of answers is owed."""
    answers: list[Labelled] = []
    for number in range(TIMES):
        if number:
            peer.patience.pace(APART)
        answers.append((case, peer.ask_about(call)))
        if answers[-1][1].failure is Failure.TIMEOUT:
            break
    if call.kind == "subscription":
        peer.cancel(call)
    return answers


def ended(peer: Peer) -> Call:
    """A quick call whose result was taken. Raises Untested if there is none."""
    call = peer.invoke("quick")
    peer.need_result(call)
    return call


def outlived(peer: Peer) -> Call:
    """A pending call whose result was taken. Raises Untested if there is none."""
    call = peer.invoke("pending")
    peer.need_result(call)
    return call


def failed(peer: Peer) -> Call:
    """A call that ended with an error. Raises Untested if the server refuses such a call, as it may."""
    try:
        call = peer.invoke("quick", arguments={fresh("no-such-argument"): [None]})
    except Trouble as refused:
        raise Untested(str(refused)) from refused
    peer.need_result(call)
    return call


def unheard_of(peer: Peer) -> Call:
    """A call of no operation that there is, which ended. Raises NotApplicable if the server refuses it."""
    tool = replace(peer.session.tool("quick"), operation=fresh("no-such-operation"))
    try:
        call = peer.invoke_tool("quick", tool)
    except Trouble as refused:
        raise NotApplicable(str(refused)) from refused
    peer.need_result(call)
    return call


def given_up(peer: Peer) -> Call:
    """A quick call whose result was refused for good. Raises Untested if none comes."""
    call = peer.invoke("quick", script=lambda _: Answer(status=400))
    if not call.mailbox.until(attempts_of(call), peer.grace):
        raise Untested("the quick call brought no result")
    return call


def delivered_again(peer: Peer) -> Call:
    """A quick call whose result was refused three times at most. Raises Untested if none comes."""
    call = peer.invoke("quick", script=lambda number: FAILING if number < TIMES else OK)
    if not call.mailbox.until(attempts_of(call), peer.grace):
        raise Untested("the quick call brought no result")
    return call


def subscribed(peer: Peer) -> Call:
    """A subscription that was confirmed. Raises Untested if there is none."""
    call = peer.invoke("subscription")
    peer.need_result(call)
    return call


def final(peer: Peer) -> Call:
    """A subscription whose final event was taken. Raises Untested if none comes."""
    call = peer.invoke("final")
    if not call.mailbox.until(lambda _: call.final, peer.grace):
        raise Untested(f"no event with `final: true` arrived within {peer.grace:g} s")
    return call


def stopped(peer: Peer, kind: str, stop: Callable[[Call], Exchange | None]) -> Call:
    """A call that was cancelled, or whose thread was closed. Raises NotApplicable without that endpoint."""
    call = peer.invoke(kind)
    if kind == "subscription":
        peer.need_result(call)
    halt(peer, call, stop)
    return call


def halt(peer: Peer, call: Call, stop: Callable[[Call], Exchange | None]) -> None:
    """Cancel a call, or close its thread. Raises NotApplicable without that endpoint."""
    if stop(call) is None:
        path = "close_thread" if stop == peer.close_thread else "cancel_tool_call"
        raise NotApplicable(f"the server has no /{path}")
