"""report.html: what is put into the page that pytest-html makes.

pytest-html escapes neither extras nor cells, so every piece of text passes
through `safe` here. Nothing is loaded from anywhere. The hooks are somebody
else's; these functions give them text:

    pytest_configure (tryfirst)          config.option.css = [str(html.CSS_FILE)]
    pytest_html_report_title             keep the report (there is no run yet), fold what needs no attention:
                                         report.set_data("renderCollapsed", ["passed", "skipped", "xfailed"])
    pytest_html_results_table_header     cells[1:] = [*html.header_cells(), cells[2]]
    pytest_html_results_table_row        cells[1:] = [*html.row_cells(requirement, verdict), cells[2]]
    pytest_html_results_table_html       data.clear() for items whose evidence says it all
    pytest_html_results_summary          report.title = html.title(run); prefix.extend(html.prefix(run))
    extras of an item                    pytest_html.extras.html(html.evidence_html(result))

All that a reader needs stands in the prefix: verdict, coverage, pictures, requirements with their evidence.
It works without script; report.js adds the filters. pytest-html's own table is what pytest saw: it is moved
to the end of the page, and its rows lead to the evidence. Cells hold no elements inside, or clicks would not
unfold them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.requirement import Level, Requirement
from rap_conformance.engine.run import Result, Run
from rap_conformance.engine.safe import html_text, text
from rap_conformance.reporting.card import bullets, cards, prose
from rap_conformance.reporting.pictures import histogram, lifeline
from rap_conformance.reporting.view import (
    SIGNS,
    WORST_FIRST,
    by_area,
    by_reason,
    counts,
    headline,
    musts,
    next_step,
    of,
    plural,
)

CSS_FILE = Path(__file__).with_name("report.css")
CSS = CSS_FILE.read_text("utf-8")
"""The style sheet: light and dark, for paper, for small screens."""

CARDS_SIZE = 2_400_000
"""Bytes that all requirements' evidence may take together, so that the page opens at once."""
_CODES_SHOWN = 40


@cache
def script() -> str:
    """What filters, opens and copies; never sees text but what is on the page."""
    return CSS_FILE.with_name("report.js").read_text("utf-8")


def title(run: Run) -> str:
    """The page's title, as plain text; pytest-html escapes this one itself."""
    name = text(run.target.name or run.target.url, 120)
    return f"{run.protocol} conformance of {name}: {str(run.verdict).replace('-', ' ')}"


