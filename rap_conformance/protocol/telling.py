"""What do answers about known calls tell that answers about unknown ids do not? No I/O.

Servers put request ids, times, durations and counters into their answers. So what many answers about unknown
ids do not agree in is noise, and says nothing of a call. What they agree in, an answer about a known call has
to have as well: no further member or header, and no other value under the same name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rap_conformance.engine.evidence import Exchange
from rap_conformance.protocol.leaks import OF_THE_BODY, VOLATILE_HEADERS
from rap_conformance.protocol.messages import lenient_json

_WORD = re.compile(r"[A-Za-z0-9_]+")
_DIGIT = re.compile(r"\d")
_ALIVE = re.compile(r"(\[0\])?(\.?alive)?")
"""Where the one thing is said that may be told, whatever the form of the answer."""
_NOTHING = frozenset({"null", '""', "[]", "{}"})
"""Values that tell nothing, by how they are shown."""


@dataclass(frozen=True, slots=True)
class Told:
    """Something about a call: what it is about in words, where it stands, and the exchanges that show it.

    The known call's comes first. `mirrors`: it is a boolean that says `alive`, or its contrary, once more.
    """

    case: str
    expected: str
    actual: str
    exchanges: tuple[Exchange, ...]
    place: str
    mirrors: bool = False


@dataclass(frozen=True, slots=True)
class _Value:
    """A value as it is shown, and like what it is: without digits, so that two times are alike."""

    shown: str
    like: str


def of_members(known: Sequence[Exchange], unknown: Sequence[Exchange]) -> Iterator[Told]:
    """What members of the body tell about known calls."""
    mine, theirs = [_members(each) for each in known], [_members(each) for each in unknown]
    anywhere = {path for each in theirs for path in each}
    for path in sorted({path for each in mine for path in each}):
        if _ALIVE.fullmatch(path):
            continue
        if path not in anywhere:
            which = next(n for n, each in enumerate(mine) if path in each)
            yield Told(
                "a member for live calls only",
                "the members of an answer about an unknown id",
                f"also {path[:60]!a}",
                (known[which], unknown[0]),
                path,
            )
        elif which := _another([each.get(path) for each in mine], [each.get(path) for each in theirs]):
            value, common = mine[which - 1][path], next(each[path] for each in theirs if path in each)
            yield Told(
                "a value that differs for known calls",
                f"{path[:60]!a}: {common.shown[:60]}, as for unknown ids",
                value.shown[:80],
                (known[which - 1], unknown[0]),
                path,
                _mirrors(path, mine, theirs),
            )


def of_headers(known: Sequence[Exchange], unknown: Sequence[Exchange]) -> Iterator[Told]:
    """What headers tell about known calls: one that is there for them only, or differs for them."""
    for name in sorted({k.lower() for e in (*known, *unknown) for k, _ in e.response_headers}):
        theirs, ours = ({e.header(name) for e in group} for group in (unknown, known))
        volatile = name in VOLATILE_HEADERS
        if theirs == {None} and not (volatile and None in ours):
            yield Told(
                "a header for known calls only",
                "the headers of an answer about an unknown id",
                f"also {ascii(name)[:60]}",
                (next(e for e in known if e.header(name) is not None), unknown[0]),
                name,
            )
        elif not volatile and (_differs_by_body if name in OF_THE_BODY else _differs)(name, known, unknown):
            yield Told(
                "a header that differs for known calls",
                f"{name}: {str(next(iter(theirs)))[:60]!a}, as for unknown ids",
                ", ".join(ascii(str(value)[:60]) for value in sorted(map(str, ours - theirs or ours))[:3]),
                (next((e for e in known if e.header(name) not in theirs), known[0]), unknown[0]),
                name,
            )


def _members(exchange: Exchange) -> dict[str, _Value]:
    """The members of the answer by their places; what the request named is no value."""
    asked = lenient_json(exchange.request_body)
    ids = [asked.get(name) for name in ("tool_call_id", "thread_id")] if isinstance(asked, dict) else []
    named = sorted((one for one in ids if isinstance(one, str) and one), key=len, reverse=True)
    return dict(_leaves(lenient_json(exchange.response_body), "", named))


def _leaves(value: Any, path: str, named: Sequence[str]) -> Iterator[tuple[str, _Value]]:
    if isinstance(value, dict):
        yield path, _Value("an object" if value else "{}", "object")
        for key, inner in value.items():
            name = _unnamed(key, named)
            yield from _leaves(inner, f"{path}.{name}" if path else name, named)
    elif isinstance(value, list):
        yield path, _Value("a list" if value else "[]", "list")
        for number, inner in enumerate(value[:20]):
            yield from _leaves(inner, f"{path}[{number}]", named)
    elif isinstance(value, str):
        value = _unnamed(value, named)
        words = ("#" if _DIGIT.search(word) else word for word in _WORD.findall(value))
        yield path, _Value(ascii(value) if value else '""', "text " + " ".join(words))
    elif isinstance(value, bool) or value is None:
        yield path, _Value("null" if value is None else str(value).lower(), str(value))
    else:
        yield path, _Value(str(value), "number")


def _unnamed(text: str, named: Sequence[str]) -> str:
    for name in named:
        text = text.replace(name, "*")
    return text


def _another(mine: Sequence[_Value | None], theirs: Sequence[_Value | None]) -> int:
    """Which of the known has, counted from one, another value than all the unknown share; 0 for none."""
    views: tuple[Callable[[_Value], str], ...] = (lambda value: value.shown, lambda value: value.like)
    for view in views:
        shared = {None if value is None else view(value) for value in theirs}
        if len(shared) > 1 or None in shared:
            continue
        for which, value in enumerate(mine, 1):
            if value is not None and view(value) not in shared and value.shown not in _NOTHING:
                return which
        return 0
    return 0


def _mirrors(path: str, mine: Sequence[dict[str, _Value]], theirs: Sequence[dict[str, _Value]]) -> bool:
    """Whether a value is everywhere what `alive` is, or everywhere the contrary: a boolean either way."""
    pairs = {
        (each[path].shown, each["alive"].shown)
        for each in (*mine, *theirs)
        if path in each and "alive" in each
    }
    same, contrary = {("true", "true"), ("false", "false")}, {("true", "false"), ("false", "true")}
    return bool(pairs) and (pairs <= same or pairs <= contrary)


def _differs(name: str, known: Sequence[Exchange], unknown: Sequence[Exchange]) -> bool:
    """Whether a header has one value for all unknown calls, and another or several for known ones.

    Where unknown calls have several that are alike but for their digits: whether that of a known one is not.
    """

    def value(exchange: Exchange) -> _Value | None:
        text = exchange.header(name)
        return None if text is None else dict(_leaves(text, "", ()))[""]

    theirs, ours = ({e.header(name) for e in group} for group in (unknown, known))
    if len(theirs) == 1:
        return ours != theirs
    return bool(_another([value(e) for e in known], [value(e) for e in unknown]))


def _differs_by_body(name: str, known: Sequence[Exchange], unknown: Sequence[Exchange]) -> bool:
    """The same for a header that is computed from the body: among answers with the same body."""

    def having(group: Sequence[Exchange], body: bytes) -> list[Exchange]:
        return [e for e in group if e.response_body == body]

    if len({e.header(name) for e in unknown}) != 1:
        return False
    for body in {e.response_body for e in known}:
        mine, theirs = having(known, body), having(unknown, body)
        if len({e.header(name) for e in mine}) > 1 or (theirs and _differs(name, mine, theirs)):
            return True
    return False
