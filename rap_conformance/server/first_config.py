"""`rap-conformance init`: a configuration to start from, made of what discovery shows. Text in, text out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tomli_w

from rap_conformance.contract import minimal_arguments
from rap_conformance.engine.safe import text, valid
from rap_conformance.server.lasting import counted, fixed, lasting

_HEAD = """\
# What `rap-conformance check` may do with this server. Made by `rap-conformance init`; look it over.
# `rap-conformance explain CODE` tells what a requirement needs.
[server]
{url}
revision = "2026-07-pr62"
request_timeout = 10.0               # seconds
# headers = {{ X-Api-Version = "2" }}  # sent with every request, and no secret

[features]                           # what is not said is found out
# status = true                      # true: a missing /tool_call_status fails; false: not applicable

{auth}

# [auth.other]                       # a second identity, whose calls must stay its own
# headers = {{ Authorization = "env:RAP_TOKEN_2" }}

# [timing]                           # seconds
# grace = 30.0                       # to settle after a call's end
# race_window = 5.0                  # a callback may still be in flight after `alive: false`
"""
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
    url: str, tools: list[dict[str, Any]], seed: int = 0, auth: dict[str, str] | None = None
) -> str:
    """A commented configuration for the server at `url` that lists these tools.

    `auth` are headers whose values name variables of the environment (`env:NAME`); never a secret itself.
    """
    there = tomli_w.dumps({"url": url}).rstrip()
    identity = tomli_w.dumps({"auth": {"headers": auth}}).rstrip() if auth else _NO_AUTH
    return "\n".join([_HEAD.format(url=there, auth=identity), *_scenarios(tools, seed), ""])


def _scenarios(tools: list[dict[str, Any]], seed: int) -> Iterator[str]:
    yield "# The tools that discovery shows:"
    for tool in tools[:50]:
        yield f"#   {text(str(tool.get('name')), 60)} ({_described(tool)})"
    yield ""
    subscribing = _suggest(tools, _SUBSCRIBING)
    choosing = _suggest([tool for tool in tools if tool is not subscribing], _CHOOSING)
    others = [tool for tool in tools if tool not in (subscribing, choosing)]
    lasts = {id(tool): found for tool in others if (found := lasting(tool.get("inputSchema"), seed))}
    pending = _suggest(others, _LASTING, "longRunning") or _suggest(
        [tool for tool in others if id(tool) in lasts], ("",)
    )
    quick = next((t for t in others if t is not pending and _annotated(t, "readOnly") and _harmless(t)), None)
    yield from _table(
        "quick", "ends at once, harmless; `{canary}` in a text is replaced by a secret", quick, seed
    )
    yield ""
    known = lasts.get(id(pending)) if pending else None
    made, seconds = known or (None, 3)
    about = "as its arguments say" if known else "its schema does not tell: check how long it stays pending"
    yield from _table(
        "pending", "stays pending about `seconds`", pending, seed, made, seconds=(seconds, about)
    )
    yield ""
    yield from _table("subscription", "keeps sending events", subscribing, seed)
    yield from _final(subscribing, seed)
    yield ""
    yield from _table("choice", "lets the user choose", choosing, seed)


def _harmless(tool: dict[str, Any]) -> bool:
    return not _annotated(tool, "destructive")


def _final(tool: dict[str, Any] | None, seed: int) -> Iterator[str]:
    """The variant of a subscription that ends by itself, where a number in its schema makes one."""
    schema = tool.get("inputSchema") if tool else None
    count = counted(schema)
    made = fixed(schema, {count: 2}, seed) if isinstance(schema, dict) and count else None
    if tool is None or made is None:
        yield "# [scenario.subscription.final_arguments]  # of a variant that ends by itself"
        return
    off = "" if _annotated(tool, "readOnly") else "# "
    table = {"scenario": {"subscription": {"final_arguments": without_null(made)}}}
    for line in filter(None, tomli_w.dumps(table).split("\n")):
        yield f"{off}{line}"


def _table(
    kind: str,
    what: str,
    tool: dict[str, Any] | None,
    seed: int,
    made: dict[str, Any] | None = None,
    **more: tuple[Any, str],
) -> Iterator[str]:
    """The lines of one table; `more` are further values, each with the remark on it."""
    schema = tool.get("inputSchema") if tool else None
    arguments = made or (minimal_arguments(schema, seed) if isinstance(schema, dict) else None)
    # What nobody promised to be harmless is proposed, not switched on.
    off = "" if tool is not None and arguments is not None and _annotated(tool, "readOnly") else "# "
    chosen = {
        "operation": str(tool.get("name")) if tool else "name-of-a-tool",
        **{key: value for key, (value, _) in more.items()},
        "arguments": arguments or {},
    }
    remarks = {f"[scenario.{kind}]": what, **{f"{key} = ": said for key, (_, said) in more.items()}}
    for line in filter(None, tomli_w.dumps({"scenario": {kind: without_null(chosen)}}).split("\n")):
        # The table's own keys come before those of its arguments, which may be called the same.
        said = next((remarks.pop(start) for start in remarks if line.startswith(start)), "")
        yield f"{off}{line}  # {said}" if said else f"{off}{line}"
