"""`rap-conformance init`: a configuration to start from, made of what discovery shows. Text in, text out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
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


@dataclass(frozen=True, slots=True)
class Table:
    """What is proposed for one kind of call. `on`: it may be called without anybody looking it over.

    `about` says what is known of it.
    """

    kind: str
    operation: str
    arguments: Mapping[str, Any]
    on: bool
    about: str
    seconds: float | None = None
    final_arguments: Mapping[str, Any] | None = None

    def toml(self) -> str:
        """The table as it is put into a file, without remarks."""
        chosen: dict[str, Any] = {"operation": self.operation}
        if self.seconds is not None:
            chosen["seconds"] = self.seconds
        chosen["arguments"] = dict(self.arguments)
        if self.final_arguments is not None:
            chosen["final_arguments"] = dict(self.final_arguments)
        made = tomli_w.dumps({"scenario": {self.kind: without_null(chosen)}})
        return "\n".join(filter(None, made.split("\n")))


_ABOUT = {
    "quick": "ends at once, harmless; `{canary}` in a text is replaced by a secret",
    "pending": "stays pending about `seconds`",
    "subscription": "keeps sending events",
    "choice": "lets the user choose",
}


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


def proposals(tools: list[dict[str, Any]], seed: int, measured: Measured | None = None) -> dict[str, Table]:
    """For each kind of call the tool that looks most like it, or that showed to be it."""
    found = {table.kind: table for table in _guessed(tools, seed)}
    if measured is not None:
        found |= {table.kind: table for table in _shown(measured.seen)}
    return found


def _shown(seen: tuple[Seen, ...]) -> Iterator[Table]:
    """What calls showed. Of what lasts long enough the call that is nearest to four seconds is taken."""
    results = [each for each in seen if each.did is Did.RESULT]
    lasting_ones = [each for each in results if each.seconds >= _PENDING]
    if lasting_ones:
        one = min(lasting_ones, key=lambda each: abs(each.seconds - WANTED))
        about = f"measured: {one.seconds:.1f} s"
        yield Table("pending", one.operation, one.arguments, True, about, round(one.seconds, 1))
    # Of one that can be made to last the plain call is a quick one too, if there is no other.
    slow = {each.operation for each in lasting_ones}
    quick = [each for each in results if each.seconds < _QUICK]
    if quick:
        one = min(quick, key=lambda each: (each.operation in slow, round(each.seconds, 1)))
        yield Table("quick", one.operation, one.arguments, True, f"measured: {one.seconds:.1f} s")
    subscribing = [each for each in seen if each.did is Did.SUBSCRIPTION]
    if subscribing:
        one = next((each for each in subscribing if not each.ended), subscribing[0])
        final = next((each for each in subscribing if each.ended and each.operation == one.operation), None)
        ending = final.arguments if final else None
        yield Table(
            "subscription",
            one.operation,
            one.arguments,
            True,
            f"measured: {one.said}",
            final_arguments=ending,
        )
    if choosing := next((each for each in seen if each.did is Did.CHOICE), None):
        yield Table("choice", choosing.operation, choosing.arguments, True, "measured: it asks the user")


def _guessed(tools: list[dict[str, Any]], seed: int) -> Iterator[Table]:
    """What annotations, names and schemas tell."""
    subscribing = _suggest(tools, _SUBSCRIBING)
    choosing = _suggest([tool for tool in tools if tool is not subscribing], _CHOOSING)
    others = [tool for tool in tools if tool not in (subscribing, choosing)]
    lasts = {id(tool): found for tool in others if (found := lasting(tool.get("inputSchema"), seed))}
    pending = _suggest(others, _LASTING, "longRunning") or _suggest(
        [tool for tool in others if id(tool) in lasts], ("",)
    )
    safe = [t for t in others if t is not pending and _annotated(t, "readOnly") and _harmless(t)]
    if safe and (quick := _table("quick", safe[0], seed)):
        yield quick
    if pending is not None:
        made, seconds = lasts.get(id(pending), (None, 3.0))
        about = (
            "as its arguments say" if made else "its schema does not tell: check how long it stays pending"
        )
        if table := _table("pending", pending, seed, made, seconds, about):
            yield table
    if subscribing is not None and (table := _table("subscription", subscribing, seed)):
        schema = subscribing.get("inputSchema")
        count = counted(schema)
        ending = (
            fixed(schema, {**table.arguments, count: 2}, seed) if isinstance(schema, dict) and count else None
        )
        yield replace(table, final_arguments=ending)
    if choosing is not None and (table := _table("choice", choosing, seed)):
        yield table


def _table(
    kind: str,
    tool: dict[str, Any],
    seed: int,
    made: dict[str, Any] | None = None,
    seconds: float | None = None,
    about: str = "",
) -> Table | None:
    """A table with small arguments; None if the tool's schema tells of none."""
    schema = tool.get("inputSchema")
    arguments = made or (likely_arguments(schema, seed) if isinstance(schema, dict) else None)
    if arguments is None:
        return None
    # What nobody promised to be harmless is proposed, not switched on.
    return Table(kind, str(tool.get("name")), arguments, _annotated(tool, "readOnly"), about, seconds)


def _harmless(tool: dict[str, Any]) -> bool:
    return not _annotated(tool, "destructive")


def _scenarios(tools: list[dict[str, Any]], seed: int, measured: Measured | None) -> Iterator[str]:
    yield "# The tools that discovery shows:"
    for tool in tools[:50]:
        yield f"#   {text(str(tool.get('name')), 60)} ({_described(tool)})"
    if measured is not None:
        yield from _told(measured)
    found = proposals(tools, seed, measured)
    for kind, what in _ABOUT.items():
        yield ""
        yield from _lines(found.get(kind) or _unknown(kind), what)


def _unknown(kind: str) -> Table:
    return Table(kind, "name-of-a-tool", {}, False, "", 3 if kind == "pending" else None)


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


def _lines(table: Table, what: str) -> Iterator[str]:
    """The lines of one table, with remarks; commented out where somebody has to look it over first."""
    off = "" if table.on else "# "
    # The table's own keys come before those of its arguments, which may be called the same.
    remarks = {f"[scenario.{table.kind}]": what}
    if table.about:
        remarks["operation = " if table.seconds is None else "seconds = "] = table.about
    for line in table.toml().split("\n"):
        said = next((remarks.pop(start) for start in remarks if line.startswith(start)), "")
        yield f"{off}{line}  # {said}" if said else f"{off}{line}"
    if table.kind == "subscription" and table.final_arguments is None:
        yield "# [scenario.subscription.final_arguments]  # of a variant that ends by itself"
