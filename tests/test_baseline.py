"""The baseline of known failures: every entry has a reason and an end, and the list can only shrink."""

from __future__ import annotations

import datetime
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from rap_conformance.engine import baseline
from rap_conformance.engine.catalogue import Catalogue
from rap_conformance.engine.evidence import Finding, Verdict
from rap_conformance.engine.inputs import ConfigError
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.run import Known, Result
from rap_conformance.protocol.specification import RAP
from rap_conformance.reporting import json as json_report
from tests import runs

TODAY = datetime.date(2026, 12, 1)
CATALOGUE = Catalogue(tuple(runs.requirement(code) for code in ("TCS004", "TCS019")), RAP)


def load(folder: Path, text: str) -> tuple[Known, ...]:
    path = folder / "known.toml"
    path.write_text(text, "utf-8")
    return baseline.load(path, today=TODAY, known=CATALOGUE)


def failed(*cases: str, code: str = "TCS004", verdict: Verdict = Verdict.FAIL) -> Result:
    findings = tuple(replace(runs.finding(code=code), case=case) for case in cases)
    return replace(
        runs.result(verdict, code), findings=findings, reason=f"{cases[0]}: it is alive" if cases else ""
    )


def case(name: str, code: str = "TCS004") -> str:
    return Finding(code, Level.MUST, name, "", "").fingerprint


# --- reading


def test_an_entry_is_read(tmp_path: Path) -> None:
    entries = load(
        tmp_path,
        '[[known]]\nrequirement = "TCS019"\ncase = "9C1F"\nreason = "set at\\nthe gateway"\n'
        "expires = 2027-06-30\n"
        '[[known]]\nrequirement = "TCS004"\nreason = "legacy ids"\n',
    )
    assert entries == (
        Known("TCS019", "set at the gateway", "9c1f", "2027-06-30"),
        Known("TCS004", "legacy ids"),
    )


def test_an_empty_file_knows_nothing(tmp_path: Path) -> None:
    assert load(tmp_path, "# nothing\n") == ()


