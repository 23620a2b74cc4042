"""A run, read in the ways that several reports share."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from rap_conformance.engine.baseline import block
from rap_conformance.engine.evidence import Exchange, Finding, Verdict
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.run import Given, Opening, Result, Run, RunVerdict
from rap_conformance.engine.safe import valid
from rap_conformance.protocol.messages import STATUS_PATH
from rap_conformance.protocol.reading import runtime_reading

_TARGETS = frozenset({"server-url", "server-cmd", "adapter-cmd"})
_EXERCISED = frozenset({Verdict.PASS, Verdict.FAIL, Verdict.KNOWN, Verdict.WARN, Verdict.ADVICE})
CODES_SHOWN = 12
"""Codes that are listed on a line."""
WORST_FIRST = (
    Verdict.FAIL,
    Verdict.ERROR,
    Verdict.WARN,
    Verdict.KNOWN,
    Verdict.ADVICE,
    Verdict.UNTESTED,
    Verdict.NOT_APPLICABLE,
    Verdict.PASS,
)
SIGNS = {
    Verdict.PASS: "✓",
    Verdict.FAIL: "✗",
    Verdict.WARN: "!",
    Verdict.ADVICE: "i",
    Verdict.KNOWN: "≈",
    Verdict.UNTESTED: "○",
    Verdict.NOT_APPLICABLE: "⊘",
    Verdict.ERROR: "?",
}
"""A sign for each verdict, so that none is told by colour alone."""
_COUNTED = {
    Verdict.FAIL: "failed",
    Verdict.ERROR: "in error",
    Verdict.WARN: "warned",
    Verdict.KNOWN: "known",
    Verdict.ADVICE: "advised",
    Verdict.UNTESTED: "untested",
    Verdict.NOT_APPLICABLE: "not applicable",
    Verdict.PASS: "passed",
}


def counts(run: Run) -> dict[Verdict, int]:
    """How many requirements have each verdict, worst first, zeros included."""
    return {v: sum(result.verdict is v for result in run.results) for v in WORST_FIRST}


def counted(run: Run) -> str:
    """The counts that are not zero, in words: "2 failed, 1 warned, 20 passed"."""
    parts = [f"{n} {_COUNTED[verdict]}" for verdict, n in counts(run).items() if n]
    return ", ".join(parts) or "nothing executed"


def musts(run: Run) -> tuple[int, int]:
    """MUSTs exercised, and MUSTs that apply or may apply.

    A MUST with nothing but a finding of a lower level was exercised too.
    """
    applicable = [
        result.verdict
        for result in run.results
        if result.requirement.level is Level.MUST and result.verdict is not Verdict.NOT_APPLICABLE
    ]
    return sum(verdict in _EXERCISED for verdict in applicable), len(applicable)


def met(result: Result) -> bool:
    """Whether it was judged and no finding of its own level is against it; what is `known` is not met."""
    if result.verdict not in {Verdict.PASS, Verdict.WARN, Verdict.ADVICE}:
        return False
    return all(finding.level is not result.requirement.level for finding in result.findings)


def musts_met(run: Run) -> tuple[int, int]:
    """MUSTs met, and MUSTs that apply or may apply."""
    return sum(met(r) for r in run.results if r.requirement.level is Level.MUST), musts(run)[1]


def earns(run: Run) -> bool:
    """Whether the run may become a badge or attestation: it judged the whole catalogue to its end."""
    return (
        bool(run.results)
        and not run.selected
        and not run.cut_short
        and run.verdict is not RunVerdict.INCOMPLETE
        and run.planned == run.executed == len(run.results)
    )


def of(run: Run, *verdicts: Verdict) -> tuple[Result, ...]:
    """The results with one of these verdicts, in the run's order."""
    return tuple(result for result in run.results if result.verdict in verdicts)


def by_area(run: Run) -> dict[str, list[Result]]:
    """The results of each message in the order of a conversation, each in the order of codes."""
    areas: dict[str, list[Result]] = {}
    for result in sorted(run.results, key=lambda result: (result.requirement.area, result.requirement.code)):
        areas.setdefault(result.requirement.area.name, []).append(result)
    return areas


def by_reason(results: Iterable[Result]) -> dict[str, list[str]]:
    """Codes that share a reason, the most frequent reason first."""
    groups: dict[str, list[str]] = {}
    for result in results:
        groups.setdefault(result.reason or "no reason given", []).append(result.requirement.code)
    return dict(sorted(groups.items(), key=lambda item: -len(item[1])))


def is_status_query(exchange: Exchange) -> bool:
    """Whether the suite asked /tool_call_status."""
    path = exchange.url.partition("?")[0].partition("#")[0]
    return not exchange.inbound and path.endswith(STATUS_PATH)


def key_exchange(finding: Finding) -> Exchange | None:
    """The offending exchange: the first one."""
    return next(iter(finding.exchanges), None)


def liveness(finding: Finding) -> str:
    """What a restarted runtime makes of the offending answer; empty if that is to no status query."""
    exchange = key_exchange(finding)
    return runtime_reading(exchange) if exchange and is_status_query(exchange) else ""


def is_smallest(finding: Finding) -> bool:
    """Whether the key exchange holds the smallest input found; cases of generated inputs say so."""
    return finding.smallest or finding.case.endswith(", generated")


def waiver(finding: Finding) -> str:
    """An entry of a baseline file that covers this failure; the reason is left to fill in."""
    return block({"requirement": finding.code, "case": finding.fingerprint, "reason": ""})


