"""report.html: what is put into the page that pytest-html makes.

pytest-html escapes neither extras nor cells, so every piece of text passes
through `safe.html_text` here. Nothing is loaded from anywhere. The hooks are
somebody else's; these functions give them text:

    pytest_configure (tryfirst)          config.option.css = [str(html.CSS_FILE)]
    pytest_html_report_title             keep the report (there is no run yet), fold what needs no attention:
                                         report.set_data("renderCollapsed", ["passed", "skipped", "xfailed"])
    pytest_html_results_table_header     cells[1:] = [*html.header_cells(), cells[2]]
    pytest_html_results_table_row        cells[1:] = [*html.row_cells(requirement, verdict), cells[2]]
    pytest_html_results_table_html       data.clear() for items whose evidence says it all
    pytest_html_results_summary          report.title = html.title(run); prefix.extend(html.prefix(run))
    extras of an item                    pytest_html.extras.html(html.evidence_html(result))

pytest-html's own result cell stays (the style sheet hides it): its filters and
its order read it. Cells hold no elements inside, or clicks would not unfold them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rap_conformance.catalogue import Level, Requirement
from rap_conformance.evidence import Exchange, Finding, Headers, Result, Run, Verdict
from rap_conformance.reporting.safe import html_text, text
from rap_conformance.reporting.view import (
    WORST_FIRST,
    by_area,
    counts,
    fingerprint,
    headline,
    liveness,
    musts,
    next_step,
    reproduce,
)

CSS_FILE = Path(__file__).with_name("report.css")
CSS = CSS_FILE.read_text("utf-8")
"""The style sheet: light and dark, for paper, for small screens."""

BODY_LIMIT = 4096
_PROSE_LIMIT = 1500
_EXCHANGES_SHOWN = 12
_FINDINGS_SHOWN = 10
_SIGNS = {
    Verdict.PASS: "✓",
    Verdict.FAIL: "✗",
    Verdict.WARN: "!",
    Verdict.ADVICE: "i",
    Verdict.KNOWN: "≈",
    Verdict.UNTESTED: "○",
    Verdict.NOT_APPLICABLE: "-",
    Verdict.ERROR: "?",
}


def _link(url: str, label: str) -> str:
    """A link, for http(s) only; anything else becomes plain text."""
    shown = html_text(label)
    if not url.startswith(("https://", "http://")):
        return shown
    return f'<a href="{html_text(url)}" rel="noreferrer">{shown}</a>'


def _list(texts: Iterable[str]) -> str:
    items = "".join(f"<li>{html_text(each, lines=True)}</li>" for each in texts)
    return f"<ul>{items}</ul>" if items else ""


def title(run: Run) -> str:
    """The page's title, as plain text; pytest-html escapes this one itself."""
    name = text(run.target.name or run.target.url, 120)
    return f"{str(run.verdict).replace('-', ' ').capitalize()}: {name}"


def _first(run: Run) -> str:
    advice, result = next_step(run)
    link = f' <a href="#{result.requirement.code}">Evidence</a>' if result else ""
    return f'<p class="rap-next">{html_text(advice)}{link}</p>'


def _head(run: Run) -> str:
    exercised, applicable = musts(run)
    cut = f" The run was cut short: {run.cut_short}." if run.cut_short else ""
    embedded = "<p>This is the suite's own embedded reference server.</p>" if run.target.embedded else ""
    return (
        f'<section lang="en" class="rap-head rap-is-{run.verdict}">'
        f'<p class="rap-verdict">{html_text(headline(run))}</p>{_first(run)}'
        f"<p>{exercised} of {applicable} MUSTs exercised.{html_text(cut)}</p>{embedded}</section>"
    )


def _chips(run: Run) -> str:
    chips = "".join(
        f'<li class="rap-v-{verdict}"><b>{number}</b> <span>{_SIGNS[verdict]} {verdict}</span></li>'
        for verdict, number in counts(run).items()
        if number
    )
    return f'<ul class="rap-counts">{chips}</ul>'