def test_an_entry_holds_on_its_last_day(tmp_path: Path) -> None:
    assert load(tmp_path, '[[known]]\nrequirement = "TCS004"\nreason = "x"\nexpires = 2026-12-01\n')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[known]]\nrequirement = "TCS004"\n', "known[0].reason: is missing"),
        ('[[known]]\nreason = "x"\n', "known[0].requirement: is missing"),
        ('[[known]]\nrequirement = "TCS004"\nreason = ""\n', "known[0].reason: got ''"),
        ('[[known]]\nrequirement = "TCS004"\nreason = "  "\n', "known[0].reason: got '  '"),
        ('[[known]]\nrequirement = "TCS004"\nreason = 7\n', "known[0].reason: got 7"),
        ('[[known]]\nrequirement = "TCS094"\nreason = "x"\n', "did you mean TCS0"),
        ('[[known]]\nrequirement = "tcs004"\nreason = "x"\n', "did you mean TCS004?"),
        ('[[known]]\nrequirement = "TCS*"\nreason = "x"\n', "known[0].requirement: got 'TCS*'"),
        ('[[known]]\nrequirement = "TCS004"\nreason = "x"\ncase = "9c"\n', "at least 4 hexadecimal digits"),
        ('[[known]]\nrequirement = "TCS004"\nreason = "x"\ncase = "upper case"\n', "known[0].case: got"),
        (
            '[[known]]\nrequirement = "TCS004"\nreason = "x"\nexpires = 2026-11-30\n',
            "TCS004 expired on 2026-11-30",
        ),
        ('[[known]]\nrequirement = "TCS004"\nreason = "x"\nexpires = "2027-01-01"\n', "without quotes"),
        (
            '[[known]]\nrequirement = "TCS004"\nreason = "x"\nexpires = 2027-01-01T00:00:00Z\n',
            "a date such as",
        ),
        ('[[known]]\nrequirement = "TCS004"\nreason = "x"\nexpire = 2027-01-01\n', "did you mean expires?"),
        ('[[knwon]]\nrequirement = "TCS004"\n', "knwon: is unknown; did you mean known?"),
        ('[known]\nrequirement = "TCS004"\n', "known: got"),
        ('known = ["TCS004"]\n', "known[0]: got 'TCS004'"),
        ('[[known]]\nrequirement = "TCS004"\nreason = "x"\n' * 2, "known[1]: TCS004 is there twice"),
        (
            '[[known]]\nrequirement = "TCS004"\nreason = "x"\ncase = "9c1f"\n' * 2,
            "TCS004 case 9c1f is there twice",
        ),
        ("[[known]\n", "is not TOML"),
        ('a = "\\ud800"', "is not TOML"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    message = str(caught.value)
    assert said in message
    assert message.startswith(str(tmp_path / "known.toml"))
    assert "\n" not in message


def test_a_file_that_is_no_text_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read \(No such file"):
        baseline.load(tmp_path / "none.toml", known=CATALOGUE)
    with pytest.raises(ConfigError, match=r"cannot be read \(Is a directory\)"):
        baseline.load(tmp_path, known=CATALOGUE)
    (tmp_path / "odd.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="is not UTF-8"):
        baseline.load(tmp_path / "odd.toml", known=CATALOGUE)
    (tmp_path / "large.toml").write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(ConfigError, match="is larger than"):
        baseline.load(tmp_path / "large.toml", known=CATALOGUE)


# --- applying


def test_a_whole_requirement_is_known() -> None:
    applied = baseline.apply([failed("a", "b")], [Known("TCS004", "legacy ids", expires="2027-06-30")])
    (result,) = applied.results
    assert (result.verdict, result.reason) == (Verdict.KNOWN, "legacy ids (until 2027-06-30)")
    assert len(result.findings) == 2
    assert applied.stale == ()
    assert applied.used == (Known("TCS004", "legacy ids", expires="2027-06-30"),)


def test_a_case_is_known_by_the_beginning_of_its_fingerprint() -> None:
    applied = baseline.apply([failed("a")], [Known("TCS004", "x", case("a")[:4])])
    assert applied.results[0].verdict is Verdict.KNOWN


def test_a_requirement_is_known_only_if_all_its_failures_are() -> None:
    entries = [Known("TCS004", "one", case("a")), Known("TCS004", "two", case("b"))]
    half = baseline.apply([failed("a", "b")], entries[:1])
    assert half.results[0].verdict is Verdict.FAIL
    assert f"not in the baseline: case {case('b')}" in half.results[0].reason
    assert half.used == (entries[0],)
    assert half.stale == ()
    both = baseline.apply([failed("a", "b")], entries)
    assert (both.results[0].verdict, both.results[0].reason) == (Verdict.KNOWN, "one; two")


def test_to_apply_twice_is_to_apply_once() -> None:
    results = [failed("a", "b"), failed("c", code="TCS019"), runs.result(Verdict.PASS, "TCS005")]
    entries = [Known("TCS004", "x", case("a")), Known("TCS019", "y"), Known("TCS005", "z")]
    once = baseline.apply(results, entries)
    assert baseline.apply(once.results, entries) == once
    one_by_one = [baseline.apply([result], entries).results[0] for result in results]
    assert tuple(one_by_one) == once.results


def test_a_should_that_is_not_met_can_be_known() -> None:
    applied = baseline.apply([failed("a", verdict=Verdict.WARN)], [Known("TCS004", "x")])
    assert applied.results[0].verdict is Verdict.KNOWN


@pytest.mark.parametrize(
    ("result", "entry", "stale"),
    [
        (runs.result(Verdict.PASS), Known("TCS004", "x"), "TCS004: the requirement passed; take it out"),
        (runs.result(Verdict.PASS), Known("TCS004", "x", "9c1f"), "TCS004 case 9c1f: the requirement passed"),
        (failed("a"), Known("TCS004", "x", "9c1f"), "TCS004 case 9c1f: that failure did not occur"),
        (runs.result(Verdict.UNTESTED), Known("TCS004", "x"), ""),
        (runs.result(Verdict.NOT_APPLICABLE), Known("TCS004", "x"), ""),
        (runs.result(Verdict.ERROR), Known("TCS004", "x"), ""),
        (runs.result(Verdict.PASS), Known("TCS019", "x"), ""),
        (failed(*map(str, range(12))), Known("TCS004", "x", "9c1f"), ""),
        (
            replace(runs.result(Verdict.PASS), notes=("not exercised: no tool",)),
            Known("TCS004", "x", "9c1f"),
            "",
        ),
    ],
    ids="passed, its case passed, another case, untested, n/a, error, selection, too many, in part".split(
        ", "
    ),
)
def test_an_entry_that_no_longer_holds_is_stale(result: Result, entry: Known, stale: str) -> None:
    applied = baseline.apply([result], [entry])
    assert applied.results == (result,)
    assert applied.used == ()
    assert " ".join(applied.stale).startswith(stale)
    assert bool(applied.stale) is bool(stale)


def test_the_order_of_results_stays() -> None:
    results = [runs.result(Verdict.PASS, "DSC001"), failed("a"), runs.result(Verdict.PASS, "TCS005")]
    applied = baseline.apply(results, [Known("TCS004", "x")])
    assert [r.requirement.code for r in applied.results] == ["DSC001", "TCS004", "TCS005"]


# --- writing


def filled(text: str) -> str:
    return text.replace('reason = ""', 'reason = "because"')


def test_what_is_written_only_lacks_reasons(tmp_path: Path) -> None:
    run = runs.run(failed("a", "b"), runs.result(Verdict.PASS, "TCS019"))
    written = baseline.dumps(json_report.report(run))
    with pytest.raises(ConfigError, match="why this failure is put up with; fill it in"):
        load(tmp_path, written)
    entries = load(tmp_path, filled(written))
    assert entries == (Known("TCS004", "because", case("a")), Known("TCS004", "because", case("b")))
    applied = baseline.apply(run.results, entries)
    assert [result.verdict for result in applied.results] == [Verdict.KNOWN, Verdict.PASS]
    assert applied.stale == ()


def test_entries_in_force_are_kept_with_their_reasons(tmp_path: Path) -> None:
    entries = (Known("TCS004", 'a "quoted" reason \\ é', case("a"), "2027-06-30"),)
    run = replace(runs.run(failed("a", "b")), known=entries)
    written = load(tmp_path, filled(baseline.dumps(json_report.report(run))))
    assert written == (*entries, Known("TCS004", "because", case("b")))


def test_shoulds_are_written_if_they_fail_the_gate() -> None:
    run = runs.run(failed("a", verdict=Verdict.WARN))
    assert "[[known]]" not in baseline.dumps(json_report.report(run))
    assert "[[known]]" in baseline.dumps(json_report.report(run), level="should")


def test_nothing_failed_gives_a_baseline_that_knows_nothing(tmp_path: Path) -> None:
    assert load(tmp_path, baseline.dumps(json_report.report(runs.run(runs.result(Verdict.PASS))))) == ()


def test_hostile_text_stays_in_its_comment_or_string(tmp_path: Path) -> None:
    hostile = replace(runs.hostile(), known=(Known("TCS019", runs.HOSTILE),))
    written = baseline.dumps(json_report.report(hostile))
    assert not [char for char in runs.HARMFUL if char in written]
    data = tomllib.loads(written)
    assert set(data) == {"known"}
    assert [entry["requirement"] for entry in data["known"]] == ["TCS019", "TCS004"]
    assert load(tmp_path, filled(written))
