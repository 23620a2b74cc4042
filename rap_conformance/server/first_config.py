"""`rap-conformance init`: a configuration to start from, made of what discovery shows. Text in, text out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import tomli_w

from rap_conformance.engine.safe import text, valid
from rap_conformance.server.lasting import WANTED, counted, fixed, lasting
from rap_conformance.server.likely import likely_arguments
from rap_conformance.server.seen import Did, Measured, Seen

_HEAD = """\
# What `rap-conformance check` may do with this server. Made by `rap-conformance init`; look it over.
# `rap-conformance explain CODE` tells what a requirement needs.
[server]
{url}
revision = "2026-07-pr62"
request_timeout = 10.0               # seconds
# headers = {{ X-Api-Version = "2" }}  # sent with every request, and no secret

[features]                           # what is not said is found out
{features}

{auth}

# [auth.other]                       # a second identity, whose calls must stay its own
# headers = {{ Authorization = "env:RAP_TOKEN_2" }}

# [timing]                           # seconds
# grace = 30.0                       # to settle after a call's end
# race_window = 5.0                  # a callback may still be in flight after `alive: false`
"""
_PENDING, _QUICK = 2.0, 1.0
"""Seconds: a pending call lasts at least, a quick one at most."""
_NO_AUTH = """\
# [auth]
# headers = { Authorization = "env:RAP_TOKEN" }    # the variable holds the whole value: Bearer …"""
_CHOOSING = ("choose", "choice", "confirm", "approve", "ask_")
_LASTING = ("wait", "sleep", "delay", "long", "run", "build", "job")
_SUBSCRIBING = ("subscribe", "watch", "monitor", "listen", "follow", "tail", "ticker")


