"""The runtime's side: the reference and the examples conform, mutants are exact."""

from __future__ import annotations

import ast
import importlib
import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rap_conformance import contract
from rap_conformance.detection.subjects import RUNTIME, subjects
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.scenario import scenario_of
from rap_conformance.places import place
from rap_conformance.protocol.specification import DEFAULT_REVISION, catalogue
from rap_conformance.runtime import embedded
from rap_conformance.runtime.adapter import adapter_contract
from tests import warm
from tests.support import QUICK, ROOT, command, environment, run
from tests.test_runtime_adapter import certified, words
from tests.warm import SEED

RTS = catalogue().at(DEFAULT_REVISION, role="runtime")
SAMPLE = 3
SLOW = {
    "asks-nobody",
    "asks-everybody",
    "asks-nobody-while-one-is-down",
    "cuts-off-the-unknown",
    "keeps-on-false",
    "stops-at-the-first-failure",
    "waits-for-every-toolset",
}
ADAPTER = ROOT / "examples" / "adapters" / "adapter.py"
EXAMPLES = {"python": words(sys.executable, ADAPTER, "{port}")}
if shutil.which("node"):
    EXAMPLES["node"] = words("node", ADAPTER.with_suffix(".mjs"), "{port}")


def spoken(*given: str) -> subprocess.CompletedProcess[str]:
    """A module of ours as a command, and what it said."""
    done = warm.run(given, ROOT, environment(), 240.0)
    return subprocess.CompletedProcess(
        given, done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    )


def scenarios() -> dict[str, Callable[..., Any]]:
    """Every scenario of conformance/runtime/ by the code it judges."""
    found = dict[str, Callable[..., Any]]()
    for path in sorted((ROOT / "conformance" / "runtime").rglob("test_*.py")):
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        found |= {m.code: f for f in vars(module).values() if (m := scenario_of(f)) is not None}
    return found


# --- what there is -----------------------------------------------------------------------------------------


def test_every_requirement_on_runtimes_has_a_scenario_and_every_scenario_a_requirement() -> None:
    assert sorted(scenarios()) == [requirement.code for requirement in RTS]
    assert [r.code for r in RTS] == [f"RTS{number:03}" for number in range(1, len(RTS) + 1)]
    assert not any(requirement.planned or requirement.unseen for requirement in RTS)
    for function in scenarios().values():
        assert (function.__doc__ or "").strip()


def test_a_run_against_a_server_plans_none_of_them() -> None:
    assert not [r for r in catalogue().at(DEFAULT_REVISION, role="server") if r.code.startswith("RTS")]
    assert not catalogue().at("2026-08-main", role="runtime")


def test_every_requirement_has_a_mutant_and_every_mutant_reasons() -> None:
    known = {requirement.code for requirement in RTS}
    broken = {code for mutant in embedded.mutants().values() for code in mutant.violates}
    assert broken == known
    for name, mutant in embedded.mutants().items():
        assert name == name.lower().replace("_", "-")
        assert mutant.what
        assert set(mutant.unjudged) <= known - set(mutant.violates)


def test_runtimes_of_ours_import_nothing_of_the_suite() -> None:
    for path in (place("fixtures") / "runtimes").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            assert not [name for name in names if name.split(".")[0] in {"rap_conformance", "fixtures"}], path


def test_the_example_adapters_are_short_and_the_schemas_are_those_documented() -> None:
    for path in (ADAPTER, ADAPTER.with_suffix(".mjs")):
        assert len(path.read_text("utf-8").splitlines()) < 70
    page = (ROOT / "docs" / "certify-a-runtime.md").read_text("utf-8")
    examples = [json.loads(text.split("```")[0]) for text in page.split("```json\n")[1:]]
    for schema, example in zip(("boot_request", "state", "boot_answer"), examples, strict=True):
        assert adapter_contract().problems(schema, example) == []


# --- runs --------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_reference_and_a_sample_of_mutants_are_exact() -> None:
    names = [one.name for one in subjects([RUNTIME]) if one.name not in SLOW]
    chosen = random.Random(SEED).sample(names, SAMPLE)
    given = ("--role", RUNTIME, *chosen, "--seed", str(SEED), "--jobs", "4")
    done = spoken("rap_conformance.detection", *given)
    last = f"{SAMPLE + 1} of {SAMPLE + 1} exact"
    assert done.stdout.splitlines()[-1] == last, done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.parametrize("language", ["python", "node"])