def _causes(run: Run) -> str:
    causes, notes = _list(run.causes), _list(run.notes)
    return (f"<h3>What explains many results at once</h3>{causes}" if causes else "") + (
        f"<h3>Notes</h3>{notes}" if notes else ""
    )


def _facts(run: Run) -> str:
    target = run.target
    facts = (
        ("Server", f"{target.name} {target.url}".strip()),
        ("Authentication", target.authentication),
        ("Tools", ", ".join(target.tools[:20]) + (" …" if len(target.tools) > 20 else "")),
        ("Specification", run.revision),
        ("Suite", f"rap-conformance {run.suite_version}, catalogue {run.catalogue}"),
        ("Run", f"{run.started}, {run.duration:,.1f} s, {run.requests:,} requests"),
        ("Repeat with", f"profile {run.profile}, seed {run.seed}"),
        *run.configuration,
    )
    rows = "".join(f"<dt>{html_text(k)}</dt><dd>{html_text(v, 500)}</dd>" for k, v in facts if v)
    return f'<details><summary>About this run</summary><dl class="rap-facts">{rows}</dl></details>'


def _tiles(run: Run) -> str:
    rows = []
    for name, results in by_area(run).items():
        tiles = "".join(
            f'<a href="#{r.requirement.code}" class="rap-tile rap-v-{r.verdict}"'
            f' title="{html_text(f"{r.requirement.name}: {r.verdict}")}">'
            f"{_SIGNS[r.verdict]} {r.requirement.code}</a>"
            for r in results
        )
        rows.append(f"<dt>{html_text(name)}</dt><dd>{tiles}</dd>")
    return f'<dl class="rap-tiles">{"".join(rows)}</dl>'


def _coverage(run: Run) -> str:
    rows = "".join(
        f'<tr><td><a href="#{r.requirement.code}">{r.requirement.code}</a></td>'
        f"<td>{html_text(r.requirement.name)}</td><td>{r.requirement.level}</td>"
        f'<td class="rap-v-{r.verdict}">{_SIGNS[r.verdict]} {r.verdict}</td>'
        f"<td>{html_text(_reason(r), 500)}</td></tr>"
        for results in by_area(run).values()
        for r in results
    )
    heads = "".join(f"<th>{head}</th>" for head in ("Code", "Name", "Level", "Verdict", "Reason"))
    return (
        "<details><summary>Every requirement, its verdict and the reason</summary>"
        f'<table class="rap-coverage"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></details>'
    )


def _reason(result: Result) -> str:
    return result.reason or (result.findings[0].actual if result.findings else "")


def prefix(run: Run) -> list[str]:
    """What comes first on the page: verdict, what to do, counts, causes, coverage."""
    return [
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        _head(run),
        _chips(run),
        _causes(run),
        f"<h3>Coverage</h3>{_tiles(run)}",
        _coverage(run),
        _facts(run),
    ]


def header_cells() -> list[str]:
    """Heads of our columns; they take the place of pytest-html's test id."""
    heads = (("verdict", "Verdict"), ("testId", "Code"), ("name", "Requirement"), ("level", "Level"))
    return [f'<th class="sortable" data-column-type="{key}">{head}</th>' for key, head in heads]


def row_cells(requirement: Requirement | None, verdict: Verdict | None, label: str = "") -> list[str]:
    """The cells under `header_cells`; `label` names an item that judges no requirement."""
    code, name, level = "", html_text(label, 200), ""
    if requirement is not None:
        code, name, level = requirement.code, html_text(requirement.name), str(requirement.level)
    rank = "" if verdict is None else f"<!--{WORST_FIRST.index(verdict)}-->{_SIGNS[verdict]} {verdict}"
    mark = f" rap-v-{verdict}" if verdict else ""
    return [
        f'<td class="col-verdict{mark}">{rank}</td>',
        f'<td class="col-testId">{code}</td>',
        f'<td class="col-name">{name}</td>',
        f'<td class="col-level">{level}</td>',
    ]


