"""In what do answers differ, apart from what differs between any two of them? No I/O.

Servers put request ids, times, durations and counters into their answers, in whatever form. So an answer is
never compared with one other: it is compared with several that must be alike, and only that in which those
agree with each other counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rap_conformance.engine.evidence import Exchange
from rap_conformance.protocol.reading import lenient_json

_WORD = re.compile(r"[A-Za-z0-9_]+")
_DIGIT = re.compile(r"\d")
_MOST = 2000
"""Traits of one answer that are looked at."""


def traits(exchange: Exchange, *names: str) -> dict[str, str]:
    """What an answer is like: status, media type, and the members or words of its body.

    `names` (ids, paths) are what the request named: an echo of them tells nothing. Numbers, and words with
    digits in them, count as being there, not by their value.
    """
    media = (exchange.header("content-type") or "").split(";")[0].strip().lower()
    found = {"status": str(exchange.status or exchange.failure), "media type": media}
    text = exchange.response_body.decode("utf-8", "replace")
    for name in sorted(filter(None, names), key=len, reverse=True):
        text = text.replace(name, "*")
    value = lenient_json(text.encode("utf-8", "replace"))
    if isinstance(value, dict | list):
        for path, leaf in _leaves(value, ""):
            found[f"member {path}"] = leaf
    else:
        for word in _WORD.findall(text):
            found[f"word {'#' if _DIGIT.search(word) else word}"] = "there"
    return dict(list(found.items())[:_MOST])


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        yield path, "object"
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}")
    elif isinstance(value, list):
        yield path, "array"
        for number, inner in enumerate(value[:20]):
            yield from _leaves(inner, f"{path}[{number}]")
    elif isinstance(value, str):
        words = ("#" if _DIGIT.search(word) else word for word in _WORD.findall(value))
        yield path, "text " + " ".join(words)
    elif isinstance(value, bool) or value is None:
        yield path, str(value)
    else:
        yield path, "number"


def difference(subject: Mapping[str, str], others: Sequence[Mapping[str, str]]) -> str:
    """In what an answer differs from others that must be alike, in words; empty if in nothing.

    Only what all the others agree in counts; what they do not even agree to have is noise.
    """
    first, *rest = others
    for name, value in first.items():
        if all(other.get(name) == value for other in rest) and subject.get(name) != value:
            return f"{name}: {subject.get(name, 'absent')} against {value}"
    agreed = all(other.keys() == first.keys() for other in rest)
    if agreed and (more := [name for name in subject if name not in first]):
        return f"{more[0]}: {subject[more[0]]} against absent"
    return ""


_VOLATILE = (
    re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^\s\"<]*"),
    re.compile(rb"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"),
    re.compile(rb"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"),
    re.compile(rb"\b[0-9a-fA-F]{12,}\b"),
    re.compile(rb"\b\d{10,}\b"),
)


def essence(exchange: Exchange, *names: str) -> tuple[int | None, str, bytes]:
    """Status, media type and body without what differs between any two requests."""
    media = (exchange.header("content-type") or "").split(";")[0].strip().lower()
    body = exchange.response_body
    for name in sorted(filter(None, names), key=len, reverse=True):
        body = body.replace(name.encode("utf-8", "surrogatepass"), b"*")
    for pattern in _VOLATILE:
        body = pattern.sub(b"*", body)
    return exchange.status, media, body