def page(run: Run) -> str:
    """The whole page by itself, for runs that pytest-html takes no part in."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html_text(title(run))}</title><style>{CSS}</style></head>"
        f'<body><h1>{html_text(title(run))}</h1><div class="summary">{"".join(prefix(run))}</div>'
        "</body></html>\n"
    )


def _code(code: str) -> str:
    return f'<a href="#{html_text(code)}">{html_text(code)}</a>'


def _head(run: Run) -> str:
    advice, result = next_step(run)
    evidence = f" {_code(result.requirement.code)}" if result else ""
    link = f" See{evidence}." if evidence else ""
    advice = advice if advice.endswith((".", "!", "?")) else f"{advice}."
    cut = f"<p><b>Cut short:</b> {prose(run.cut_short, 500)}.</p>" if run.cut_short else ""
    role = run.target.role
    own = f"<p>This is the suite's own embedded reference {role}, not a {role} of yours.</p>"
    embedded = own if run.target.embedded else ""
    return (
        f'<section class="rap-head rap-is-{run.verdict}" aria-label="Verdict">'
        f'<p class="rap-verdict">{prose(headline(run), 500)}</p>'
        f'<p class="rap-next"><span aria-hidden="true">→</span> {prose(advice, 1000)}{link}</p>'
        f"{_bar(run)}{cut}{embedded}</section>"
    )


def _bar(run: Run) -> str:
    """How the MUSTs stand, as a bar and in words."""
    exercised, applicable = musts(run)
    binding = [r for r in run.results if r.requirement.level is Level.MUST]
    parts = [(v, sum(r.verdict is v for r in binding)) for v in reversed(WORST_FIRST)]
    bar = "".join(
        f'<span class="rap-v-{verdict}" style="flex-grow:{number}"></span>'
        for verdict, number in parts
        if number
    )
    words = " · ".join(f"{SIGNS[verdict]} {number} {verdict}" for verdict, number in parts if number)
    return (
        f'<div class="rap-bar-of-musts" aria-hidden="true">{bar}</div>'
        f"<p><b>{exercised} of {plural(applicable, 'applicable MUST')} exercised.</b>"
        f' <span class="rap-soft">All MUSTs: {words or "none"}.</span></p>'
    )


def _causes(run: Run) -> str:
    out = []
    for head, texts in (
        ("What explains many results at once", run.causes),
        ("Baseline entries that no longer hold", run.stale),
        ("Notes", run.notes),
    ):
        if items := bullets(texts[:50]):
            out.append(f"<h3>{head}</h3>{items}")
    return f'<section aria-label="Causes and notes">{"".join(out)}</section>' if out else ""


def _known(run: Run) -> str:
    if not run.known:
        return ""
    rows = []
    for entry in run.known[:200]:
        case = html_text(f" case {entry.case}" if entry.case else "", 80)
        until = html_text(f" (until {entry.expires})" if entry.expires else "", 60)
        rows.append(f"<li>{_code(entry.requirement)}{case}: {prose(entry.reason, 500)}{until}</li>")
    return f"<div><h3>Known failures in the baseline</h3><ul>{''.join(rows)}</ul></div>"


def _reasons(head: str, results: tuple[Result, ...]) -> str:
    """Requirements that share a verdict, by reason: what to configure is said once."""
    if not results:
        return ""
    rows = []
    for reason, codes in by_reason(results).items():
        more = f" and {len(codes) - _CODES_SHOWN} more" if len(codes) > _CODES_SHOWN else ""
        shown = " ".join(_code(code) for code in codes[:_CODES_SHOWN])
        rows.append(f"<li>{prose(reason, 500)}<br>{shown}{more}</li>")
    return f"<div><h3>{head}</h3><ul>{''.join(rows[:60])}</ul></div>"


def _tiles(run: Run) -> str:
    rows = []
    for name, results in by_area(run).items():
        tiles = "".join(
            f'<li><a href="#{r.requirement.code}" class="rap-tile rap-v-{r.verdict}"'
            f' title="{html_text(f"{r.requirement.name}: {r.verdict}")}">'
            f'<span aria-hidden="true">{SIGNS[r.verdict]}</span> {r.requirement.code}'
            f'<span class="rap-hide"> {html_text(r.requirement.name)}: {r.verdict}</span></a></li>'
            for r in results
        )
        rows.append(f"<dt>{html_text(name)}</dt><dd><ul>{tiles}</ul></dd>")
    legend = " · ".join(f"{SIGNS[v]} {v}" for v, number in counts(run).items() if number)
    return f'<dl class="rap-tiles">{"".join(rows)}</dl><p class="rap-soft">{legend}</p>'


def _coverage(run: Run) -> str:
    return (
        '<section aria-label="Coverage"><h2>Coverage</h2>'
        f'{_tiles(run)}<div class="rap-columns">{_reasons("Not judged: error", of(run, Verdict.ERROR))}'
        f"{_reasons('Untested, and what to do about it', of(run, Verdict.UNTESTED))}"
        f"{_reasons('Not applicable', of(run, Verdict.NOT_APPLICABLE))}{_known(run)}</div></section>"
    )


def _pictures(run: Run) -> str:
    drawn = lifeline(run.life, "The life of one call") + histogram(run.latencies)
    if not drawn:
        return ""
    pictures = f'<div class="rap-pictures">{drawn}</div>'
    return f'<section aria-label="Pictures"><h2>As seen on the wire</h2>{pictures}</section>'


def _filter(run: Run) -> str:
    verdicts = "".join(
        f'<label class="rap-v-{v}"><input type="checkbox" name="verdict" value="{v}">'
        f" {SIGNS[v]} {v} <b>{number}</b></label>"
        for v, number in counts(run).items()
        if number
    )
    levels = "".join(
        f'<label><input type="checkbox" name="level" value="{level}"> {level} <b>{number}</b></label>'
        for level in Level
        if (number := sum(r.requirement.level is level for r in run.results))
    )
    total = len(run.results)
    return (
        '<form id="rap-filter" class="rap-filter" role="search" aria-label="Filter requirements" hidden>'
        f'<fieldset><legend class="rap-hide">Verdict</legend>{verdicts}</fieldset>'
        f'<fieldset><legend class="rap-hide">Level</legend>{levels}</fieldset>'
        '<label class="rap-text">Text <input type="search" name="text" autocomplete="off"></label>'
        '<p><button type="reset">Show all</button> <button type="button" name="open">Open shown</button>'
        ' <button type="button" name="close">Close</button>'
        f" <output>{total} of {total} shown</output></p></form>"
    )


def _worst(results: Iterable[Result]) -> int:
    return min(WORST_FIRST.index(result.verdict) for result in results)


def _requirements(run: Run) -> str:
    areas = sorted(by_area(run).items(), key=lambda item: _worst(item[1]))
    for _, results in areas:
        results.sort(key=lambda r: (WORST_FIRST.index(r.verdict), r.requirement.code))
    drawn = cards(run, [r for _, results in areas for r in results], CARDS_SIZE, next_step(run)[1])
    out = []
    for name, results in areas:
        inside = "".join(drawn[r.requirement.code] for r in results)
        out.append(f'<div class="rap-area"><h3>{html_text(name)}</h3>{inside}</div>')
    return (
        '<section id="rap-requirements" aria-label="Requirements" tabindex="-1">'
        f"<h2>Requirements, failures first</h2>{_filter(run)}{''.join(out)}"
        '<p class="rap-nothing" hidden>No requirement is like that.</p></section>'
    )


def _facts(run: Run) -> str:
    target = run.target
    tools = [text(tool, 80) for tool in target.tools[:20]]
    facts = (
        (target.role.capitalize(), f"{target.name} {target.url}".strip()),
        ("Started with", target.command),
        ("Authentication", target.authentication),
        ("Tools", ", ".join(tools) + (" …" if len(target.tools) > 20 else "")),
        ("Specification", run.revision),
        ("Suite", f"rap-conformance {run.suite_version}"),
        ("Catalogue", f"{run.catalogue} {run.catalogue_digest[:12]}".strip()),
        ("Run", f"{run.started}, {run.duration:,.1f} s, {run.requests:,} requests"),
        ("Judged", f"{run.executed} of {run.planned} planned requirements"),
        ("Selection", " ".join(run.selected[:40])),
        ("Repeat with", f"profile {run.profile}, seed {run.seed}"),
        *run.configuration[:200],
    )
    rows = "".join(f"<dt>{html_text(k, 200)}</dt><dd>{html_text(v, 500)}</dd>" for k, v in facts if v)
    facts_list = f'<dl class="rap-facts">{rows}</dl>'
    return f'<details class="rap-about"><summary>About this run</summary>{facts_list}</details>'


def prefix(run: Run) -> list[str]:
    """The page itself: verdict, what to do, causes, coverage, pictures, requirements, facts, script."""
    return [
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<a class="rap-skip" href="#rap-requirements">To the requirements</a>',
        '<main lang="en">',
        _head(run),
        _causes(run),
        _coverage(run),
        _pictures(run),
        _requirements(run),
        _facts(run),
        "</main>",
        f"<script>\n{script()}</script>",
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
    rank = "" if verdict is None else f"<!--{WORST_FIRST.index(verdict)}-->{SIGNS[verdict]} {verdict}"
    mark = f" rap-v-{verdict}" if verdict else ""
    return [
        f'<td class="col-verdict{mark}">{rank}</td>',
        f'<td class="col-testId">{code}</td>',
        f'<td class="col-name">{name}</td>',
        f'<td class="col-level">{level}</td>',
    ]


def evidence_html(result: Result) -> str:
    """What an item of pytest's own table unfolds to: the way to the evidence, which stands above it once."""
    return f"<p>Evidence: {_code(result.requirement.code)} {html_text(result.requirement.name)}</p>"
