"""summary.md: the run for a pull request or a job's summary page, in GitHub's Markdown.

Prose from anywhere is escaped, code stands in fences that it cannot close. The whole stays below what a
comment may hold (65,536 characters): what does not fit is counted.
"""

from __future__ import annotations

import re

from rap_conformance.engine.evidence import Exchange, Finding, Verdict
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.run import Result, Run
from rap_conformance.engine.safe import html_text, markdown_text, text
from rap_conformance.reporting.steps import reproduce
from rap_conformance.reporting.view import (
    SIGNS,
    again,
    by_reason,
    counted,
    headline,
    key_exchange,
    liveness,
    musts,
    next_step,
    of,
    plural,
    waiver,
)

LIMIT = 60_000
"""Characters at most."""
_SPAN = re.compile(r"`([^`]*)`")
_FINDINGS_SHOWN = 3
_BODY = 1000
_COMMAND = 2500
_CODES_SHOWN = 40


def prose(value: str, limit: int = 1000) -> str:
    """Text on one line; what stands in backticks stays code."""
    cut = text(value, limit)
    out = []
    for at, part in enumerate(_SPAN.split(cut)):
        if at % 2 == 0:
            out.append(markdown_text(part, None))
        elif part.strip():
            out.append("`" + part.replace("|", "\\|") + "`")
    return "".join(out)


