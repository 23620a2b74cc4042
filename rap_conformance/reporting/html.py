"""report.html: what is put into the page that pytest-html makes.

pytest-html escapes neither extras nor cells, so it is given nothing but markup (see markup.py). Nothing is
loaded from anywhere. The hooks are somebody else's (page.py); these functions give them markup.

All that a reader needs stands in the prefix: verdict, coverage, pictures, requirements with their evidence.
It works without script; report.js adds the filters. pytest-html's own table is what pytest saw: it is moved
to the end of the page, and its rows lead to the evidence. Cells hold no elements inside, or clicks would not
unfold them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from markupsafe import Markup

from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.requirement import Level, Requirement
from rap_conformance.engine.run import Result, Run
from rap_conformance.engine.safe import html_text, text
from rap_conformance.reporting.card import cards
from rap_conformance.reporting.markup import asset, render
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
    opens,
)

CSS_FILE = Path(__file__).with_name("report.css")
"""The style sheet: light and dark, for paper, for small screens."""

CARDS_SIZE = 2_400_000
"""Bytes that all requirements' evidence may take together, so that the page opens at once."""


@cache
def script() -> Markup:
    """What filters, opens and copies; never sees text but what is on the page."""
    return asset("report.js")


def title(run: Run) -> str:
    """The page's title, as plain text; pytest-html escapes this one itself."""
    name = text(run.target.name or run.target.url, 120)
    return f"{run.protocol} conformance of {name}: {str(run.verdict).replace('-', ' ')}"


def _facts(run: Run) -> tuple[tuple[str, str], ...]:
    target = run.target
    tools = [text(tool, 80) for tool in target.tools[:20]]
    return (
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


def _worst(results: Iterable[Result]) -> int:
    return min(WORST_FIRST.index(result.verdict) for result in results)


def _cards(run: Run, opened: Result | None) -> list[tuple[str, list[Markup]]]:
    """The cards of each area, failures first."""
    areas = sorted(by_area(run).items(), key=lambda item: _worst(item[1]))
    for _, results in areas:
        results.sort(key=lambda r: (WORST_FIRST.index(r.verdict), r.requirement.code))
    drawn = cards(run, [r for _, results in areas for r in results], CARDS_SIZE, opened)
    return [(name, [drawn[r.requirement.code] for r in results]) for name, results in areas]


def prefix(run: Run) -> list[Markup]:
    """The page itself: verdict, what to do, causes, coverage, pictures, requirements, facts, script."""
    advice, begin = next_step(run)
    exercised, applicable = musts(run)
    binding = [r for r in run.results if r.requirement.level is Level.MUST]
    bar = [(v, sum(r.verdict is v for r in binding)) for v in reversed(WORST_FIRST)]
    levels = [(level, sum(r.requirement.level is level for r in run.results)) for level in Level]
    page = render(
        "page",
        run=run,
        headline=headline(run),
        advice=advice if advice.endswith((".", "!", "?")) else f"{advice}.",
        begin=begin,
        exercised=exercised,
        applicable=applicable,
        bar=[(verdict, number) for verdict, number in bar if number],
        areas=by_area(run),
        verdicts=[(verdict, number) for verdict, number in counts(run).items() if number],
        levels=[(level, number) for level, number in levels if number],
        errors=by_reason(of(run, Verdict.ERROR)),
        untested=by_reason(of(run, Verdict.UNTESTED)),
        openings=[(opens(each), each) for each in run.openings],
        not_applicable=by_reason(of(run, Verdict.NOT_APPLICABLE)),
        pictures=lifeline(run.life, "The life of one call") + histogram(run.latencies),
        cards=_cards(run, begin),
        failing=of(run, Verdict.FAIL) + of(run, Verdict.ERROR),
        facts=_facts(run),
        script=script(),
    )
    return [page]


def header_cells() -> list[Markup]:
    """Heads of our columns; they take the place of pytest-html's test id."""
    heads = (("verdict", "Verdict"), ("testId", "Code"), ("name", "Requirement"), ("level", "Level"))
    cell = Markup('<th class="sortable" data-column-type="{}">{}</th>')
    return [cell.format(key, head) for key, head in heads]


def row_cells(requirement: Requirement | None, verdict: Verdict | None, label: str = "") -> list[Markup]:
    """The cells under `header_cells`; `label` names an item that judges no requirement."""
    asked = (
        ("", label, "") if requirement is None else (requirement.code, requirement.name, requirement.level)
    )
    rank = Markup()
    if verdict is not None:
        # pytest-html sorts by what stands in a cell; the comment puts the worst first.
        rank = Markup("<!--{}-->{} {}").format(WORST_FIRST.index(verdict), SIGNS[verdict], verdict)
    cell = Markup('<td class="col-{}">{}</td>')
    return [
        cell.format(f"verdict rap-v-{verdict}" if verdict else "verdict", rank),
        *(
            cell.format(name, html_text(shown, 200))
            for name, shown in zip(("testId", "name", "level"), asked, strict=True)
        ),
    ]


def evidence_html(result: Result) -> Markup:
    """What an item of pytest's own table unfolds to: the way to the evidence, which stands above it once."""
    code, name = result.requirement.code, html_text(result.requirement.name)
    return Markup('<p>Evidence: <a href="#{}">{}</a> {}</p>').format(code, code, name)
