"""What a run says in the terminal: what happened, how to mend it, what comes next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.run import RunVerdict
from rap_conformance.reporting import terminal, view
from tests import runs


def test_a_failure_says_what_happened_and_how_to_mend_it() -> None:
    written = terminal.failure_block(runs.result(Verdict.FAIL))
    for part in (
        "FAIL TCS004 unknown-not-alive (MUST)",
        "> POST http://127.0.0.1:3001/tool_call_status",
        '< {"alive": true}',
        "runtime   alive: a restarted runtime keeps waiting",
        "mend      Look ids up",
        f'baseline  requirement = "TCS004" case = "{runs.finding().fingerprint}"',
        "curl -sSi",
    ):
        assert part in written


@pytest.mark.parametrize("width", [40, 60, 100])
def test_prose_fits_the_width(width: int) -> None:
    written = terminal.failure_block(runs.result(Verdict.FAIL), width)
    prose = [line for line in written.split("  again")[0].splitlines() if line[2] not in "<>"]
    assert all(len(line) <= width or "https://" in line for line in prose[1:])


def test_the_last_line_says_verdict_counts_and_coverage() -> None:
    assert terminal.last_line(runs.run()) == (
        "not-conformant: 1 failed, 1 in error, 1 warned, 1 known, 1 advised, 2 untested, 1 not applicable, "
        "1 passed · 3 of 6 MUSTs exercised · exit 1"
    )
    nothing = replace(
        runs.run(verdict=RunVerdict.INCOMPLETE, exit_status=7), results=(), cut_short="interrupted"
    )
    assert terminal.last_line(nothing) == (
        "incomplete: nothing executed · cut short: interrupted · 0 of 0 MUSTs exercised · exit 7"
    )


def test_the_summary_says_a_cause_once_and_groups_by_reason() -> None:
    written = terminal.summary_lines(replace(runs.run(), causes=("no callback ever arrives",)))
    assert written[0] == "cause: no callback ever arrives"
    assert "untested: TCS005 TCS009: no tool stays pending: configure [scenario.pending]" in written


def test_known_failures_and_stale_entries_are_said() -> None:
    known = runs.run(runs.result(Verdict.KNOWN), verdict=RunVerdict.CONFORMANT, exit_status=0)
    assert view.headline(known) == "Nothing failed but 1 known failure; all 1 applicable MUST were exercised."
    stale = replace(runs.run(runs.result(Verdict.PASS)), stale=("TCS031: the requirement passed",))
    assert view.headline(stale).endswith("(1 entry to remove).")
    assert "TCS031" in view.next_step(stale)[0]
    assert "stale: TCS031: the requirement passed" in terminal.summary_lines(stale)
    selected = replace(known, verdict=RunVerdict.PARTIAL, selected=("TCS*",))
    assert view.headline(selected) == "Partial: nothing failed but 1 known failure; only a selection ran."


def test_a_failure_with_the_first_code_is_what_to_begin_with() -> None:
    shown = runs.run(runs.result(Verdict.FAIL, "TCS010"), runs.result(Verdict.FAIL, "DSC001"))
    assert view.next_step(shown)[0].startswith("Begin with DSC001")


def test_the_embedded_servers_report_says_what_comes_next() -> None:
    passed = runs.run(runs.result(Verdict.PASS), verdict=RunVerdict.CONFORMANT, exit_status=0)
    embedded = replace(passed, target=replace(passed.target, embedded=True))
    assert "a server of your own" in view.next_step(embedded)[0]
    assert view.next_step(passed)[0] == "Nothing is left to do."
