"""One requirement on the page: what is asked, what was there, how to mend, repeat and waive it.

Everything that can come from a server passes through `safe`. A card is drawn as fully as its share of the
page allows; what it leaves out it says, and report.json has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rap_conformance.engine.evidence import Exchange, Finding, Headers, Verdict
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.run import Result, Run
from rap_conformance.engine.safe import html_text, text
from rap_conformance.reporting import marks
from rap_conformance.reporting.pictures import lifeline
from rap_conformance.reporting.view import (
    SIGNS,
    again,
    is_smallest,
    key_exchange,
    liveness,
    plural,
    reproduce,
    waiver,
)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of the evidence is shown: numbers of things, bytes of a body, characters of other text."""

    findings: int
    exchanges: int
    body: int
    prose: int
    headers: int
    command: int
    picture: bool = True


LIMITS = (
    Limits(12, 12, 4096, 1500, 40, 20_000),
    Limits(8, 4, 1024, 600, 16, 3000),
    Limits(4, 1, 256, 300, 8, 1200),
    Limits(1, 0, 0, 160, 0, 0, picture=False),
)
"""From generous to bare; even hostile text keeps a card of the last kind below 20 KB."""


def link(url: str, label: str) -> str:
    """A link, for http(s) only; anything else becomes plain text."""
    shown = html_text(label)
    if not url.startswith(("https://", "http://")):
        return shown
    return f'<a href="{html_text(url)}" rel="noreferrer">{shown}</a>'


def prose(value: str, limit: int | None = 4096, spans: marks.Spans = ()) -> str:
    """A sentence; what stands in backticks is set as code, `spans` (of characters) are marked."""
    out, at, code = [], 0, False
    value, cut = (value, "") if limit is None or len(value) <= limit else (value[:limit], text(value, limit))
    inside = [any(start <= n < end for start, end in spans) for n in range(len(value))] if spans else []
    while at < len(value):
        if value[at] == "`" and (code or "`" in value[at + 1 :]):
            out.append("</code>" if code else "<code>")
            code, at = not code, at + 1
            continue
        end = at + 1
        while end < len(value) and value[end] != "`" and (not spans or inside[end] == inside[at]):
            end += 1
        piece = html_text(value[at:end], None, lines=True)
        out.append(f"<mark>{piece}</mark>" if spans and inside[at] else piece)
        at = end
    if code:
        out.append("</code>")
    return "".join(out) + (html_text(cut[cut.rindex("… [cut") :]) if cut else "")


def _body(data: bytes, limit: int, spans: marks.Spans) -> str:
    parts = (
        f"<mark>{html_text(piece, None, lines=True)}</mark>" if marked else html_text(piece, None, lines=True)
        for piece, marked in marks.pieces(data[:limit], spans)
    )
    return "".join(parts)


def _message(
    head: str,
    start: str,
    headers: Headers,
    body: bytes,
    limits: Limits,
    *,
    truncated: bool = False,
    spans: marks.Spans = (),
    marked: frozenset[str] = frozenset(),
) -> str:
    rows = []
    for name, value in headers[: limits.headers]:
        row = f"{html_text(name, 100)}: {html_text(value, 300)}"
        rows.append(f"<mark>{row}</mark>" if name.lower() in marked else row)
    if (more := len(headers) - limits.headers) > 0:
        rows.append(f"… {more} more")
    cut = f", the first {limits.body:,} shown" if len(body) > limits.body else ""
    size = f" <small>· {len(body):,} bytes{cut or (', cut' if truncated else '')}</small>"
    content = f"\n\n<b>{_body(body, limits.body, spans)}</b>" if body and limits.body else ""
    fields = "\n".join([start, *rows])
    return f"<div><h5>{head}{size}</h5><pre>{fields}{content}</pre></div>"


def _exchange(number: int, exchange: Exchange, mark: marks.Marks, limits: Limits) -> str:
    sent, received = ("The server sent", "The suite answered") if exchange.inbound else ("Sent", "Received")
    first = html_text(f"{exchange.method} {exchange.url}", 500)
    request = _message(
        f"{sent} <small>at {exchange.started:,.2f} s</small>",
        first,
        exchange.request_headers,
        exchange.request_body,
        limits,
        spans=mark.request,
    )
    answer = ""
    if exchange.status is not None:
        status = f"<mark>{exchange.status}</mark>" if mark.status else str(exchange.status)
        answer = _message(
            f"{received} <small>after {exchange.elapsed * 1000:,.0f} ms</small>",
            f"status {status}",
            exchange.response_headers,
            exchange.response_body,
            limits,
            truncated=exchange.truncated,
            spans=mark.response,
            marked=mark.headers,
        )
    if exchange.failure is not None:
        detail = f" ({html_text(exchange.detail, 300)})" if exchange.detail else ""
        after = f"after {exchange.elapsed:,.1f} s"
        answer += (
            f"<div><h5>No whole answer</h5><p><mark>{exchange.failure}</mark>{detail}, {after}</p></div>"
        )
    return f'<li value="{number}" class="rap-exchange"><div class="rap-beside">{request}{answer}</div></li>'