def again(run: Run, code: str) -> str:
    """A command that judges one requirement again, with the same options and seed."""
    target = run.target
    rest: list[tuple[str, Given]] = [("requirement", code), ("seed", str(run.seed)), ("profile", run.profile)]
    rest += [(name, value) for name, value in run.options if name not in _TARGETS]
    if target.role == "runtime":
        where = [("adapter-cmd", target.command)] if target.command else []
        return " ".join(["rap-conformance runtime", *_words([*where, *rest])])
    if target.embedded:
        return " ".join(["pytest", *_words(rest, "--rap-")])
    where = [("server-cmd", target.command) if target.command else ("server-url", target.url)]
    return " ".join(["rap-conformance check", *_words([*where, *rest])])


def _words(options: Iterable[tuple[str, Given]], dash: str = "--") -> Iterator[str]:
    """Options as they are typed."""
    for name, value in options:
        if isinstance(value, bool):
            yield f"{dash}{name if value else f'not-{name}'}"
            continue
        for each in [value] if isinstance(value, str) else value:
            yield f"{dash}{name} {shlex.quote(valid(each))}"


def plural(number: int, noun: str, many: str = "") -> str:
    """A number with its noun: 1 MUST, 2 MUSTs."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def headline(run: Run) -> str:
    """The verdict as one sentence."""
    exercised, applicable = musts(run)
    number = counts(run)
    match run.verdict:
        case RunVerdict.CONFORMANT if number[Verdict.KNOWN]:
            known = plural(number[Verdict.KNOWN], "known failure")
            return f"Nothing failed but {known}; all {plural(applicable, 'applicable MUST')} were exercised."
        case RunVerdict.CONFORMANT:
            return f"Conformant: all {plural(applicable, 'applicable MUST')} were exercised and passed."
        case RunVerdict.PARTIAL:
            missing = applicable - exercised
            why = f"{missing} of {plural(applicable, 'applicable MUST')} were not exercised"
            if not missing:
                why = "only a selection ran" if run.selected else "not all could be seen"
            if number[Verdict.KNOWN]:
                return f"Partial: nothing failed but {plural(number[Verdict.KNOWN], 'known failure')}; {why}."
            return f"Partial: nothing failed, but {why}."
        case RunVerdict.NOT_CONFORMANT:
            if number[Verdict.FAIL]:
                return f"Not conformant: {plural(number[Verdict.FAIL], 'requirement')} failed."
            if number[Verdict.WARN]:
                return f"Not conformant at this level: {number[Verdict.WARN]} SHOULD not met."
            stale = f" ({plural(len(run.stale), 'entry', 'entries')} to remove)" if run.stale else ""
            return f"Not conformant: the baseline of known failures is out of date{stale}."
        case RunVerdict.INCOMPLETE:
            why = f"the run was cut short ({run.cut_short})" if run.cut_short else "not everything was judged"
            return f"Incomplete: {why}."


def _named(result: Result) -> str:
    return f"{result.requirement.code} {result.requirement.name}"


def next_step(run: Run) -> tuple[str, Result | None]:
    """What to do first, and the result it is about if it is about one."""
    if run.causes:
        return f"One cause may explain many results; begin there: {run.causes[0]}", None
    failed = of(run, Verdict.FAIL)
    if run.verdict is RunVerdict.NOT_CONFORMANT and (worst := failed or of(run, Verdict.WARN)):
        begin = min(worst, key=lambda result: result.requirement.code)
        return f"Begin with {_named(begin)}. {begin.requirement.remedy}", begin
    if run.verdict is RunVerdict.NOT_CONFORMANT:
        stale = f": {run.stale[0]}" if run.stale else ""
        return f"Take the entries that no longer hold out of the baseline{stale}.", None
    for result in of(run, Verdict.ERROR):
        return f"Could not be judged: {_named(result)}. {result.reason}", result
    if run.verdict is RunVerdict.INCOMPLETE:
        return "Run it again; nothing can be concluded from what is missing.", None
    if untested := by_reason(r for r in of(run, Verdict.UNTESTED) if r.requirement.level is Level.MUST):
        reason, codes = next(iter(untested.items()))
        return f"To exercise {plural(len(codes), 'more MUST')}: {reason}", None
    for result in of(run, Verdict.WARN):
        return f"No MUST is open. Next: {_named(result)}. {result.requirement.remedy}", result
    if run.target.embedded and run.target.role == "runtime":
        return "Now judge a runtime of your own: `rap-conformance runtime --adapter-cmd CMD`.", None
    if run.target.embedded:
        return "Now judge a server of your own: `pytest --server-url http://127.0.0.1:3001`.", None
    return "Nothing is left to do.", None


def in_short(result: Result) -> str:
    """What came out for one requirement, on one line: level, case, what was expected and what came."""
    if not result.findings:
        return result.reason
    first = result.findings[0]
    more = len(result.findings) - 1
    rest = f" (and {plural(more, 'more finding')})" if more else ""
    level = result.requirement.level
    return f"{level}: {first.case}: expected {first.expected}, got {first.actual}{rest}"


def opens(opening: Opening) -> str:
    """What an opening would let be judged, in words."""
    parts = f"parts of {some(opening.parts)}" if opening.parts else ""
    musts = f", {plural(opening.musts, 'MUST')}" if opening.musts else ""
    whole = f"{some(opening.codes)}{musts}" if opening.codes else ""
    return " and ".join(filter(None, (whole, parts)))


def some(codes: Sequence[str]) -> str:
    """Codes in a row, the first of many."""
    rest = f" and {len(codes) - CODES_SHOWN} more" if len(codes) > CODES_SHOWN else ""
    return " ".join(codes[:CODES_SHOWN]) + rest
