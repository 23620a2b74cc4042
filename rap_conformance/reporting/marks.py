"""Which bytes of an exchange differ, so that reports can mark them. Pure; spans are half-open, in bytes.

Two exchanges of the same kind are compared with each other. Where there is only one, what the finding quotes
as `actual` and does not quote as `expected` is looked for in the answer.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rap_conformance.engine.evidence import Exchange, Finding

Span = tuple[int, int]
Spans = tuple[Span, ...]

LIMIT = 4096
"""Bytes of a body that are looked at."""
_MOST_TOKENS = 400
_MOST_SPANS = 40
_ALIKE = 0.4
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_BYTES = re.compile(rb"[\w\x80-\xff]+|\s+|[^\w\s\x80-\xff]")
_QUOTED = re.compile(r"`([^`]{1,200})`|'([^']{1,200})'|\"([^\"]{1,200})\"")
_STATUS = re.compile(r"(?<![\w.,])[1-5]\d\d(?![\w.,]\d)")
_VOLATILE = frozenset(
    {"date", "age", "expires", "x-request-id", "connection", "keep-alive", "content-length"}
)


@dataclass(frozen=True, slots=True)
class Marks:
    """What to mark in one exchange: the status, whole headers by name, parts of both bodies."""

    status: bool = False
    headers: frozenset[str] = frozenset()
    request: Spans = ()
    response: Spans = ()


def _joined(spans: Iterable[Span]) -> Spans:
    """Spans in order, those that touch made one."""
    out: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return tuple(out[:_MOST_SPANS])


def _bodies(one: bytes, two: bytes) -> tuple[Spans, Spans]:
    one, two = one[:LIMIT], two[:LIMIT]
    return ((), ()) if one == two else _changes(_BYTES.findall(one), _BYTES.findall(two))


def _changes(one: Sequence[str | bytes], two: Sequence[str | bytes]) -> tuple[Spans, Spans]:
    """The spans that differ, on both sides, measured in the lengths of the tokens."""
    if one == two:
        return (), ()
    head = 0
    while head < min(len(one), len(two)) and one[head] == two[head]:
        head += 1
    tail = 0
    while tail < min(len(one), len(two)) - head and one[-1 - tail] == two[-1 - tail]:
        tail += 1
    inner = one[head : len(one) - tail], two[head : len(two) - tail]
    if max(map(len, inner)) > _MOST_TOKENS:
        pairs = [(0, len(inner[0]), 0, len(inner[1]))]
    else:
        matcher = difflib.SequenceMatcher(None, *inner, autojunk=False)
        pairs = [(a, b, c, d) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal"]
    starts = [[0], [0]]
    for which, tokens in enumerate((one, two)):
        for token in tokens:
            starts[which].append(starts[which][-1] + len(token))
    left = [(starts[0][head + a], starts[0][head + b]) for a, b, _, _ in pairs]
    right = [(starts[1][head + c], starts[1][head + d]) for _, _, c, d in pairs]
    return _joined(left), _joined(right)


def prose(expected: str, actual: str) -> tuple[Spans, Spans]:
    """Where two sentences differ, in characters; nothing where they have too little in common."""
    one, two = _TOKEN.findall(expected[:LIMIT]), _TOKEN.findall(actual[:LIMIT])
    if not one or not two or max(len(one), len(two)) > _MOST_TOKENS:
        return (), ()
    if difflib.SequenceMatcher(None, one, two, autojunk=False).ratio() < _ALIKE:
        return (), ()
    left, right = _changes(one, two)
    return _bridged(left, expected), _bridged(right, actual)


def _bridged(spans: Spans, sentence: str) -> Spans:
    """Spans with nothing but white space between them made one."""
    out: list[Span] = []
    for start, end in spans:
        if out and not sentence[out[-1][1] : start].strip():
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return tuple(out)


def _kind(exchange: Exchange) -> tuple[str, str, bool]:
    return exchange.method, exchange.url.partition("?")[0], exchange.inbound


def _headers(exchange: Exchange) -> dict[str, str]:
    return {name.lower(): value for name, value in exchange.response_headers if name.lower() not in _VOLATILE}


def _compare(one: Exchange, two: Exchange) -> tuple[Marks, Marks]:
    sent = _bodies(one.request_body, two.request_body)
    got = _bodies(one.response_body, two.response_body)
    status = one.status != two.status
    first, second = _headers(one), _headers(two)
    names = frozenset(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
    return Marks(status, names, sent[0], got[0]), Marks(status, names, sent[1], got[1])


def _literals(finding: Finding) -> list[str]:
    """What `actual` quotes and `expected` does not."""
    quoted = ["".join(found.groups("")) for found in _QUOTED.finditer(finding.actual[:LIMIT])]
    return [text for text in dict.fromkeys(quoted) if text.strip() and text not in finding.expected][:8]


def _pattern(literal: str) -> re.Pattern[bytes] | None:
    """The literal as it may stand in JSON: quotes and white space between its words come and go."""
    tokens = [token for token in _TOKEN.findall(literal) if token.strip(" \"'`{}")][:12]
    if not tokens:
        return None
    words = [re.escape(token.encode("utf-8", "backslashreplace")) for token in tokens]
    return re.compile(rb'["\s]{0,4}'.join(words))


def _found(finding: Finding, exchange: Exchange) -> Marks:
    body = exchange.response_body[:LIMIT]
    spans: list[Span] = []
    headers: set[str] = set()
    for literal in _literals(finding):
        pattern = _pattern(literal)
        if pattern is None:
            continue
        spans += [match.span() for _, match in zip(range(_MOST_SPANS), pattern.finditer(body), strict=False)]
        plain = literal.strip()
        headers |= {name.lower() for name, value in exchange.response_headers if plain in value}
    said = set(_STATUS.findall(finding.actual[:LIMIT])) - set(_STATUS.findall(finding.expected[:LIMIT]))
    return Marks(str(exchange.status) in said, frozenset(headers), (), _joined(spans))


def _empty(marks: Marks) -> bool:
    return not (marks.status or marks.headers or marks.response)


def differences(finding: Finding) -> tuple[Marks, ...]:
    """What to mark in each of the finding's exchanges, in their order."""
    kept = finding.exchanges
    marks = [Marks()] * len(kept)
    first: dict[tuple[str, str, bool], int] = {}
    for at, exchange in enumerate(kept):
        if exchange.inbound or exchange.status is None:
            continue
        before = first.setdefault(_kind(exchange), at)
        if before != at:
            one, two = _compare(kept[before], exchange)
            # The first one shows its marks once; every other its own.
            marks[before] = one if _empty(marks[before]) else marks[before]
            marks[at] = two
    if all(map(_empty, marks)):
        marks = [
            mark if exchange.inbound or exchange.status is None else _merged(mark, _found(finding, exchange))
            for mark, exchange in zip(marks, kept, strict=True)
        ]
    return tuple(marks)


def _merged(pair: Marks, found: Marks) -> Marks:
    return Marks(found.status, found.headers, pair.request, found.response)


def pieces(data: bytes, spans: Spans) -> Iterable[tuple[bytes, bool]]:
    """The data in parts, each with whether it is marked; no part begins or ends within a character."""
    at = 0
    for start, end in spans:
        start, end = _start(data, max(start, at)), _start(data, end)
        if start < at or end <= start:
            continue
        if start > at:
            yield data[at:start], False
        yield data[start:end], True
        at = end
    if at < len(data):
        yield data[at:], False


def _start(data: bytes, at: int) -> int:
    """The nearest place at or after `at`, three bytes away at most, where a character begins."""
    for step in range(4):
        if at + step >= len(data) or data[at + step] & 0xC0 != 0x80:
            return min(at + step, len(data))
    return at