def _exchanges(finding: Finding, limits: Limits) -> str:
    kept = finding.exchanges
    if not kept or not limits.exchanges:
        return _left_out(len(kept), "exchange")
    key = key_exchange(finding)
    chosen = next(n for n, exchange in enumerate(kept) if exchange is key)
    shown = sorted({chosen, *range(len(kept))[: limits.exchanges - 1]})
    seen = replace(finding, exchanges=tuple(kept[n] for n in shown))
    mark = dict(zip(shown, marks.differences(seen), strict=True))
    other = [n for n in shown if n != chosen and mark[n] != marks.Marks()][:1] if len(shown) > 2 else shown
    items = {n: _exchange(n + 1, kept[n], mark[n], limits) for n in shown}
    first = [items[n] for n in shown if n == chosen or n in other]
    rest = [item for item in items.values() if item not in first]
    more = ""
    if rest:
        more = (
            f"<details><summary>{plural(len(rest), 'more exchange')}</summary>"
            f'<ol class="rap-exchanges">{"".join(rest)}</ol></details>'
        )
    left = _left_out(len(kept) - len(items), "exchange")
    return f'<ol class="rap-exchanges">{"".join(first)}</ol>{more}{left}'


def _left_out(number: int, noun: str) -> str:
    return f"<p>{plural(number, f'more {noun}')} in report.json.</p>" if number > 0 else ""


def _copied(head: str, content: str) -> str:
    """A block of text to copy; the page's script adds the button."""
    return f'<div class="rap-copy"><h5>{head}</h5><pre>{content}</pre></div>'


def _input(finding: Finding, result: Result, limits: Limits) -> str:
    exchange = key_exchange(finding)
    if exchange is None or not is_smallest(finding) or not exchange.request_body or not limits.body:
        return ""
    tried = f" <small>of {result.examples:,} tried</small>" if result.examples else ""
    size = len(exchange.request_body)
    cut = f"\n… {size:,} bytes in all" if size > limits.body else ""
    shown = html_text(exchange.request_body[: limits.body], None, lines=True)
    return f"<div><h5>Smallest input found{tried}</h5><pre>{shown}{cut}</pre></div>"


def _finding(finding: Finding, result: Result, limits: Limits, first: bool) -> str:
    """One departure; all but a card's first are folded."""
    level = f"<small>{finding.level}, case {finding.fingerprint}</small>"
    case = f"{html_text(finding.case, min(limits.prose, 300))} {level}"
    inside = _inside(finding, result, limits)
    if first:
        return f'<section class="rap-finding"><h4>{case}</h4>{inside}</section>'
    return f'<details class="rap-finding"><summary><b>{case}</b></summary>{inside}</details>'


def _inside(finding: Finding, result: Result, limits: Limits) -> str:
    reading = liveness(finding)
    command = reproduce(finding) if limits.command else ""
    expected, actual = marks.prose(finding.expected[: limits.prose], finding.actual[: limits.prose])
    runtime = ""
    if reading:
        runtime = (
            '<p class="rap-runtime"><b>What a restarted runtime would do now:</b> '
            f"{html_text(reading.partition(': ')[2] or reading)} "
            f"<small>(it reads the answer as {html_text(reading.partition(':')[0])})</small></p>"
        )
    return (
        '<div class="rap-beside"><div class="rap-expected"><h5>Expected</h5>'
        f"<p>{prose(finding.expected, limits.prose, expected)}</p></div>"
        '<div class="rap-actual"><h5>Actual</h5>'
        f"<p>{prose(finding.actual, limits.prose, actual)}</p></div></div>{runtime}"
        + (lifeline(finding.exchanges, "Time line") if limits.picture else "")
        + _exchanges(finding, limits)
        + _input(finding, result, limits)
        + (_copied("See it again", html_text(command, limits.command, lines=True)) if command else "")
    )


