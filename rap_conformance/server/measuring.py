"""`rap-conformance init --probe`: calls the tools that may be called, one by one, and keeps what each did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from rap_conformance.contract import minimal_arguments
from rap_conformance.engine.plan import Plan
from rap_conformance.engine.record import Record
from rap_conformance.engine.safe import text
from rap_conformance.engine.scenario import Halted, PeerDied, Refused, Trouble
from rap_conformance.protocol.specification import catalogue
from rap_conformance.server.call import Call
from rap_conformance.server.config import Config, Invocation, ScenarioConfig
from rap_conformance.server.lasting import counted, fixed, lasting
from rap_conformance.server.likely import ENDS, GUESSES, LASTS, SPEAKS, likely_arguments, with_command
from rap_conformance.server.options import ServerOptions
from rap_conformance.server.peer import Peer
from rap_conformance.server.preflight import discover
from rap_conformance.server.rehearsal import failed, subscribes, text_of
from rap_conformance.server.seen import Did, Measured, Seen
from rap_conformance.server.session import ServerSession
from rap_conformance.server.tools import annotated

MOST_TOOLS, MOST_SECONDS = 12, 90.0
"""Tools that are called, and seconds that all of it may take."""
PATIENCE = 12.0
"""Seconds that one call is waited for: a pending call need not last longer."""
MOST_SETUPS = 3
"""Tools that are tried as what has to be called first."""
_EVENTS = 3.0
"""Seconds in which a subscription shows that it sends events."""


def measure(config: Config, options: ServerOptions, seed: int, tell: Callable[[str], None]) -> Measured:
    """Call each tool that may be called; `tell` hears a line for each. Raises ConfigError, Refused."""
    plan = Plan((), config.server.revision, seed=seed, max_time=MOST_SECONDS, gentle=True)
    session = ServerSession(config, options, plan)
    peer = Peer(session, Record(next(iter(catalogue()))))
    seen: list[Seen] = []
    left: list[tuple[str, str]] = []
    cut_short = ""
    try:
        session.receiver.start()
        discover(session)
        if session.facts.no_calls:
            raise Refused(session.facts.no_calls, 4)
        for each in _calls(peer, options.invoke, seed, left):
            seen.append(each)
            tell(text(str(each), 200))
    except PeerDied as death:
        cut_short = str(death)
    except Halted:
        cut_short = f"calling tools was ended after {MOST_SECONDS:.0f} s"
    except Trouble as trouble:
        cut_short = str(trouble)
    finally:
        # What ended by itself needs no cancellation, which kills some servers.
        session.calls[:] = [call for call in session.calls if call.result is None or subscribes(call.result)]
        session.close()
    return Measured(tuple(seen), tuple(left), cut_short)


def _calls(peer: Peer, policy: str, seed: int, left: list[tuple[str, str]]) -> Iterator[Seen]:
    """Every call, each tool by itself; then those that only failed, after one that succeeded."""
    seen: list[Seen] = []
    failing: list[dict[str, Any]] = []
    for tool in peer.session.facts.tools:
        if why := _not_to_be_called(tool, policy, len({each.operation for each in seen})):
            left.append((text(str(tool.get("name")), 60), why))
            continue
        own = []
        for each in _tried(peer, tool, seed):
            own.append(each)
            yield each
        seen += own
        if own and all(each.did is Did.ERROR for each in own):
            failing.append(tool)
    good = [each for each in seen if each.did is Did.RESULT]
    first = [*{each.operation: each for each in reversed(good)}.values()][::-1][:MOST_SETUPS]
    for tool in failing:
        for before in first:
            own = []
            for each in _tried(peer, tool, seed, (before.operation, before.arguments)):
                own.append(each)
                yield each
            if any(each.did is not Did.ERROR for each in own):
                break


def _not_to_be_called(tool: dict[str, Any], policy: str, called: int) -> str:
    """Why a tool is not called; empty if it is."""
    if annotated(tool, "destructive"):
        return "it is annotated destructive"
    if not isinstance(tool.get("name"), str):
        return "it has no name"
    if policy != "any" and not annotated(tool, "readOnly"):
        return "it is not annotated readOnly; with --invoke any it is called, too"
    if called >= MOST_TOOLS:
        return f"{MOST_TOOLS} others were"
    return ""


def _tried(
    peer: Peer, tool: dict[str, Any], seed: int, setup: tuple[str, Mapping[str, Any]] | None = None
) -> Iterator[Seen]:
    """What calls of a tool do: with likely arguments, else the plainest; and with what makes it last."""
    schema, name = tool.get("inputSchema"), str(tool["name"])
    tries = [*(likely_arguments(schema, seed, n) for n in range(GUESSES)), minimal_arguments(schema, seed)]
    first: Seen | None = None
    for number, arguments in enumerate(tries):
        if arguments is None or arguments in tries[:number] or (first and first.did is not Did.ERROR):
            continue
        yield (first := _called(peer, name, arguments, setup))
    if first is not None and first.did is Did.SUBSCRIPTION:
        count = counted(schema)
        ending = (
            fixed(schema, {**first.arguments, count: 2}, seed) if isinstance(schema, dict) and count else None
        )
        if ending is not None:
            yield _called(peer, name, ending, setup, ends=True)
    elif first is not None and first.did is Did.RESULT:
        known = lasting(schema, seed)
        longer = known[0] if known else with_command(schema, first.arguments, LASTS, seed)
        if longer is not None and longer != first.arguments:
            yield _called(peer, name, longer, setup)
        yield from _speaking(peer, name, schema, seed, first)


def _speaking(peer: Peer, name: str, schema: Any, seed: int, first: Seen) -> Iterator[Seen]:
    """Whether a command that goes on and on makes a subscription, and one that ends its end."""
    for command in (SPEAKS, ENDS):
        arguments = with_command(schema, first.arguments, command, seed)
        if arguments is None:
            return
        seen = _called(peer, name, arguments, first.setup, ends=command == ENDS)
        yield seen
        if seen.did is not Did.SUBSCRIPTION:
            return


def _called(
    peer: Peer,
    name: str,
    arguments: dict[str, Any],
    setup: tuple[str, Mapping[str, Any]] | None = None,
    *,
    ends: bool = False,
) -> Seen:
    """What one call does. Raises PeerDied, Halted."""
    seen = _call(peer, name, arguments, setup, ends=ends)
    return replace(seen, setup=setup)


def _call(
    peer: Peer,
    name: str,
    arguments: dict[str, Any],
    setup: tuple[str, Mapping[str, Any]] | None,
    *,
    ends: bool,
) -> Seen:
    peer.session.facts.literal.add(name)
    try:
        before = (Invocation(*setup),) if setup else ()
        call = peer.invoke_tool("found", ScenarioConfig(name, arguments, setup=before))
    except Trouble as refused:
        return Seen(name, arguments, Did.ERROR, 0.0, str(refused)[:120])
    call.mailbox.until(lambda _: call.result or _choice(call), PATIENCE)
    now = peer.patience.now()
    result = call.result
    if result is None:
        did = Did.CHOICE if _choice(call) else Did.NOTHING
        peer.cancel(call)
        return Seen(name, arguments, did, now - call.acknowledged)
    lasted = max(0.0, result.arrived - call.acknowledged)
    if not subscribes(result):
        did = Did.ERROR if failed(result) else Did.CHOICE if _choice(call) else Did.RESULT
        return Seen(name, arguments, did, lasted, text_of(result)[:120] if did is Did.ERROR else "")
    call.mailbox.until(lambda _: call.final if ends else call.events, PATIENCE if ends else _EVENTS)
    peer.cancel(call)
    peer.close_thread(call)
    said = f"{len(call.events)} events" + (", the last says `final`" if call.final else "")
    return Seen(name, arguments, Did.SUBSCRIPTION, lasted, said, ended=call.final is not None)


def _choice(call: Call) -> bool:
    return any(delivery.type == "user_choice" for delivery in call.deliveries)