def _message(head: str, start: str, headers: Headers, body: bytes, truncated: bool = False) -> str:
    fields = "\n".join(f"{html_text(k, 100)}: {html_text(v, 300)}" for k, v in headers[:40])
    cut = len(body) > BODY_LIMIT or truncated
    size = f" <small>{len(body):,} bytes{', cut' if cut else ''}</small>"
    content = f"\n\n<b>{html_text(body[:BODY_LIMIT], None, lines=True)}</b>" if body else ""
    return f"<div><h5>{head}{size}</h5><pre>{html_text(start, 500)}\n{fields}{content}</pre></div>"


def _exchange(exchange: Exchange) -> str:
    sent, received = ("Received", "Answered") if exchange.inbound else ("Sent", "Received")
    request = _message(
        sent, f"{exchange.method} {exchange.url}", exchange.request_headers, exchange.request_body
    )
    answer = ""
    if exchange.status is not None:
        answer = _message(
            f"{received} after {exchange.elapsed * 1000:,.0f} ms",
            str(exchange.status),
            exchange.response_headers,
            exchange.response_body,
            exchange.truncated,
        )
    if exchange.failure is not None:
        detail = f" ({html_text(exchange.detail, 300)})" if exchange.detail else ""
        after = f"after {exchange.elapsed:,.1f} s"
        answer += f"<div><h5>No whole answer</h5><p>{exchange.failure}{detail}, {after}</p></div>"
    return f'<div class="rap-beside rap-exchange">{request}{answer}</div>'


def _finding(finding: Finding) -> str:
    reading, command = liveness(finding), reproduce(finding)
    exchanges = "".join(_exchange(exchange) for exchange in finding.exchanges[:_EXCHANGES_SHOWN])
    if (more := len(finding.exchanges) - _EXCHANGES_SHOWN) > 0:
        exchanges += f"<p>{more} more exchanges are in report.json.</p>"
    return (
        f'<section class="rap-finding"><h4>{html_text(finding.case, 300)} <small>{finding.level}, '
        f"case {fingerprint(finding)}</small></h4>"
        '<div class="rap-beside"><div class="rap-expected"><h5>Expected</h5>'
        f"<p>{html_text(finding.expected, _PROSE_LIMIT, lines=True)}</p></div>"
        '<div class="rap-actual"><h5>Actual</h5>'
        f"<p>{html_text(finding.actual, _PROSE_LIMIT, lines=True)}</p></div></div>"
        f"{exchanges}"
        + (f"<p><b>How a runtime reads it:</b> {html_text(reading)}</p>" if reading else "")
        + (f"<h5>See it again</h5><pre>{html_text(command, 20_000, lines=True)}</pre>" if command else "")
        + "</section>"
    )


def evidence_html(result: Result) -> str:
    """What an item of the results table unfolds to."""
    requirement = result.requirement
    findings = "".join(_finding(finding) for finding in result.findings[:_FINDINGS_SHOWN])
    if (more := len(result.findings) - _FINDINGS_SHOWN) > 0:
        findings += f"<p>{more} more findings are in report.json.</p>"
    if result.findings:
        findings += f'<p class="rap-remedy"><b>How to mend it:</b> {html_text(requirement.remedy)}</p>'
    reason = html_text(result.reason, lines=True)
    reason = f"<p><b>{result.verdict}:</b> {reason}</p>" if reason else ""
    work = f"{result.exchanges:,} exchanges" + (f", {result.examples:,} examples" if result.examples else "")
    binding = "derived MUST" if requirement.derived and requirement.level is Level.MUST else requirement.level
    return (
        '<article lang="en" class="rap-evidence">'
        f'<p class="rap-statement">{html_text(requirement.statement)}</p>'
        f"<p><small>{binding} ({html_text(requirement.basis)}) · "
        f"{_link(requirement.url, requirement.section)} · {work} in {result.duration:,.2f} s</small></p>"
        f"<p>{html_text(requirement.why)}</p>{reason}{findings}{_list(result.notes)}</article>"
    )
