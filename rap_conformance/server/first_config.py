"""`rap-conformance init`: a configuration to start from, made of what discovery shows. Text in, text out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rap_conformance.contract import minimal_arguments
from rap_conformance.engine.safe import text, valid

_HEAD = """\
# What `rap-conformance check` may do with this server. Made by `rap-conformance init`; look it over.
# `rap-conformance explain CODE` tells what a requirement needs.
[server]
url = {url}
revision = "2026-07-pr62"
request_timeout = 10.0               # seconds

[features]                           # what is not said is found out
# status = true                      # true: a missing /tool_call_status fails; false: not applicable

# [auth]
# headers = {{ Authorization = "env:RAP_TOKEN" }}    # the variable holds the whole value: Bearer …

# [auth.other]                       # a second identity, whose calls must stay its own
# headers = {{ Authorization = "env:RAP_TOKEN_2" }}

# [timing]                           # seconds
# grace = 30.0                       # to settle after a call's end
# race_window = 5.0                  # a callback may still be in flight after `alive: false`
"""
_LASTING = ("wait", "sleep", "delay", "long", "run", "build", "job")
_SUBSCRIBING = ("subscribe", "watch", "monitor", "listen", "follow", "tail", "ticker")


def toml_value(value: Any) -> str:
    """A TOML value for plain JSON data (null, which TOML lacks, is left out)."""
    if isinstance(value, dict):
        inner = ", ".join(
            f"{json.dumps(str(k))} = {toml_value(v)}" for k, v in value.items() if v is not None
        )
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(toml_value(each) for each in value if each is not None) + "]"
    # JSON's strings, numbers and booleans are TOML's, but for lone surrogates and DEL.
    plain = valid(value) if isinstance(value, str) else value
    return json.dumps(plain, ensure_ascii=False).replace("\x7f", "\\u007f")


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


def first_config(url: str, tools: list[dict[str, Any]], seed: int = 0) -> str:
    """A commented configuration for the server at `url` that lists these tools."""
    return "\n".join([_HEAD.format(url=json.dumps(url)), *_scenarios(tools, seed), ""])


def _scenarios(tools: list[dict[str, Any]], seed: int) -> Iterator[str]:
    yield "# The tools that discovery shows:"
    for tool in tools[:50]:
        yield f"#   {text(str(tool.get('name')), 60)} ({_described(tool)})"
    yield ""
    pending = _suggest(tools, _LASTING, "longRunning")
    subscribing = _suggest(tools, _SUBSCRIBING)
    quick = next((t for t in tools if _annotated(t, "readOnly") and t not in (pending, subscribing)), None)
    yield from _table(
        "quick", "ends at once, harmless; `{canary}` in a text is replaced by a secret", quick, seed
    )
    more = "seconds = 3                          # how long it stays pending: check that it does"
    yield from _table("pending", "stays pending about `seconds`", pending, seed, more)
    more = "# final_arguments = { }              # a variant that ends by itself"
    yield from _table("subscription", "keeps sending events", subscribing, seed, more)


def _table(kind: str, what: str, tool: dict[str, Any] | None, seed: int, more: str = "") -> Iterator[str]:
    schema = tool.get("inputSchema") if tool else None
    arguments = minimal_arguments(schema, seed) if isinstance(schema, dict) else None
    # What nobody promised to be harmless is proposed, not switched on.
    off = "" if tool is not None and arguments is not None and _annotated(tool, "readOnly") else "# "
    name = str(tool.get("name")) if tool else "name-of-a-tool"
    yield f"{off}[scenario.{kind}]  # {what}"
    yield f"{off}operation = {toml_value(name)}"
    yield f"{off}arguments = {toml_value(arguments or {})}"
    if more:
        yield f"{off}{more}" if not more.startswith("#") else more
    yield ""
