"""Pictures as inline SVG: the time line of a call's life, and how long the status endpoint takes.

The numbers are reckoned here, the drawing is in templates/. Colours come from the style sheet by class; every
mark also differs in shape or text. Each picture is one figure whose caption says the same in words, so that
nobody needs to see it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from rap_conformance.engine.evidence import Exchange
from rap_conformance.protocol.messages import CALLBACKS
from rap_conformance.protocol.reading import Liveness, lenient_json, read_liveness
from rap_conformance.reporting.markup import render
from rap_conformance.reporting.view import is_status_query, plural

_WIDTH, _LEFT, _RIGHT = 600, 108, 18
_STEP, _ROW = 23, 26  # from one mark to the next, at least, and from one row of them to the next
_MOST_MARKS = 60
_MOST_SAID = 14
_LANES = ("invocation", "status checks", "callbacks", "other requests")
_READINGS = {Liveness.ALIVE: "alive", Liveness.GONE: "gone", Liveness.UNKNOWN: "unknown"}
_BINS = 28


@dataclass(frozen=True, slots=True)
class Mark:
    """One exchange on the time line: its number, when it ended, its lane, what it says, how it looks."""

    number: int
    at: float
    lane: str
    said: str
    look: str


@dataclass(frozen=True, slots=True)
class Lane:
    """A lane of the time line: where it is from top to bottom, and its marks with their places."""

    name: str
    middle: float
    bottom: float
    marks: tuple[tuple[float, float, Mark], ...]


def _mark(number: int, exchange: Exchange) -> Mark:
    message = lenient_json(exchange.request_body[:65536])
    kind = message.get("type") if isinstance(message, dict) else None
    path = exchange.url.partition("?")[0].rpartition("/")[2]
    if exchange.inbound:
        name = kind if kind in CALLBACKS else "callback"
        taken = exchange.status is not None and exchange.status < 300
        said = f"{name}, answered {exchange.status}" if exchange.status else f"{name}, not answered"
        return Mark(number, exchange.started, "callbacks", said, "good" if taken else "odd")
    if is_status_query(exchange):
        reading = _READINGS[read_liveness(exchange)]
        return Mark(number, exchange.ended, "status checks", f"status check: {reading}", reading)
    got = str(exchange.status or exchange.failure or "no answer")
    fine = exchange.status is not None and exchange.status < 300
    if isinstance(message, dict) and "callback_url" in message:
        said = "invocation acknowledged" if fine else f"invocation answered {got}"
        return Mark(number, exchange.ended, "invocation", said, "good" if fine else "odd")
    known = path if path in {"cancel_tool_call", "close_thread", "rap-toolset"} else "request"
    return Mark(number, exchange.ended, "other requests", f"{exchange.method[:10]} {known}: {got}", "plain")


def _rows(marks: Sequence[tuple[float, Mark]]) -> Iterator[tuple[float, int, Mark]]:
    """Each mark with the row of its lane in which it does not cover another one."""
    ends: list[float] = []
    for x, mark in marks:
        row = next((n for n, end in enumerate(ends) if x - end >= _STEP), len(ends))
        if row == len(ends):
            ends.append(x)
        ends[row] = x
        yield x, row, mark


def _ticks(span: float) -> list[float]:
    """About six round numbers from 0 to `span`."""
    if span <= 0:
        return [0.0]
    raw = span / 6
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= raw)
    return [n * step for n in range(int(span / step + 1e-9) + 1)]


def lifeline(exchanges: Sequence[Exchange], title: str = "Time line") -> Markup:
    """What happened when, from several exchanges; empty if there are fewer than two."""
    if len(exchanges) < 2:
        return Markup()
    marks = [_mark(n, e) for n, e in enumerate(exchanges[:_MOST_MARKS], 1)]
    marks.sort(key=lambda mark: mark.at)
    begin, end = min(e.started for e in exchanges[:_MOST_MARKS]), max(mark.at for mark in marks)
    span = max(end - begin, 1e-6)
    scale = (_WIDTH - _LEFT - _RIGHT) / span
    bottom, lanes = 8.0, []
    for name in _LANES:
        mine = [(_LEFT + (mark.at - begin) * scale, mark) for mark in marks if mark.lane == name]
        if mine:
            lanes.append(_lane(name, bottom, list(_rows(mine))))
            bottom = lanes[-1].bottom + 2
    said = _in_words(marks, begin)
    if len(exchanges) > _MOST_MARKS:
        said += f". Of {len(exchanges)} exchanges the first {_MOST_MARKS} are drawn"
    ticks = [
        (_LEFT + tick * scale, f"{tick * 1000:g} ms" if span < 1 else f"{tick:g} s") for tick in _ticks(span)
    ]
    return render(
        "lifeline",
        title=title,
        caption=said,
        width=_WIDTH,
        left=_LEFT,
        bottom=bottom,
        lanes=lanes,
        ticks=ticks,
    )


def _lane(name: str, top: float, placed: Sequence[tuple[float, int, Mark]]) -> Lane:
    height = (max(row for _, row, _ in placed) + 1) * _ROW + 10
    marks = tuple((x, top + 18 + row * _ROW, mark) for x, row, mark in placed)
    return Lane(name, top + height / 2, top + height, marks)


def _in_words(marks: Sequence[Mark], begin: float) -> str:
    """The time line in words; what is the same several times in a row is said once."""
    runs: list[list[Mark]] = []
    for mark in marks:
        if runs and runs[-1][0].said == mark.said:
            runs[-1].append(mark)
        else:
            runs.append([mark])
    parts = []
    for run in runs[:_MOST_SAID]:
        first, last = run[0], run[-1]
        numbers = f"{first.number}" if first is last else f"{first.number} to {last.number}"
        until = "" if first is last else f" to {last.at - begin:.2f}"
        parts.append(f"{numbers} {first.said} ({first.at - begin:.2f}{until} s)")
    more = f"; {plural(len(runs) - _MOST_SAID, 'more change')}" if len(runs) > _MOST_SAID else ""
    return "; ".join(parts) + more


def percentile(values: Sequence[float], part: float) -> float:
    """The value that `part` (0 to 1) of the sorted values do not exceed."""
    return values[min(len(values) - 1, max(0, math.ceil(part * len(values)) - 1))]


def milliseconds(seconds: float) -> str:
    """A duration for people: 0.84 ms, 12 ms, 1.3 s."""
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{seconds * 1000:.2g} ms" if seconds < 0.0095 else f"{seconds * 1000:.0f} ms"


def histogram(latencies: Sequence[float], title: str = "Response times of the status endpoint") -> Markup:
    """How long answers took, on a logarithmic scale; empty without any answer."""
    values = sorted(max(value, 1e-5) for value in latencies if math.isfinite(value))
    if not values:
        return Markup()
    low, high = math.log10(values[0] / 1.15), math.log10(values[-1] * 1.15)
    middle = (low + high) / 2
    low, high = min(low, middle - 0.35), max(high, middle + 0.35)
    bins = [0] * _BINS
    for value in values:
        bins[min(_BINS - 1, int((math.log10(value) - low) / (high - low) * _BINS))] += 1
    left, bottom, tall = 40, 150, 122
    wide = (_WIDTH - left - _RIGHT) / _BINS

    def x_of(value: float) -> float:
        return left + (math.log10(value) - low) / (high - low) * wide * _BINS

    most = max(bins)
    shares = (0.5, 1.0) if most % 2 == 0 else (1.0,)
    median, slow = percentile(values, 0.5), percentile(values, 0.95)
    caption = (
        f"{plural(len(values), 'answer')}: median {milliseconds(median)}, "
        f"95 % within {milliseconds(slow)}, slowest {milliseconds(values[-1])}"
    )
    return render(
        "histogram",
        title=title,
        caption=caption,
        width=_WIDTH,
        left=left,
        right=_WIDTH - _RIGHT,
        bottom=bottom,
        wide=wide,
        counts=[(bottom - tall * share, f"{most * share:g}") for share in shares],
        bars=[
            (left + n * wide, max(2.0, tall * count / most), count) for n, count in enumerate(bins) if count
        ],
        ticks=[
            (x_of(value), f"{value:g} s" if value >= 1 else f"{value * 1000:g} ms")
            for value in _decades(low, high)
        ],
        lines=[
            (x_of(value), f"{name} {milliseconds(value)}")
            for name, value in (("median", median), ("95 %", slow))
        ],
    )


def _decades(low: float, high: float) -> Iterator[float]:
    every = (1, 2, 5) if high - low < 2.2 else (1,)
    for power in range(math.floor(low), math.ceil(high) + 1):
        for factor in every:
            if low <= math.log10(factor * 10.0**power) <= high:
                yield factor * 10.0**power
