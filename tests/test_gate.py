"""The gate: which verdicts let a server in, the baseline, and what cannot be green by accident."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from rap_conformance.engine.catalogue import Catalogue
from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.run import Result
from rap_conformance.engine.verdict import judge, musts
from rap_conformance.protocol.specification import RAP, catalogue
from tests.support import QUICK, command, environment, run, unused_port
from tests.test_check import REFERENCE, _until_answered

ROOT = Path(__file__).resolve().parent.parent
MUST, SHOULD, ADVICE = (next(r for r in catalogue() if r.level is level) for level in Level)
NAMELESS = ("check", "--server-cmd", f"{REFERENCE} --mutant manifest-without-name", "--no-auth", *QUICK)


def results(*verdicts: Verdict) -> list[Result]:
    """A result for each verdict, of a requirement that can have it."""
    of = {Verdict.WARN: SHOULD, Verdict.ADVICE: ADVICE}
    return [Result(of.get(verdict, MUST), verdict) for verdict in verdicts]


P, F, W, A, K, U, N, E = (
    Verdict.PASS,
    Verdict.FAIL,
    Verdict.WARN,
    Verdict.ADVICE,
    Verdict.KNOWN,
    Verdict.UNTESTED,
    Verdict.NOT_APPLICABLE,
    Verdict.ERROR,
)


@pytest.mark.parametrize(
    ("verdicts", "more", "expected"),
    [
        ((P, P, N), {}, ("conformant", 0)),
        ((P, W, A), {}, ("conformant", 0)),
        ((P, K), {}, ("partial", 0)),
        ((P, K), {"strict": True}, ("partial", 0)),
        ((P, W), {"level": "should"}, ("not-conformant", 1)),
        ((P, A), {"level": "should"}, ("conformant", 0)),
        ((P, U), {}, ("partial", 0)),
        ((P, U), {"strict": True}, ("partial", 7)),
        ((P,), {"selection": True}, ("partial", 0)),
        ((P,), {"selection": True, "strict": True}, ("partial", 7)),
        ((P, N), {"doubtful": True}, ("partial", 0)),
        ((P, N), {"doubtful": True, "strict": True}, ("partial", 7)),
        ((P, F), {}, ("not-conformant", 1)),
        ((P, F, E), {}, ("not-conformant", 1)),
        ((P, F), {"cut_short": "interrupted"}, ("not-conformant", 1)),
        ((P, P), {"stale": True}, ("not-conformant", 1)),
        ((P, E), {}, ("incomplete", 7)),
        ((P, P), {"cut_short": "interrupted"}, ("incomplete", 7)),
        ((P, P), {"planned": 3}, ("incomplete", 7)),
        ((), {}, ("incomplete", 7)),
    ],
)
def test_every_row_of_the_verdict_table(
    verdicts: tuple[Verdict, ...], more: dict[str, object], expected: tuple[str, int]
) -> None:
    judged = results(*verdicts)
    given = {"planned": len(judged), **more}
    assert judge(judged, **given) == expected  # type: ignore[arg-type]


def test_musts_that_do_not_apply_are_not_counted() -> None:
    assert musts(results(P, U, N, W)) == (1, 2)


def test_a_pin_makes_later_requirements_advice() -> None:
    later = replace(MUST, since="0.9")
    assert Catalogue((later, SHOULD), RAP).pinned("0.1").requirements[0].level is Level.ADVICE
    assert Catalogue((later, SHOULD), RAP).pinned("0.9").requirements[0].level is Level.MUST
    assert catalogue().pinned(None) == catalogue(), "nothing of the first version is new"


def test_a_failure_is_exit_1_and_can_be_repeated(tmp_path: Path) -> None:
    outcome = run(tmp_path, *NAMELESS, "--requirement", "DSC*")
    assert outcome.exit == 1
    assert outcome.last.startswith("not-conformant: 1 failed")
    assert "FAIL" in outcome.out
    whole = (tmp_path / "reports" / "report.json").read_bytes()

    def judged_again() -> dict[str, str]:
        report = json.loads((tmp_path / "reports" / "failed" / "report.json").read_bytes())
        return {each["code"]: each["verdict"] for each in report["requirements"]}

    run(tmp_path, *NAMELESS, "--failed")
    assert judged_again() == {"DSC002": "fail"}
    run(tmp_path, "check", "--server-cmd", REFERENCE, "--no-auth", "--failed", *QUICK)
    assert judged_again() == {"DSC002": "pass"}
    assert (tmp_path / "reports" / "report.json").read_bytes() == whole, "the report of the whole run stays"
    nothing = run(tmp_path, *NAMELESS, "--failed")
    assert nothing.exit == 4
    assert "nothing failed" in nothing.err


@pytest.mark.long
def test_a_baseline_lets_known_failures_in_and_can_only_shrink(tmp_path: Path) -> None:
    selection = ("--requirement", "DSC*")
    run(tmp_path, *NAMELESS, *selection)
    made = run(tmp_path, "baseline", "reports/report.json")
    assert made.exit == 0
    written = made.out.replace('reason = ""', 'reason = "named at the gateway"')
    assert run(tmp_path, *NAMELESS, "--baseline", "reports/report.json").exit == 4, "no TOML"
    (tmp_path / "known.toml").write_text(written, "utf-8")
    known = run(tmp_path, *NAMELESS, *selection, "--baseline", "known.toml")
    assert (known.exit, known.verdicts()["DSC002"]) == (0, "known")

    stale = run(
        tmp_path,
        "check",
        "--server-cmd",
        REFERENCE,
        "--no-auth",
        *QUICK,
        *selection,
        "--baseline",
        "known.toml",
    )
    assert (stale.exit, stale.report["verdict"]) == (1, "not-conformant")
    assert "take it out of the baseline" in stale.out

    other_case = written.replace('case = "', 'case = "0000')
    assert other_case != written
    (tmp_path / "other.toml").write_text(other_case, "utf-8")
    other = run(tmp_path, *NAMELESS, *selection, "--baseline", "other.toml")
    assert (other.exit, other.verdicts()["DSC002"]) == (1, "fail")

    elsewhere = run(tmp_path, *NAMELESS, "--requirement", "DSC001", "--baseline", "known.toml")
    assert elsewhere.exit == 0, "entries outside the selection are ignored"


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        ('requirement = "DSC002"\nreason = "r"\nexpires = 2020-01-01', "expired"),
        ('requirement = "DSC999"\nreason = "r"', "DSC999"),
        ('requirement = "DSC002"', "reason"),
        ('requirement = "DSC002"\nreason = "r"\nwhy = "x"', "why"),
    ],
    ids=["expired", "unknown", "no-reason", "unknown-key"],
)
def test_a_bad_baseline_is_refused_before_the_first_request(entry: str, word: str, tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text(f"[[known]]\n{entry}\n")
    outcome = run(tmp_path, "check", "--server-url", "http://127.0.0.1:1", "--baseline", "known.toml")
    assert outcome.exit == 4
    assert word in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1


def test_a_selection_earns_neither_badge_nor_attestation(tmp_path: Path) -> None:
    outcome = run(tmp_path, "check", "--server-cmd", REFERENCE, "--no-auth", "--requirement", "DSC*", *QUICK)
    assert outcome.exit == 0
    names = {path.name for path in (tmp_path / "reports").iterdir()}
    assert names == {"report.html", "report.json", "junit.xml", "summary.md", "exchanges.har"}


def test_the_summary_is_appended_where_github_wants_it(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n")
    run(
        tmp_path,
        "check",
        "--server-cmd",
        REFERENCE,
        "--no-auth",
        "--requirement",
        "DSC002",
        *QUICK,
        GITHUB_STEP_SUMMARY=str(page),
    )
    assert page.read_text("utf-8").startswith("before\n")
    assert "Partial" in page.read_text("utf-8")


def test_a_full_disk_is_never_green(tmp_path: Path) -> None:
    done = subprocess.run(
        command("check", "--server-cmd", REFERENCE, "--no-auth", "--requirement", "DSC*", *QUICK),
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert "could not be written" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    left = json.loads((tmp_path / "reports" / "report.json").read_text("utf-8"))
    assert left["verdict"] == "incomplete"


def test_an_error_of_ours_accuses_nobody_and_is_incomplete(tmp_path: Path) -> None:
    (tmp_path / "broken_suite.py").write_text(
        "import pytest\n"
        "from rap_conformance.engine.controls import Positive\n"
        "from rap_conformance.engine.scenario import scenario\n\n"
        "@pytest.hookimpl(tryfirst=True)\n"
        "def pytest_collection_modifyitems(items):\n"
        "    for item in items:\n"
        "        if item.name == 'test_named':\n"
        "            item.obj = scenario('DSC002', control=Positive('it'))(lambda peer: 1 / 0)\n"
    )
    done = subprocess.run(
        [
            sys.executable,
            *("-m", "pytest", "-p", "no:cacheprovider", "-p", "broken_suite"),
            *("--rap-requirement", "DSC00[1-4]", f"--rap-report-dir={tmp_path / 'reports'}"),
        ],
        cwd=ROOT,
        env=environment(PYTHONPATH=str(tmp_path)),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 7, done.stdout + done.stderr
    report = json.loads((tmp_path / "reports" / "report.json").read_text("utf-8"))
    verdicts = {entry["code"]: entry["verdict"] for entry in report["requirements"]}
    assert verdicts == {"DSC001": "pass", "DSC002": "error", "DSC003": "pass", "DSC004": "pass"}
    assert "our own error" in done.stdout
    assert "1 error" in done.stdout


@pytest.mark.long
def test_a_server_killed_mid_run_is_incomplete_and_said_once(tmp_path: Path) -> None:
    port = unused_port()
    server = subprocess.Popen(command("serve", "--port", str(port)), env=environment())
    _until_answered(port)
    (tmp_path / "rap-conformance.toml").write_text(
        "[timing]\ngrace = 3.0\n"
        "[scenario.pending]\noperation = 'wait'\narguments = { seconds = 6 }\nseconds = 6\n"
    )
    running = subprocess.Popen(
        command("check", "--server-url", f"http://127.0.0.1:{port}", "--no-auth", *QUICK),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    said = running.stdout.readline()  # when it begins
    time.sleep(3.0)  # somewhere in the middle: where exactly decides nothing
    server.kill()
    server.wait(10)
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 7, said + out
    report = json.loads((tmp_path / "reports" / "report.json").read_text("utf-8"))
    assert report["verdict"] == "incomplete"
    assert report["counts"]["fail"] == 0
    assert "stopped answering" in report["cut_short"] or "nobody answers" in report["cut_short"]


def test_tests_of_the_environment_do_not_count(tmp_path: Path) -> None:
    assert "PYTEST_CURRENT_TEST" in os.environ
    outcome = run(
        tmp_path,
        "check",
        "--server-cmd",
        REFERENCE,
        "--no-auth",
        "--requirement",
        "DSC002",
        *QUICK,
        PYTEST_ADDOPTS="--nonsense",
        PYTEST_PLUGINS="no_such_module",
    )
    assert outcome.exit == 0, outcome.out + outcome.err
