"""Correct runtimes of other kinds, none accused; a run's time; what is half exercised is no pass."""

from __future__ import annotations

import importlib
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from rap_conformance.runtime import embedded
from tests.support import QUICK, Outcome, run

NAMES, _ = embedded.package()
VARIANTS: dict[str, Any] = importlib.import_module(f"{NAMES}.runtimes.varied").VARIANTS
QUICKLY = ("lazy", "own-thread-ids")
"""Those of which `make test` certifies each; the others are deep."""
EVERY = [
    pytest.param(name, marks=pytest.mark.long if name in QUICKLY else pytest.mark.deep) for name in VARIANTS
]


def certified(name: str, folder: Path, *options: str) -> Outcome:
    """A run against a variant, started like anybody's adapter."""
    words = shlex.join([sys.executable, "-m", f"{NAMES}.runtimes.varied", name, "--port"])
    _, home = embedded.package()
    given = ["runtime", "--adapter-cmd", words + " {port}", *options]
    return run(folder, *given, within=400.0, PYTHONPATH=home)


def complaints(outcome: Outcome) -> str:
    """What is neither a pass nor not applicable, with the reasons."""
    return "\n".join(
        f"{entry['code']} {entry['verdict']}: {entry['reason']}"
        for entry in outcome.report["requirements"]
        if entry["verdict"] not in {"pass", "not-applicable"}
    )


def test_there_are_at_least_ten_of_them_and_each_says_what_it_is() -> None:
    assert len(VARIANTS) >= 10
    assert all(variant.what for variant in VARIANTS.values())


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.timeout(400)
def test_none_is_accused(name: str, tmp_path: Path) -> None:
    outcome = certified(name, tmp_path, *QUICK)
    assert not complaints(outcome), complaints(outcome)
    verdicts = outcome.verdicts()
    inapplicable = {code for code, verdict in verdicts.items() if verdict == "not-applicable"}
    assert inapplicable == VARIANTS[name].inapplicable
    assert (outcome.exit, outcome.report["verdict"]) == (0, "conformant"), outcome.out


@pytest.mark.deep
@pytest.mark.timeout(400)
def test_a_second_question_after_twelve_seconds_is_allowed(tmp_path: Path) -> None:
    outcome = certified("asks-twice-late", tmp_path, "--requirement", "RTS00[89]")
    assert outcome.verdicts() == {"RTS008": "pass", "RTS009": "pass"}, complaints(outcome)


@pytest.mark.deep
@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", ["asks-twice", "asks-twice-late"])
def test_how_long_giving_up_takes_is_found_out_whatever_is_judged(name: str, tmp_path: Path) -> None:
    outcome = certified(name, tmp_path, "--requirement", "RTS013")
    assert outcome.verdicts() == {"RTS013": "pass"}, complaints(outcome)


@pytest.mark.long
def test_a_run_takes_no_more_than_twice_its_longest_wait_and_twenty_seconds(tmp_path: Path) -> None:
    outcome = run(tmp_path, "runtime", within=200.0)
    assert outcome.exit == 0, outcome.out
    longest = max(entry["duration_s"] for entry in outcome.report["requirements"])
    assert longest >= 20.0, "calls of unknown liveness are watched that long"
    assert outcome.report["duration_s"] <= 2 * longest + 20.0


@pytest.mark.deep
@pytest.mark.timeout(400)
def test_what_was_half_asked_for_is_counted_named_and_no_pass(tmp_path: Path) -> None:
    given = ["--requirement", "RTS005", "--mutant", "stops-at-the-first-failure"]
    outcome = run(tmp_path, "runtime", *QUICK, *given, within=300.0)
    (entry,) = outcome.report["requirements"]
    assert entry["verdict"] == "untested", entry["reason"]
    assert "of 24 answers were asked for (a failure); never asked for: " in entry["reason"]
    assert entry["judged"] > 0