def test_the_example_adapters_are_conformant(language: str, tmp_path: Path) -> None:
    if language not in EXAMPLES:
        pytest.skip("there is no node here")
    outcome = certified(EXAMPLES[language], tmp_path)
    assert outcome.exit == 0, outcome.out + outcome.err
    report, verdicts = outcome.report, outcome.verdicts()
    wrong = {code: verdict for code, verdict in verdicts.items() if verdict != "pass"}
    assert wrong == {
        "RTS015": "not-applicable",  # a runtime that always knows the server asks nobody else
        "RTS025": "not-applicable",  # it lives in the adapter's process, and cannot be killed alone
    }
    assert any("kill" in note for note in report["notes"])
    assert sorted(verdicts) == [requirement.code for requirement in RTS]
    assert report["verdict"] == "conformant"
    assert contract.problems("report", report) == []
    assert {entry["role"] for entry in report["requirements"]} == {"runtime"}
    assert "RTS001" in (outcome.folder / "reports" / "junit.xml").read_text("utf-8")
    assert "pytest-html" in (outcome.folder / "reports" / "report.html").read_text("utf-8")


def test_pytest_is_the_same_door(tmp_path: Path) -> None:
    given = [f"--rap-adapter-cmd={EXAMPLES['python']}", "--rap-requirement=RTS00[13]"]
    words = [sys.executable, "-m", "pytest", *given, f"--rap-report-dir={tmp_path}"]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=240, check=False, cwd=ROOT, env=environment()
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
    assert done.stdout.strip().splitlines()[-1].startswith("partial: ")
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert {entry["code"]: entry["verdict"] for entry in report["requirements"]} == {
        "RTS001": "pass",
        "RTS003": "pass",
    }
    assert (tmp_path / "report.html").exists()


def test_a_thousand_calls_and_a_silent_server_take_one_time_out(tmp_path: Path) -> None:
    outcome = run(tmp_path, "runtime", "--profile", "thorough", "--requirement", "RTS013")
    (entry,) = outcome.report["requirements"]
    assert (entry["verdict"], entry["reason"]) == ("pass", "")
    assert entry["duration_s"] < 30.0, "the silent server holds its answers for 30 s; nobody waited for it"


def test_kills_and_restarts_of_either_side_are_survived() -> None:
    done = spoken("rap_conformance.detection.kill_loop", "5", "--seed", str(SEED))
    last = done.stdout.strip().splitlines()[-1:]
    assert done.returncode == 0, (last, done.stderr[-2000:])
    assert last[0].startswith("5 of 5 kills survived")


def test_a_baseline_lets_known_failures_in_and_can_only_shrink(tmp_path: Path) -> None:
    known = '[[known]]\nrequirement = "RTS001"\nreason = "until the next release"\n'
    (tmp_path / "known.toml").write_text(known, "utf-8")
    given = ["runtime", "--requirement", "RTS001", "--baseline", "known.toml", "--no-report"]
    broken = run(tmp_path, *given, "--mutant", "sends-text")
    assert (broken.exit, "1 known" in broken.out) == (0, True), broken.out
    mended = run(tmp_path, *given)
    assert (mended.exit, "baseline" in mended.out) == (1, True), "mended, and still listed"


@pytest.mark.parametrize("after", [0.0, 1.0], ids="after {} s".format)
def test_a_terminated_run_writes_its_reports(after: float, tmp_path: Path) -> None:
    given = command("runtime", "--report-dir", str(tmp_path))
    running = subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT)
    report = tmp_path / "report.json"
    deadline = time.monotonic() + 30
    while not report.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(after)  # somewhere before or in the middle: where exactly decides nothing
    running.terminate()
    out, _ = running.communicate(timeout=30)
    assert running.returncode == 7, out
    assert "interrupted" in json.loads(report.read_text("utf-8"))["cut_short"]


def test_levels_decide_the_verdicts_of_findings() -> None:
    by_level = {requirement.code: requirement.level for requirement in RTS}
    assert {by_level[f"RTS{n:03}"] for n in (1, 2, 5, 6, 7, 12, 17, 18, 20, 21)} == {Level.MUST}
    assert {code for code, level in by_level.items() if level is Level.ADVICE} == {"RTS016", "RTS024"}


@pytest.mark.parametrize("name", ["follows-redirects", "doubles-the-slash"])
def test_what_the_page_leaves_open_is_advice_at_most(name: str, tmp_path: Path) -> None:
    outcome = run(tmp_path, "runtime", *QUICK, "--requirement", "RTS001", "--mutant", name)
    assert (outcome.verdicts(), outcome.exit) == ({"RTS001": "advice"}, 0), outcome.out
