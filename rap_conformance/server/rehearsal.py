"""Calls tools once before anything is judged: does a callback arrive, and is each tool of the kind it is for?

A configured tool that does not do what its kind needs is a mistake of the configuration, said once and never
held against the server. Where nothing is configured, the tools that may be called show by themselves of what
kind they are: one whose result says `"subscription": true` is a subscription.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import NotApplicable, PeerDied, Trouble, Untested
from rap_conformance.network.receiver import Delivery
from rap_conformance.server.call import Call
from rap_conformance.server.config import ScenarioConfig
from rap_conformance.server.peer import Peer
from rap_conformance.server.planting import is_bold
from rap_conformance.server.session import ServerSession

CALLBACK_PATIENCE = 15.0
"""Seconds the first callback may take before we say that none arrives."""
KINDS = ("quick", "subscription", "pending")
SPOILT = 1.0
"""Seconds in which a tool says that it does not like its arguments."""
MOST_FOUND = 4
"""Tools that are tried where nothing is configured."""


def rehearse(session: ServerSession, peer: Peer) -> None:
    """Call each configured tool, or those that may be called, once; fills in what that shows."""
    configured = [kind for kind in KINDS if kind in session.config.scenarios]
    session.facts.literal |= triggered(session.config.scenarios.values())
    if "quick" not in configured:
        _find(session, peer)
    made = session.tempo.at_once([partial(_call, session, peer, kind) for kind in configured])
    calls = {kind: call for kind, call in zip(configured, made, strict=True) if call is not None}
    if "quick" in calls and not _arrives(session, peer, calls["quick"]):
        return
    calls = {kind: _as_configured(session, peer, call) for kind, call in calls.items()}
    for kind, call in calls.items():
        if wrong := _mistake(session, kind, call):
            session.facts.mistaken[kind] = wrong
            session.causes.append(wrong)
    for call in calls.values():
        if call.kind == "subscription":
            peer.cancel(call)


def _call(session: ServerSession, peer: Peer, kind: str) -> Call | None:
    """A call of a kind; None if it may not be made, or is refused."""
    try:
        return _invoked(session, peer, kind, session.tool(kind))
    except (Untested, NotApplicable):
        return None
    except Trouble as refused:
        if kind == "quick":
            session.facts.no_calls = str(refused)
        session.causes.append(str(refused))
        return None


def _invoked(session: ServerSession, peer: Peer, kind: str, tool: ScenarioConfig) -> Call:
    """A call; one that is refused with a secret of ours in its texts is made without. Raises Trouble."""
    try:
        return peer.invoke_tool(kind, tool)
    except Trouble:
        if not is_bold(tool.arguments, session.facts.free_text(tool.operation)):
            raise
    session.facts.literal.add(tool.operation)
    return peer.invoke_tool(kind, tool)


def _as_configured(session: ServerSession, peer: Peer, call: Call) -> Call:
    """The call, or where a secret of ours in its texts seems to have spoilt it, the same without."""
    tool = session.config.scenarios[call.kind]
    if not _spoilt(session, call, tool):
        return call
    session.facts.literal.add(tool.operation)
    peer.cancel(call)
    return _call(session, peer, call.kind) or call


def _spoilt(session: ServerSession, call: Call, tool: ScenarioConfig) -> bool:
    """Whether a call with more in its texts than was configured fails, or ends at once."""
    if not is_bold(tool.arguments, session.facts.free_text(tool.operation)):
        return False
    call.mailbox.until(lambda _: call.result, SPOILT)
    result = call.result
    if result is None:
        return False
    too_soon = call.kind == "pending" and result.arrived - call.acknowledged < (tool.seconds or 0.0) / 2
    return failed(result) or too_soon or (call.kind == "subscription" and not subscribes(result))


def triggered(tools: Iterable[ScenarioConfig]) -> set[str]:
    """Operations with a trigger: it causes an event in what was configured, not where a secret was added."""
    return {tool.operation for tool in tools if tool.trigger}


def _arrives(session: ServerSession, peer: Peer, call: Call) -> bool:
    """Whether anything is delivered for a call; if not, nothing can be judged by calls."""
    assert call.exchange is not None
    limit = min(CALLBACK_PATIENCE, session.config.timing.grace + 5.0)
    if not call.mailbox.until(lambda arrived: arrived, limit):
        survive(session, peer, call.exchange)
        session.facts.no_calls = f"no callback arrives at {session.receiver.url} (waited {limit:g} s)"
        session.causes.append(
            f"the server acknowledged a call and no callback arrived at {session.receiver.url} "
            f"within {limit:g} s; "
            "if the server cannot reach that address, give --callback-bind and --callback-url"
        )
        return False
    return True


def _mistake(session: ServerSession, kind: str, call: Call) -> str:
    """What is wrong with the configured tool of a kind, in one sentence; empty if nothing is."""
    operation = session.config.scenarios[kind].operation
    if kind == "subscription":
        call.mailbox.until(lambda _: call.result, min(CALLBACK_PATIENCE, session.config.timing.grace))
    result = call.result
    if result is None:
        return ""
    said = f": it answered {text_of(result)[:80]!a}" if text_of(result) else ""
    if kind == "subscription" and not subscribes(result):
        return (
            f'scenario.subscription: the result of {operation!r} does not say `"subscription": true`, so it '
            f"made none{said}; are its arguments right?"
        )
    if kind != "subscription" and subscribes(result):
        return f"scenario.{kind}: {operation!r} makes a subscription; name it in [scenario.subscription]"
    if kind == "pending" and failed(result):
        return f"scenario.pending: {operation!r} fails instead of staying pending{said}"
    return ""


def _find(session: ServerSession, peer: Peer) -> None:
    """Try tools that may be called, and see of what kind they are."""
    facts = session.facts
    try:
        candidates = session.tools.candidates()[:MOST_FOUND]
    except (Untested, NotApplicable):
        return
    calls: list[tuple[ScenarioConfig, Call]] = []
    for chosen in candidates:
        try:
            calls.append((chosen, _invoked(session, peer, "found", chosen)))
        except Trouble as refused:
            facts.no_calls = str(refused)
            session.causes.append(str(refused))
            return
    if not calls or not _arrives(session, peer, calls[0][1]):
        return
    for chosen, first in calls:
        call = first
        if _spoilt(session, first, chosen):
            facts.literal.add(chosen.operation)
            call = peer.invoke_tool("found", chosen)
        call.mailbox.until(lambda _, call=call: call.result, CALLBACK_PATIENCE)  # type: ignore[misc]
        if (result := call.result) is None:
            continue
        lasted = result.arrived - call.acknowledged
        if subscribes(result):
            facts.found.setdefault("subscription", chosen)
            peer.cancel(call)
        elif not failed(result):
            seconds = ScenarioConfig(chosen.operation, chosen.arguments, seconds=lasted)
            longest = facts.found.get("pending")
            if longest is None or (longest.seconds or 0.0) < lasted:
                facts.found["pending"] = seconds
            shortest = facts.found.get("quick")
            if shortest is None or (shortest.seconds or 0.0) > lasted:
                facts.found["quick"] = seconds


def subscribes(result: Delivery) -> bool:
    """Whether a result confirms a subscription."""
    return isinstance(result.message, dict) and result.message.get("subscription") is True


def failed(result: Delivery) -> bool:
    """Whether a result is an error's. Specification: "Tool Result", errors begin with `Error:`."""
    return text_of(result).lstrip().lower().startswith("error")


def text_of(delivery: Delivery) -> str:
    """The text of a result or event; empty if it has none."""
    text = delivery.message.get("text") if isinstance(delivery.message, dict) else None
    return text if isinstance(text, str) else ""


def survive(session: ServerSession, peer: Peer, exchange: Exchange) -> None:
    """After an input: is the server still there? One that we started is started again, else PeerDied."""
    try:
        peer.survived(exchange, watch=0.15)
    except PeerDied as death:
        if session.supervisor is None:
            raise
        session.notes.append(f"{death}; it was started again")
        session.restart()
