"""Pictures as inline SVG: the time line of a call's life, and how long the status endpoint takes.

Colours come from the style sheet by class; every mark also differs in shape or text. Each picture is one
figure whose caption says the same in words, so that nobody needs to see it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.safe import html_text
from rap_conformance.protocol.reading import Liveness, lenient_json, read_liveness
from rap_conformance.reporting.view import is_status_query, plural

_WIDTH, _LEFT, _RIGHT = 600, 108, 18
_STEP = 23  # from one mark to the next, at least
_MOST_MARKS = 60
_MOST_SAID = 14
_LANES = ("invocation", "status checks", "callbacks", "other requests")
_MESSAGES = frozenset({"tool_result", "subscription_event", "user_choice", "oauth", "view_update"})
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


def _mark(number: int, exchange: Exchange) -> Mark:
    message = lenient_json(exchange.request_body[:65536])
    kind = message.get("type") if isinstance(message, dict) else None
    path = exchange.url.partition("?")[0].rpartition("/")[2]
    if exchange.inbound:
        name = kind if isinstance(kind, str) and kind in _MESSAGES else "callback"
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


def _shape(x: float, y: float, mark: Mark) -> str:
    label = f'<text x="{x:.1f}" y="{y + 4:.1f}" class="rap-mark">{mark.number}</text>'
    title = f"<title>{mark.number}: {html_text(mark.said)}, at {mark.at:.2f} s</title>"
    if mark.lane == "status checks":
        body = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="10"/>'
    elif mark.lane == "callbacks":
        body = f'<path d="M{x:.1f} {y - 12:.1f}l12 12l-12 12l-12 -12z"/>'
    else:
        body = f'<rect x="{x - 10:.1f}" y="{y - 10:.1f}" width="20" height="20" rx="3"/>'
    return f'<g class="rap-p-{mark.look}">{title}{body}{label}</g>'


def _ticks(span: float) -> list[float]:
    """About six round numbers from 0 to `span`."""
    if span <= 0:
        return [0.0]
    raw = span / 6
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= raw)
    return [n * step for n in range(int(span / step + 1e-9) + 1)]


def lifeline(exchanges: Sequence[Exchange], title: str = "Time line") -> str:
    """What happened when, from several exchanges; empty if there are fewer than two."""
    if len(exchanges) < 2:
        return ""
    marks = [_mark(n, e) for n, e in enumerate(exchanges[:_MOST_MARKS], 1)]
    marks.sort(key=lambda mark: mark.at)
    begin, end = min(e.started for e in exchanges[:_MOST_MARKS]), max(mark.at for mark in marks)
    span = max(end - begin, 1e-6)
    scale = (_WIDTH - _LEFT - _RIGHT) / span
    top, parts = 8.0, []
    for lane in _LANES:
        mine = [(_LEFT + (mark.at - begin) * scale, mark) for mark in marks if mark.lane == lane]
        if not mine:
            continue
        placed = list(_rows(mine))
        height = (max(row for _, row, _ in placed) + 1) * 26 + 10
        middle = top + height / 2
        parts.append(f'<text x="0" y="{middle + 4:.1f}" class="rap-lane">{lane}</text>')
        parts.append(f'<path d="M{_LEFT - 12} {top + height:.1f}H{_WIDTH}" class="rap-rule"/>')
        parts += [_shape(x, top + 18 + row * 26, mark) for x, row, mark in placed]
        top += height + 2
    for tick in _ticks(span):
        x = _LEFT + tick * scale
        parts.append(f'<path d="M{x:.1f} {top:.1f}v5" class="rap-rule"/>')
        shown = f"{tick * 1000:g} ms" if span < 1 else f"{tick:g} s"
        parts.append(f'<text x="{x:.1f}" y="{top + 20:.1f}" class="rap-tick">{shown}</text>')
    said = _said(marks, begin)
    if len(exchanges) > _MOST_MARKS:
        said += f". Of {len(exchanges)} exchanges the first {_MOST_MARKS} are drawn"
    return _figure(title, said, _WIDTH, top + 28, parts)


def _said(marks: Sequence[Mark], begin: float) -> str:
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


def _figure(title: str, caption: str, width: float, height: float, parts: Sequence[str]) -> str:
    return (
        '<figure class="rap-picture"><div class="rap-scroll" role="group"'
        f' aria-label="{html_text(title)}, picture"><svg viewBox="0 0 {width:.0f} {height:.0f}" role="img"'
        f' aria-label="{html_text(title)}; the caption says what it shows">{"".join(parts)}</svg></div>'
        f"<figcaption><b>{html_text(title)}.</b> {html_text(caption)}.</figcaption></figure>"
    )


def percentile(values: Sequence[float], part: float) -> float:
    """The value that `part` (0 to 1) of the sorted values do not exceed."""
    return values[min(len(values) - 1, max(0, math.ceil(part * len(values)) - 1))]


def milliseconds(seconds: float) -> str:
    """A duration for people: 0.84 ms, 12 ms, 1.3 s."""
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{seconds * 1000:.2g} ms" if seconds < 0.0095 else f"{seconds * 1000:.0f} ms"


def histogram(latencies: Sequence[float], title: str = "Response times of the status endpoint") -> str:
    """How long answers took, on a logarithmic scale; empty without any answer."""
    values = sorted(max(value, 1e-5) for value in latencies if math.isfinite(value))
    if not values:
        return ""
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

    parts = [f'<path d="M{left} {bottom}H{_WIDTH - _RIGHT}" class="rap-rule"/>']
    most = max(bins)
    for share in (0.5, 1.0) if most % 2 == 0 else (1.0,):
        y = bottom - tall * share
        parts.append(f'<path d="M{left} {y:.1f}H{_WIDTH - _RIGHT}" class="rap-rule rap-faint"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" class="rap-count">{most * share:g}</text>')
    for n, count in enumerate(bins):
        if count:
            height = max(2.0, tall * count / most)
            parts.append(
                f'<rect x="{left + n * wide + 1:.1f}" y="{bottom - height:.1f}" width="{wide - 2:.1f}"'
                f' height="{height:.1f}" class="rap-bar"><title>{plural(count, "answer")}</title></rect>'
            )
    parts += [_tick(x_of(value), bottom, value) for value in _decades(low, high)]
    marked = (("median", percentile(values, 0.5)), ("95 %", percentile(values, 0.95)))
    parts += [f'<path d="M{x_of(value):.1f} 10V{bottom}" class="rap-line"/>' for _, value in marked]
    for row, (name, value) in enumerate(marked):
        x = x_of(value)
        side = "rap-after" if x < _WIDTH * 0.8 else "rap-before"
        offset = 5 if side == "rap-after" else -5
        label = f"{name} {milliseconds(value)}"
        parts.append(f'<text x="{x + offset:.1f}" y="{18 + row * 15}" class="{side}">{label}</text>')
    caption = (
        f"{plural(len(values), 'answer')}: median {milliseconds(marked[0][1])}, "
        f"95 % within {milliseconds(marked[1][1])}, slowest {milliseconds(values[-1])}"
    )
    return _figure(title, caption, _WIDTH, bottom + 28, parts)


def _decades(low: float, high: float) -> Iterator[float]:
    every = (1, 2, 5) if high - low < 2.2 else (1,)
    for power in range(math.floor(low), math.ceil(high) + 1):
        for factor in every:
            if low <= math.log10(factor * 10.0**power) <= high:
                yield factor * 10.0**power


def _tick(x: float, bottom: float, value: float) -> str:
    shown = f"{value:g} s" if value >= 1 else f"{value * 1000:g} ms"
    return (
        f'<path d="M{x:.1f} {bottom}v5" class="rap-rule"/>'
        f'<text x="{x:.1f}" y="{bottom + 20}" class="rap-tick">{shown}</text>'
    )
