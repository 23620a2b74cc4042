"""From results to the run's verdict and exit code. Pure; docs: README, "Verdicts and exit codes"."""

from __future__ import annotations

from collections.abc import Sequence

from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.run import Result, RunVerdict

EXIT_OK, EXIT_FAILED, EXIT_CRASHED, EXIT_BAD_INPUT, EXIT_NOBODY, EXIT_INCOMPLETE = 0, 1, 3, 4, 6, 7
EXERCISED = frozenset({Verdict.PASS, Verdict.FAIL, Verdict.KNOWN, Verdict.WARN, Verdict.ADVICE})
"""A MUST with nothing but a finding of a lower level was exercised too."""


def musts(results: Sequence[Result]) -> tuple[int, int]:
    """How many applicable MUSTs were exercised, and how many there are."""
    applicable = [
        r for r in results if r.requirement.level is Level.MUST and r.verdict is not Verdict.NOT_APPLICABLE
    ]
    return sum(r.verdict in EXERCISED for r in applicable), len(applicable)


def judge(
    results: Sequence[Result],
    *,
    planned: int,
    cut_short: str = "",
    selection: bool = False,
    level: str = "must",
    strict: bool = False,
    doubtful: bool = False,
    stale: bool = False,
) -> tuple[RunVerdict, int]:
    """The run's verdict and exit code.

    `planned` is how many requirements should have been judged, `selection`
    whether only some were asked for, `doubtful` whether requirements are not
    applicable only as far as could be seen, `stale` whether the baseline has
    entries that no longer hold.
    """
    failing = {Verdict.FAIL} | ({Verdict.WARN} if level == "should" else set())
    if stale or any(r.verdict in failing for r in results):
        return RunVerdict.NOT_CONFORMANT, EXIT_FAILED
    incomplete = cut_short or len(results) != planned or any(r.verdict is Verdict.ERROR for r in results)
    if incomplete or not results:
        return RunVerdict.INCOMPLETE, EXIT_INCOMPLETE
    exercised, applicable = musts(results)
    if exercised < applicable or selection or doubtful:
        return RunVerdict.PARTIAL, EXIT_INCOMPLETE if strict else EXIT_OK
    # A known failure was exercised, so even a strict gate lets it in; conformant it is not.
    known = any(r.verdict is Verdict.KNOWN and r.requirement.level is Level.MUST for r in results)
    return (RunVerdict.PARTIAL if known else RunVerdict.CONFORMANT), EXIT_OK