def without_null(value: Any) -> Any:
    """Plain JSON data as TOML can hold it: no null, no lone surrogates."""
    if isinstance(value, dict):
        return {valid(str(k)): without_null(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [without_null(each) for each in value if each is not None]
    return valid(value) if isinstance(value, str) else value


def _annotated(tool: dict[str, Any], name: str) -> bool:
    annotations = tool.get("annotations")
    return isinstance(annotations, dict) and annotations.get(name) is True


def _described(tool: dict[str, Any]) -> str:
    marks = [
        name for name in ("readOnly", "destructive", "longRunning", "idempotent") if _annotated(tool, name)
    ]
    said = text(str(tool.get("description", "")), 80)
    return f"{', '.join(marks) or 'no annotations'}: {said}"


def _suggest(tools: list[dict[str, Any]], words: tuple[str, ...], mark: str = "") -> dict[str, Any] | None:
    """The harmless tool that looks most like what is wanted, by annotation, else by name."""
    harmless = [tool for tool in tools if not _annotated(tool, "destructive")]
    marked = [tool for tool in harmless if mark and _annotated(tool, mark)]
    named = [tool for tool in harmless if any(word in str(tool.get("name", "")).lower() for word in words)]
    return next(iter([*marked, *named]), None)


def first_config(
    url: str,
    tools: list[dict[str, Any]],
    seed: int = 0,
    auth: dict[str, str] | None = None,
    measured: Measured | None = None,
) -> str:
    """A commented configuration for the server at `url` that lists these tools.

    `auth` are headers whose values name variables of the environment (`env:NAME`); never a secret itself.
    `measured` is what calls of the tools did, if they were called.
    """
    there = tomli_w.dumps({"url": url}).rstrip()
    identity = tomli_w.dumps({"auth": {"headers": auth}}).rstrip() if auth else _NO_AUTH
    head = _HEAD.format(url=there, auth=identity, features="\n".join(_features(measured)))
    return "\n".join([head, *_scenarios(tools, seed, measured), ""])


def _features(measured: Measured | None) -> Iterator[str]:
    """What is declared, where every tool was called and none of them did it."""
    yield "# status = true                      # true: a missing /tool_call_status fails; false: it need not"
    did = {each.did for each in measured.seen} if measured else set()
    if measured is None or not did or measured.left or measured.cut_short or did & {Did.ERROR, Did.NOTHING}:
        return
    for name, kind in (("subscription", Did.SUBSCRIPTION), ("choice", Did.CHOICE)):
        if kind not in did:
            yield f"{name} = false".ljust(37) + "# every tool was called, and none of them did that"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A tool for a kind of call, None where none looks like it, with small arguments for it.

    `seconds` is how long it stays pending; `known` says whether its schema tells that. `shown` is what a call
    of it did, if one was made.
    """

    tool: dict[str, Any] | None
    arguments: dict[str, Any] | None = None
    seconds: float | None = None
    known: bool = False
    final_arguments: dict[str, Any] | None = None
    shown: str = ""
    setup: tuple[str, Mapping[str, Any]] | None = None

    @property
    def promised(self) -> bool:
        """Whether the server says that calling it changes nothing, or its owner let it be called."""
        if self.tool is None or self.arguments is None:
            return False
        return bool(self.shown) or _annotated(self.tool, "readOnly")


def proposals(tools: list[dict[str, Any]], seed: int = 0) -> dict[str, Proposal]:
    """For each kind of call the tool that looks most like it, by annotation, name and schema."""
    subscribing = _suggest(tools, _SUBSCRIBING)
    choosing = _suggest([tool for tool in tools if tool is not subscribing], _CHOOSING)
    others = [tool for tool in tools if tool not in (subscribing, choosing)]
    lasts = {id(tool): found for tool in others if (found := lasting(tool.get("inputSchema"), seed))}
    pending = _suggest(others, _LASTING, "longRunning") or _suggest(
        [tool for tool in others if id(tool) in lasts], ("",)
    )
    quick = next((t for t in others if t is not pending and _annotated(t, "readOnly") and _harmless(t)), None)
    known = lasts.get(id(pending)) if pending else None
    arguments, seconds = known or (_small(pending, seed), 3)
    return {
        "quick": Proposal(quick, _small(quick, seed)),
        "pending": Proposal(pending, arguments, seconds, known is not None),
        "subscription": Proposal(
            subscribing, _small(subscribing, seed), final_arguments=_final_arguments(subscribing, seed)
        ),
        "choice": Proposal(choosing, _small(choosing, seed)),
    }


_WHAT = {
    "quick": "ends at once, harmless; `{canary}` in a text is replaced by a secret",
    "pending": "stays pending about `seconds`",
    "subscription": "keeps sending events",
    "choice": "lets the user choose",
}


def measured_proposals(tools: list[dict[str, Any]], measured: Measured) -> dict[str, Proposal]:
    """The tools that showed to be of a kind; of those that last, the one nearest to four seconds."""
    by_name = {str(tool.get("name")): tool for tool in tools}
    results = [each for each in measured.seen if each.did is Did.RESULT]
    slow = [each for each in results if each.seconds >= _PENDING]
    slow_ones = {each.operation for each in slow}
    quick = [each for each in results if each.seconds < _QUICK]
    subscribing = [each for each in measured.seen if each.did is Did.SUBSCRIPTION]
    choosing = [each for each in measured.seen if each.did is Did.CHOICE]

    def made(seen: Seen, shown: str, **more: Any) -> Proposal:
        tool, arguments = by_name.get(seen.operation), dict(seen.arguments)
        return Proposal(tool, arguments, shown=shown, setup=seen.setup, **more)

    found: dict[str, Proposal] = {}
    if quick:
        # What can be made to last is taken only if nothing else ends at once; tenths of a second are chance.
        one = min(quick, key=lambda each: (each.operation in slow_ones, each.seconds >= _QUICK / 2))
        found["quick"] = made(one, f"measured: {one.seconds:.1f} s")
    if slow:
        one = min(slow, key=lambda each: abs(each.seconds - WANTED))
        found["pending"] = made(
            one, f"measured: {one.seconds:.1f} s", seconds=round(one.seconds, 1), known=True
        )
    if subscribing:
        one = next((each for each in subscribing if not each.ended), subscribing[0])
        ends = next((each for each in subscribing if each.ended and each.operation == one.operation), None)
        final = dict(ends.arguments) if ends else None
        found["subscription"] = made(one, f"measured: {one.said}", final_arguments=final)
    if choosing:
        found["choice"] = made(choosing[0], "measured: it asks the user")
    return found


def _told(measured: Measured) -> Iterator[str]:
    """What calls did, and which tools were not called."""
    yield ""
    yield "# What their calls did:"
    for each in measured.seen:
        yield f"#   {text(str(each), 200)}"
    for name, why in measured.left:
        yield f"#   {name}: not called: {why}"
    if measured.cut_short:
        yield f"#   cut short: {text(measured.cut_short, 200)}"


def _scenarios(tools: list[dict[str, Any]], seed: int, measured: Measured | None) -> Iterator[str]:
    yield "# The tools that discovery shows:"
    for tool in tools[:50]:
        yield f"#   {text(str(tool.get('name')), 60)} ({_described(tool)})"
    found = proposals(tools, seed)
    if measured is not None:
        yield from _told(measured)
        found |= measured_proposals(tools, measured)
    for kind, proposal in found.items():
        yield ""
        # What nobody promised to be harmless is proposed, not switched on.
        off = "" if proposal.promised else "# "
        yield from (f"{off}{line}" for line in table(kind, proposal))
        if kind == "subscription":
            final = final_table(proposal)
            yield from (f"{off}{line}" for line in final)
            if not final:
                yield "# [scenario.subscription.final_arguments]  # of a variant that ends by itself"


def _harmless(tool: dict[str, Any]) -> bool:
    return not _annotated(tool, "destructive")


def _small(tool: dict[str, Any] | None, seed: int) -> dict[str, Any] | None:
    schema = tool.get("inputSchema") if tool else None
    return likely_arguments(schema, seed) if isinstance(schema, dict) else None


def _final_arguments(tool: dict[str, Any] | None, seed: int) -> dict[str, Any] | None:
    """Of the variant of a subscription that ends by itself, where a number in its schema makes one."""
    schema = tool.get("inputSchema") if tool else None
    count, small = counted(schema), _small(tool, seed)
    if not isinstance(schema, dict) or not count or small is None:
        return None
    return fixed(schema, {**small, count: 2}, seed) or fixed(schema, {count: 2}, seed)


def final_table(proposal: Proposal) -> list[str]:
    """The lines of the table of a subscription that ends by itself; none where there is no such variant."""
    if proposal.final_arguments is None:
        return []
    content = {"scenario": {"subscription": {"final_arguments": without_null(proposal.final_arguments)}}}
    return [*filter(None, tomli_w.dumps(content).split("\n"))]


def table(kind: str, proposal: Proposal) -> Iterator[str]:
    """The lines of the table of one kind of call."""
    about = "as its arguments say" if proposal.known else "its schema does not tell: check how long it lasts"
    chosen: dict[str, Any] = {
        "operation": str(proposal.tool.get("name")) if proposal.tool else "name-of-a-tool",
        **({"seconds": proposal.seconds} if proposal.seconds is not None else {}),
        "arguments": proposal.arguments or {},
    }
    if proposal.setup is not None:
        chosen["setup"] = [{"operation": proposal.setup[0], "arguments": dict(proposal.setup[1])}]
    remarks = {f"[scenario.{kind}]": _WHAT[kind], "seconds = ": proposal.shown or about}
    if proposal.shown and proposal.seconds is None:
        remarks["operation = "] = proposal.shown
    for line in filter(None, tomli_w.dumps({"scenario": {kind: without_null(chosen)}}).split("\n")):
        # The table's own keys come before those of its arguments, which may be called the same.
        said = next((remarks.pop(start) for start in [*remarks] if line.startswith(start)), "")
        yield f"{line}  # {said}" if said else line