def fenced(content: str, language: str = "") -> str:
    """A block of code that its content cannot end."""
    longest = max((len(run) for run in re.findall(r"`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{content}\n{fence}"


def _wire(exchange: Exchange) -> str:
    lines = [text(f"{exchange.method} {exchange.url}", 300)]
    if exchange.request_body:
        lines.append(text(exchange.request_body[:_BODY], None, lines=True))
    lines.append("")
    if exchange.status is not None:
        lines.append(f"{exchange.status} {text(exchange.header('content-type') or '', 100)}".strip())
    if exchange.response_body:
        lines.append(text(exchange.response_body[:_BODY], None, lines=True))
    if exchange.failure is not None:
        lines.append(str(exchange.failure))
    return "\n".join(lines)


def _finding(finding: Finding, whole: bool) -> list[str]:
    parts = [
        f"**{prose(finding.case, 300)}**",
        f"- expected: {prose(finding.expected)}\n- actual: {prose(finding.actual)}"
        + (f"\n- runtime: {prose(reading)}" if (reading := liveness(finding)) else "")
        + (f"\n- it depends on {prose(finding.depends)}" if finding.depends else ""),
    ]
    exchange, command = key_exchange(finding), reproduce(finding)
    if not whole:
        return parts
    if exchange is not None:
        parts.append(fenced(_wire(exchange), "http"))
    if command and len(command) <= _COMMAND:
        parts.append(fenced(text(command, None, lines=True), "sh"))
    return parts


def _failure(run: Run, result: Result) -> str:
    """A folded block: what is asked, what was there, how to mend and how to repeat it."""
    requirement = result.requirement
    # Between HTML tags Markdown's escapes would be seen.
    name = f"{SIGNS[result.verdict]} {requirement.code} {requirement.name}: {requirement.level}"
    parts = [
        f"<details><summary>{html_text(name)}</summary>",
        f"{prose(requirement.statement)} [Specification]({requirement.url})",
    ]
    for at, finding in enumerate(result.findings[:_FINDINGS_SHOWN]):
        parts += _finding(finding, whole=at == 0)
    if (more := len(result.findings) - _FINDINGS_SHOWN) > 0:
        parts.append(f"{plural(more, 'more finding')} in report.json.")
    if not result.findings:
        parts.append(prose(result.reason))
    parts += [
        f"**How to mend it:** {prose(requirement.remedy)}",
        fenced(text(again(run, requirement.code)), "sh"),
    ]
    if result.findings and result.verdict is Verdict.FAIL:
        parts += [
            "To put up with it for a while, in a baseline file:",
            fenced(waiver(result.findings[0]), "toml"),
        ]
    return "\n\n".join([*parts, "</details>"])


def _grouped(head: str, results: tuple[Result, ...]) -> list[str]:
    if not results:
        return []
    lines = []
    for reason, codes in list(by_reason(results).items())[:30]:
        more = f" and {len(codes) - _CODES_SHOWN} more" if len(codes) > _CODES_SHOWN else ""
        lines.append(f"- {prose(reason, 500)}: {' '.join(codes[:_CODES_SHOWN])}{more}")
    return [f"### {head}", "\n".join(lines)]


def _table(run: Run) -> str:
    rows = ["| | MUST | SHOULD | ADVICE |", "|---|---:|---:|---:|"]
    for verdict in SIGNS:
        found = of(run, verdict)
        if found:
            numbers = (str(sum(r.requirement.level is level for r in found)) for level in Level)
            rows.append(f"| {SIGNS[verdict]} {verdict} | {' | '.join(numbers)} |")
    return "\n".join(rows)


def _facts(run: Run) -> str:
    embedded = f" (the suite's own embedded reference {run.target.role})" if run.target.embedded else ""
    selected = f" Only a selection ran: {prose(' '.join(run.selected), 300)}." if run.selected else ""
    return (
        f"<sub>{prose(run.target.name, 120)} {prose(run.target.url, 300)}{embedded}, revision "
        f"{prose(run.revision, 60)}, rap-conformance {prose(run.suite_version, 40)}, catalogue "
        f"{prose(run.catalogue, 40)}, profile {prose(run.profile, 40)}, seed {run.seed}, "
        f"{plural(run.requests, 'request')} in {run.duration:,.1f} s.{selected}</sub>"
    )


def summary(run: Run) -> str:
    """The text of summary.md."""
    exercised, applicable = musts(run)
    advice, _ = next_step(run)
    parts = [
        f"## {prose(headline(run), 500)}",
        f"**{prose(advice)}**",
        f"{exercised} of {plural(applicable, 'applicable MUST')} exercised: {counted(run)}.",
        _table(run),
    ]
    if run.cut_short:
        parts.append(f"Cut short: {prose(run.cut_short, 500)}.")
    for head, texts in (
        ("What explains many results at once", run.causes),
        ("Baseline entries that no longer hold", run.stale),
        ("Notes", run.notes),
    ):
        if texts:
            parts += [f"### {head}", "\n".join(f"- {prose(each, 500)}" for each in texts[:20])]
    ending = [
        *_grouped("Untested", of(run, Verdict.UNTESTED)),
        *_grouped("Not applicable", of(run, Verdict.NOT_APPLICABLE)),
    ]
    if run.known:
        known = "\n".join(f"- {prose(str(k))}: {prose(k.reason, 300)}" for k in run.known[:50])
        ending += ["### Known failures in the baseline", known]
    ending.append(_facts(run))
    return _fitted(parts, run, ending)


def _fitted(parts: list[str], run: Run, ending: list[str]) -> str:
    """The failures between beginning and end, as many as there is room for."""
    left = LIMIT - sum(len(part) + 2 for part in [*parts, *ending]) - 200
    shown = [r for verdict in (Verdict.FAIL, Verdict.ERROR, Verdict.WARN) for r in of(run, verdict)]
    if shown:
        parts.append("### Failures")
    for at, result in enumerate(shown):
        block = _failure(run, result)
        if len(block) > left:
            codes = " ".join(r.requirement.code for r in shown[at : at + _CODES_SHOWN])
            more = plural(len(shown) - at, "more failure")
            parts.append(f"There is no room here for {more}: {codes}. See report.html.")
            break
        parts.append(block)
        left -= len(block) + 2
    written = "\n\n".join([*parts, *ending]) + "\n"
    return written if len(written) <= LIMIT else written[:LIMIT].rsplit("\n", 1)[0] + "\n"
