"""One requirement on the page: what is asked, what was there, how to mend, repeat and waive it.

What is shown is chosen here, the drawing is in templates/card.jinja. A card is drawn as fully as its share of
the page allows; what it leaves out it says, and report.json has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from rap_conformance.engine.evidence import Exchange, Finding, Headers, Verdict
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.run import Result, Run
from rap_conformance.engine.safe import html_text
from rap_conformance.reporting import marks
from rap_conformance.reporting.markup import marked, prose, render
from rap_conformance.reporting.pictures import lifeline
from rap_conformance.reporting.steps import reproduce
from rap_conformance.reporting.view import (
    again,
    is_smallest,
    key_exchange,
    liveness,
    plural,
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
    Limits(12, 12, marks.LIMIT, 1500, 40, 20_000),
    Limits(8, 4, 1024, 600, 16, 3000),
    Limits(4, 1, 256, 300, 8, 1200),
    Limits(1, 0, 0, 160, 0, 0, picture=False),
)
"""From generous to bare; even hostile text keeps a card of the last kind below 20 KB."""


@dataclass(frozen=True, slots=True)
class Message:
    """A request or an answer, as far as it is shown."""

    head: str
    when: str
    size: str
    fields: Markup
    body: Markup


@dataclass(frozen=True, slots=True)
class ShownExchange:
    """An exchange, as far as it is shown; `after` is how long it took to fail."""

    number: int
    request: Message
    answer: Message | None
    failure: str
    detail: str
    after: str


@dataclass(frozen=True, slots=True)
class Exchanges:
    """Those to see at once, those that are folded, and how many are left out."""

    first: tuple[ShownExchange, ...] = ()
    rest: tuple[ShownExchange, ...] = ()
    left: int = 0


@dataclass(frozen=True, slots=True)
class Departure:
    """A finding, as far as it is shown. `reading` is how a runtime reads the answer, `then` what it does."""

    case: Markup
    level: Level
    fingerprint: str
    expected: Markup
    actual: Markup
    reading: str
    then: str
    depends: Markup
    picture: Markup
    exchanges: Exchanges
    input: Markup
    command: str


def _link(url: str, label: str) -> Markup:
    """A link, for http(s) only; anything else becomes plain text."""
    if not url.startswith(("https://", "http://")):
        return html_text(label)
    return Markup('<a href="{}" rel="noreferrer">{}</a>').format(html_text(url), html_text(label))


def _body(data: bytes, limit: int, spans: marks.Spans) -> Markup:
    return Markup().join(
        marked(piece, mark=mark, limit=None, lines=True) for piece, mark in marks.pieces(data[:limit], spans)
    )


def _message(
    head: str,
    when: str,
    lines: Sequence[Markup],
    headers: Headers,
    body: bytes,
    limits: Limits,
    *,
    truncated: bool = False,
    spans: marks.Spans = (),
    odd: frozenset[str] = frozenset(),
) -> Message:
    """A message; `odd` are the names of headers to mark."""
    rows = list(lines)
    for name, value in headers[: limits.headers]:
        row = Markup("{}: {}").format(html_text(name, 100), html_text(value, 300))
        rows.append(marked(row, mark=name.lower() in odd))
    if (more := len(headers) - limits.headers) > 0:
        rows.append(html_text(f"… {more} more"))
    cut = f", the first {limits.body:,} shown" if len(body) > limits.body else ""
    size = f"{len(body):,} bytes{cut or (', cut' if truncated else '')}"
    return Message(head, when, size, Markup("\n").join(rows), _body(body, limits.body, spans))


def _exchange(number: int, exchange: Exchange, mark: marks.Marks, limits: Limits) -> ShownExchange:
    sent, received = ("The server sent", "The suite answered") if exchange.inbound else ("Sent", "Received")
    request = _message(
        sent,
        f"at {exchange.started:,.2f} s",
        [html_text(f"{exchange.method} {exchange.url}", 500)],
        exchange.request_headers,
        exchange.request_body,
        limits,
        spans=mark.request,
    )
    answer = None
    if exchange.status is not None:
        answer = _message(
            received,
            f"after {exchange.elapsed * 1000:,.0f} ms",
            [Markup("status {}").format(marked(exchange.status, mark=mark.status))],
            exchange.response_headers,
            exchange.response_body,
            limits,
            truncated=exchange.truncated,
            spans=mark.response,
            odd=mark.headers,
        )
    detail = Markup(" ({})").format(html_text(exchange.detail, 300)) if exchange.detail else ""
    return ShownExchange(
        number, request, answer, str(exchange.failure or ""), detail, f"after {exchange.elapsed:,.1f} s"
    )


def _exchanges(finding: Finding, limits: Limits) -> Exchanges:
    kept = finding.exchanges
    if not kept or not limits.exchanges:
        return Exchanges(left=len(kept))
    shown = list(range(len(kept)))[: limits.exchanges]
    seen = replace(finding, exchanges=tuple(kept[n] for n in shown))
    mark = dict(zip(shown, marks.differences(seen), strict=True))
    other = [n for n in shown[1:] if mark[n] != marks.Marks()][:1] if len(shown) > 2 else shown
    items = {n: _exchange(n + 1, kept[n], mark[n], limits) for n in shown}
    return Exchanges(
        tuple(item for n, item in items.items() if n == 0 or n in other),
        tuple(item for n, item in items.items() if n != 0 and n not in other),
        len(kept) - len(items),
    )


def _input(finding: Finding, limits: Limits) -> Markup:
    """The smallest input that was found, if the finding holds one."""
    exchange = key_exchange(finding)
    if exchange is None or not is_smallest(finding) or not exchange.request_body or not limits.body:
        return Markup()
    size = len(exchange.request_body)
    shown = html_text(exchange.request_body[: limits.body], None, lines=True)
    return shown + (f"\n… {size:,} bytes in all" if size > limits.body else "")


def _departure(finding: Finding, limits: Limits) -> Departure:
    reading, _, then = liveness(finding).partition(": ")
    expected, actual = marks.prose(finding.expected[: limits.prose], finding.actual[: limits.prose])
    return Departure(
        case=html_text(finding.case, min(limits.prose, 300)),
        level=finding.level,
        fingerprint=finding.fingerprint,
        expected=prose(finding.expected, limits.prose, expected),
        actual=prose(finding.actual, limits.prose, actual),
        reading=reading,
        then=then or reading,
        depends=prose(finding.depends, limits.prose),
        picture=lifeline(finding.exchanges, "Time line") if limits.picture else Markup(),
        exchanges=_exchanges(finding, limits),
        input=_input(finding, limits),
        command=reproduce(finding) if limits.command else "",
    )


def card(run: Run, result: Result, *, limits: Limits = LIMITS[0], open_: bool = False) -> Markup:
    """The requirement's row and, folded below it, its evidence."""
    requirement, verdict = result.requirement, result.verdict
    waived = result.findings[:3] if verdict in {Verdict.FAIL, Verdict.WARN} else ()
    work = plural(result.exchanges, "exchange") + (
        f", {plural(result.examples, 'example')}" if result.examples else ""
    )
    said_below = result.findings and verdict is not Verdict.KNOWN
    derived = requirement.derived and requirement.level is Level.MUST
    return render(
        "card",
        result=result,
        limits=limits,
        opened=open_,
        said=result.reason or (result.findings[0].actual if result.findings else ""),
        binding="derived MUST" if derived else requirement.level,
        section=_link(requirement.url, requirement.section),
        work=f"{work} in {result.duration:,.2f} s",
        reason="" if said_below else result.reason,
        findings=[_departure(each, limits) for each in result.findings[: limits.findings]],
        again=again(run, requirement.code),
        repeated=f"seed {run.seed}, profile {run.profile}",
        waivers="\n".join(waiver(finding) for finding in waived),
    )


def _at_least(result: Result, limits: Limits) -> int:
    """Bytes that a card takes at the least: drawing one only to drop it is what takes time."""
    return sum(
        500 + min(len(exchange.request_body), limits.body) + min(len(exchange.response_body), limits.body)
        for finding in result.findings[: limits.findings]
        for exchange in finding.exchanges[: limits.exchanges]
    )


def cards(run: Run, results: Sequence[Result], size: int, opened: Result | None = None) -> dict[str, Markup]:
    """A card for each result by its code, together below `size` bytes as far as bare cards allow."""
    out: dict[str, Markup] = {}
    left = size
    for at, result in enumerate(results):
        share = left / (len(results) - at)
        drawn, took = Markup(), 0
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