def _how(run: Run | None, result: Result) -> str:
    """What to do then: judge it again, or put up with it for a while."""
    steps = ""
    if run is not None:
        command = html_text(again(run, result.requirement.code), 1000)
        seed = f" <small>seed {run.seed}, profile {html_text(run.profile, 40)}</small>"
        steps += _copied(f"Judge it again{seed}", command)
    if result.verdict in {Verdict.FAIL, Verdict.WARN}:
        snippet = html_text("\n".join(waiver(finding) for finding in result.findings[:3]), None, lines=True)
        steps += (
            "<details><summary>How to put up with it for a while</summary>"
            f"<p>In a baseline file, given as <code>--baseline FILE</code>:</p>"
            f"{_copied('Baseline entry', snippet)}</details>"
        )
    return steps


def evidence(result: Result, run: Run | None = None, limits: Limits = LIMITS[0]) -> str:
    """What a requirement's row unfolds to."""
    requirement = result.requirement
    shown = result.findings[: limits.findings]
    findings = "".join(_finding(each, result, limits, each is shown[0]) for each in shown)
    findings += _left_out(len(result.findings) - limits.findings, "finding")
    how = _how(run, result) if result.findings else ""
    remedy = reason = ""
    if result.findings:
        remedy = f'<div class="rap-remedy"><h5>How to mend it</h5><p>{prose(requirement.remedy)}</p></div>'
    if result.reason and not (result.findings and result.verdict is not Verdict.KNOWN):
        reason = f"<p><b>{result.verdict}:</b> {prose(result.reason, limits.prose)}</p>"
    work = plural(result.exchanges, "exchange") + (
        f", {plural(result.examples, 'example')}" if result.examples else ""
    )
    binding = "derived MUST" if requirement.derived and requirement.level is Level.MUST else requirement.level
    return (
        f'<article lang="en" class="rap-evidence"><p class="rap-statement">{prose(requirement.statement)}</p>'
        f"<p><small>{binding} ({prose(requirement.basis)}) · {link(requirement.url, requirement.section)} · "
        f"{work} in {result.duration:,.2f} s</small></p><p>{prose(requirement.why)}</p>"
        f"{reason}{remedy}{findings}{how}{bullets(result.notes[:20], limits.prose)}</article>"
    )


def bullets(texts: Iterable[str], limit: int = 1500) -> str:
    """A list; nothing if there is nothing to list."""
    items = "".join(f"<li>{prose(each, limit)}</li>" for each in texts)
    return f"<ul>{items}</ul>" if items else ""


def card(run: Run, result: Result, *, limits: Limits = LIMITS[0], open_: bool = False) -> str:
    """The requirement's row and, folded below it, its evidence."""
    requirement, verdict = result.requirement, result.verdict
    said = result.reason or (result.findings[0].actual if result.findings else "")
    return (
        f'<details id="{requirement.code}" class="rap-card rap-v-{verdict}" data-verdict="{verdict}"'
        f' data-level="{requirement.level}"{" open" if open_ else ""}><summary>'
        f'<span class="rap-pill">{SIGNS[verdict]} {verdict}</span> <b>{requirement.code}</b> '
        f'<span class="rap-name">{html_text(requirement.name)}</span> '
        f'<span class="rap-level">{requirement.level}</span>'
        f'<span class="rap-said"> {prose(said, 180)}</span></summary>'
        f"{evidence(result, run, limits)}</details>"
    )


def _at_least(result: Result, limits: Limits) -> int:
    """Bytes that a card takes at the least: drawing one only to drop it is what takes time."""
    return sum(
        500 + min(len(exchange.request_body), limits.body) + min(len(exchange.response_body), limits.body)
        for finding in result.findings[: limits.findings]
        for exchange in finding.exchanges[: limits.exchanges]
    )


def cards(run: Run, results: Sequence[Result], size: int, opened: Result | None = None) -> dict[str, str]:
    """A card for each result by its code, together below `size` bytes as far as bare cards allow."""
    out: dict[str, str] = {}
    left = size
    for at, result in enumerate(results):
        share = left / (len(results) - at)
        drawn, took = "", 0
        for limits in LIMITS:
            if limits is not LIMITS[-1] and _at_least(result, limits) > share:
                continue
            drawn = card(run, result, limits=limits, open_=result is opened)
            took = len(drawn.encode("utf-8"))
            if took <= share:
                break
        out[result.requirement.code] = drawn
        left -= took
    return out
