"""GitHub's annotations: one for each failure, and nothing that a peer sends is a command."""

from __future__ import annotations

from dataclasses import replace

from rap_conformance.engine.evidence import Finding, Verdict
from rap_conformance.engine.run import Result
from rap_conformance.protocol.specification import catalogue
from rap_conformance.reporting.github import annotated
from tests import runs

MUST = next(r for r in catalogue() if r.code == "TCS004")
FINDING = Finding("TCS004", MUST.level, "an unknown id", "`alive: false`", "`alive: true`", ())


def test_a_failure_is_an_annotation_with_what_was_expected_and_what_came() -> None:
    failed = Result(MUST, Verdict.FAIL, "", (FINDING,))
    first, last = annotated(replace(runs.run(failed), exit=1))
    assert first == (
        "::error title=TCS004 unknown-not-alive::"
        "MUST: an unknown id: expected `alive: false`, got `alive: true`"
    )
    assert last.startswith("::error title=rap-conformance%3A ")


def test_what_a_peer_sends_is_no_command() -> None:
    hostile = replace(FINDING, actual="x\n::set-output name=a::b 100% \r\x1b[31m")
    failed = Result(MUST, Verdict.FAIL, "", (hostile,))
    for line in annotated(runs.run(failed)):
        assert "\n" not in line
        assert "\r" not in line
        assert "\x1b" not in line
        assert line.startswith(("::error title=", "::warning title="))
        assert "%25" in line or "title=rap-conformance" in line


def test_many_are_cut_to_what_github_shows() -> None:
    failed = [Result(each, Verdict.FAIL, "no") for each in [*catalogue()][:14]]
    lines = list(annotated(runs.run(*failed)))
    assert sum(line.startswith("::error title=DSC") for line in lines) == 10
    assert any("4 more: fail" in line for line in lines)


def test_a_run_in_which_all_is_well_has_none() -> None:
    passed = Result(MUST, Verdict.PASS)
    assert not list(annotated(replace(runs.run(passed), exit=0)))
