"""What the terminal says: plain text, no colours, readable from 40 columns on."""

from __future__ import annotations

import textwrap

from rap_conformance.engine.evidence import Exchange, Finding, Verdict
from rap_conformance.engine.run import Opening, Result, Run
from rap_conformance.engine.safe import terminal_text
from rap_conformance.engine.session import Preview
from rap_conformance.reporting.steps import reproduce
from rap_conformance.reporting.view import (
    by_reason,
    counted,
    key_exchange,
    liveness,
    musts,
    of,
    opens,
    some,
)

BODY_LIMIT = 300
"""Characters shown of a body."""
_PROSE_LIMIT = 1000
_CURL_LIMIT = 1500
_FINDINGS_SHOWN = 3


def _field(label: str, value: str, width: int) -> list[str]:
    """A label and prose beside it, wrapped; long words stay whole so that they can be copied."""
    if not value:
        return []
    return textwrap.wrap(
        terminal_text(value, _PROSE_LIMIT),
        max(width, 40),
        initial_indent=f"  {label:<9} ",
        subsequent_indent=" " * 12,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _body(data: bytes, mark: str) -> list[str]:
    return [f"  {mark} {terminal_text(data, BODY_LIMIT)}"] if data else []


def _exchange(exchange: Exchange) -> list[str]:
    """Three to six lines: the request, its body, the answer, its body."""
    out, back = ("<", ">") if exchange.inbound else (">", "<")
    lines = [f"  {out} {terminal_text(exchange.method, 40)} {terminal_text(exchange.url, BODY_LIMIT)}"]
    lines += _body(exchange.request_body, out)
    if exchange.status is not None:
        kind = terminal_text(exchange.header("content-type") or "no content type", 100)
        lines.append(f"  {back} {exchange.status}, {kind}, {exchange.elapsed * 1000:,.0f} ms")
        lines += _body(exchange.response_body, back)
    if exchange.failure is not None:
        detail = f" ({terminal_text(exchange.detail, 200)})" if exchange.detail else ""
        lines.append(f"  {back} {exchange.failure}{detail}, after {exchange.elapsed:,.1f} s")
    return lines


def _finding(finding: Finding, width: int) -> list[str]:
    lines = _field("case", finding.case, width)
    lines += _field("expected", finding.expected, width)
    lines += _field("actual", finding.actual, width)
    if exchange := key_exchange(finding):
        lines += _exchange(exchange)
        if (more := len(finding.exchanges) - 1) > 0:
            lines += _field("", f"({more} more in the report)", width)
    lines += _field("runtime", liveness(finding), width)
    lines += _field("depends", finding.depends and f"on {finding.depends}", width)
    return lines


def failure_block(result: Result, width: int = 80) -> str:
    """What happened, why it matters, how to mend it and how to see it again."""
    requirement = result.requirement
    lines = [f"{result.verdict.upper()} {requirement.code} {requirement.name} ({requirement.level})"]
    lines += textwrap.wrap(
        terminal_text(requirement.statement), max(width, 40), initial_indent="  ", subsequent_indent="  "
    )
    lines += _field("reason", result.reason, width)
    for finding in result.findings[:_FINDINGS_SHOWN]:
        lines += _finding(finding, width)
    if (more := len(result.findings) - _FINDINGS_SHOWN) > 0:
        lines += _field("", f"and {more} more findings in the report", width)
    for note in result.notes:
        lines += _field("note", note, width)
    if result.findings:
        lines += _field("why", requirement.why, width)
        lines += _field("mend", requirement.remedy, width)
    lines += _field("read", requirement.url, width)
    if result.findings:
        cases = dict.fromkeys(f'"{finding.fingerprint}"' for finding in result.findings[:_FINDINGS_SHOWN])
        lines += _field("baseline", f'requirement = "{requirement.code}" case = {" or ".join(cases)}', width)
        command = reproduce(result.findings[0])
        if command and len(command) <= _CURL_LIMIT:
            lines += ["  again", *(f"    {line}" for line in command.splitlines())]
        elif command:
            lines += _field("again", "the curl command is long; it is in the report", width)
    return "\n".join(lines)


def last_line(run: Run) -> str:
    """The verdict, the counts and how much was exercised, on one line."""
    exercised, applicable = musts(run)
    cut = f" · cut short: {terminal_text(run.cut_short, 200)}" if run.cut_short else ""
    return (
        f"{run.verdict}: {counted(run)}{cut} · {exercised} of {applicable} MUSTs exercised · exit {run.exit}"
    )


def _group(label: str, results: tuple[Result, ...]) -> list[str]:
    """Requirements that share a verdict, one line a reason."""
    lines = []
    for reason, codes in by_reason(results).items():
        lines.append(f"{label}: {some(codes)}: {terminal_text(reason, 300)}")
    return lines


def opening_block(opening: Opening) -> list[str]:
    """What to paste into the configuration, and what that would open."""
    if not opening.lines:
        return [f"to open {opens(opening)}: {terminal_text(opening.remark, 300)}"]
    remark = f" ({terminal_text(opening.remark, 300)})" if opening.remark else ""
    return [
        f"to open {opens(opening)}, put this into rap-conformance.toml{remark}:",
        *(f"    {terminal_text(line, 300)}" for line in opening.lines),
    ]


def preview_lines(preview: Preview) -> list[str]:
    """What a run would do, and what would let it do more."""
    lines = [*preview.lines]
    for opening in preview.openings:
        lines += opening_block(opening)
    return [*lines, "nothing was judged (--dry-run)"]


def summary_lines(run: Run) -> list[str]:
    """What the end of a run says before the last line: causes once, then what was not judged and why."""
    lines = [f"cause: {terminal_text(cause, _PROSE_LIMIT)}" for cause in run.causes]
    if run.cut_short:
        lines.append(f"cut short: {terminal_text(run.cut_short, _PROSE_LIMIT)}")
    if run.target.embedded:
        role = run.target.role
        lines.append(f"target: the embedded reference {role}, not a {role} of yours")
    for label, verdict in (
        ("advised (-v shows it in full)", Verdict.ADVICE),
        ("error", Verdict.ERROR),
        ("known", Verdict.KNOWN),
        ("untested", Verdict.UNTESTED),
        ("not applicable", Verdict.NOT_APPLICABLE),
    ):
        lines += _group(label, of(run, verdict))
    for opening in () if run.cut_short else run.openings:
        lines += opening_block(opening)
    lines += [f"stale: {terminal_text(entry, _PROSE_LIMIT)}" for entry in run.stale]
    lines += [f"note: {terminal_text(note, _PROSE_LIMIT)}" for note in run.notes]
    return lines
