"""The runtime's side: the reference conforms, mutants are exact, wrong adapters get a sentence each."""

from __future__ import annotations

import ast
import json
import multiprocessing
import os
import random
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from rap_conformance.runtime.__main__ import main
from rap_conformance.runtime.run import certify, scenarios

from rap_conformance import contract
from rap_conformance.detection.runtimes import Outcome, Subject, examine, row, subjects
from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.run import Run, RunVerdict
from rap_conformance.places import place
from rap_conformance.protocol.specification import DEFAULT_REVISION, catalogue
from rap_conformance.runtime import embedded
from rap_conformance.runtime.adapter import adapter_contract
from rap_conformance.runtime.options import RuntimeOptions, Timing

ROOT = Path(__file__).resolve().parent.parent
RTS = catalogue().at(DEFAULT_REVISION, role="runtime")
SEED = int(os.environ.get("RAP_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 2**31)
SAMPLE = 3
SLOW = {"asks-nobody", "asks-everybody", "cuts-off-the-unknown", "keeps-on-false"}
ADAPTER = ROOT / "examples" / "adapters" / "adapter.py"


def certify_command(command: str, folder: Path) -> Run:
    timing = Timing(deadline=5.0, settle=0.2)
    return certify(RuntimeOptions(command, profile="quick", report_dir=folder, timing=timing))


def kill_loop(rounds: int) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(ROOT / "scripts" / "kill_loop.py"), str(rounds), "--seed", str(SEED)]
    return subprocess.run(words, capture_output=True, text=True, timeout=180, check=False, cwd=ROOT)


@dataclass
class UnderWay:
    """What takes long, started at once: mostly it waits."""

    examined: dict[str, Future[Outcome]]
    adapted: dict[str, tuple[Future[Run], Path]]
    loop: Future[subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def under_way(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UnderWay]:
    """The reference, a sample of mutants, the example adapters (Node's where there is Node), the kills."""
    mutants = [one for one in subjects() if one.expected and one.name not in SLOW]
    chosen = [Subject(), *random.Random(SEED).sample(mutants, SAMPLE)]
    commands = {"python": f"{shlex.quote(sys.executable)} {shlex.quote(str(ADAPTER))} {{port}}"}
    if shutil.which("node"):
        commands["node"] = f"node {shlex.quote(str(ADAPTER.with_suffix('.mjs')))} {{port}}"
    folders = {name: tmp_path_factory.mktemp(name) for name in commands}
    with ProcessPoolExecutor(7, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield UnderWay(
            {subject.name: pool.submit(examine, subject, SEED) for subject in chosen},
            {n: (pool.submit(certify_command, c, folders[n]), folders[n]) for n, c in commands.items()},
            pool.submit(kill_loop, 5),
        )


# --- what there is -----------------------------------------------------------------------------------------


def test_every_requirement_on_runtimes_has_a_scenario_and_every_scenario_a_requirement() -> None:
    assert sorted(scenarios()) == [requirement.code for requirement in RTS]
    assert [r.code for r in RTS] == [f"RTS{number:03}" for number in range(1, len(RTS) + 1)]
    assert not any(requirement.planned or requirement.unseen for requirement in RTS)
    for function in scenarios().values():
        assert (function.__doc__ or "").strip()


def test_a_run_against_a_server_plans_none_of_them() -> None:
    assert not [r.code for r in catalogue().at(DEFAULT_REVISION) if r.code.startswith("RTS")]
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


def test_the_example_adapter_is_short_and_the_schemas_are_those_documented() -> None:
    assert len(ADAPTER.read_text("utf-8").splitlines()) <= 60
    page = (ROOT / "docs" / "certify-a-runtime.md").read_text("utf-8")
    examples = [json.loads(text.split("```")[0]) for text in page.split("```json\n")[1:]]
    for schema, example in zip(("boot_request", "state"), examples, strict=True):
        assert adapter_contract().problems(schema, example) == []


# --- runs --------------------------------------------------------------------------------------------------


def test_the_reference_runtime_is_conformant(under_way: UnderWay) -> None:
    outcome = under_way.examined["reference"].result()
    assert outcome.exact, row(outcome)
    assert len(outcome.verdicts) == len(RTS)


@pytest.mark.parametrize("number", range(SAMPLE))
def test_a_sample_of_mutants_is_exact(under_way: UnderWay, number: int) -> None:
    futures = [future for name, future in under_way.examined.items() if name != "reference"]
    outcome = futures[number].result()
    assert outcome.exact, f"seed {SEED}\n{row(outcome)}"


@pytest.mark.parametrize("language", ["python", "node"])
def test_the_example_adapters_are_conformant(under_way: UnderWay, language: str) -> None:
    if language not in under_way.adapted:
        pytest.skip("there is no node here")
    future, folder = under_way.adapted[language]
    run = future.result()
    wrong = {r.requirement.code: r.reason for r in run.results if r.verdict is not Verdict.PASS}
    assert set(wrong) <= {"RTS015"}, "a runtime that always knows the server asks nobody else"
    assert (run.verdict, run.exit) == (RunVerdict.CONFORMANT, 0)
    report = json.loads((folder / "report.json").read_text("utf-8"))
    assert contract.problems("report", report) == []
    assert {entry["role"] for entry in report["requirements"]} == {"runtime"}
    assert "RTS001" in (folder / "junit.xml").read_text("utf-8")


def test_a_thousand_calls_and_a_silent_server_take_one_time_out() -> None:
    command, environment = embedded.command()
    run = certify(RuntimeOptions(command, environment, True, profile="thorough", selected=("RTS013",)))
    (result,) = run.results
    assert (result.verdict, result.reason) == (Verdict.PASS, "")
    assert result.duration < 30.0, "the silent server holds its answers for 30 s; nobody waited for it"


def test_kills_and_restarts_of_either_side_are_survived(under_way: UnderWay) -> None:
    done = under_way.loop.result()
    last = done.stdout.strip().splitlines()[-1:]
    assert done.returncode == 0, (last, done.stderr[-2000:])
    assert last[0].startswith("5 of 5 kills survived")


# --- adapters that are wrong -------------------------------------------------------------------------------

WRONG = """
import json, os, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
how, port = sys.argv[1], int(sys.argv[2])
if how == "exits":
    sys.exit("no such option: --colour")
threads = []
class Adapter(BaseHTTPRequestHandler):
    def do_POST(self):
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if how == "dies" and self.path == "/boot":
            print("a fatal error", flush=True)
            os._exit(5)
        if self.path == "/boot":
            threads[:] = [{"thread_id": t["thread_id"], "pending": [], "subscriptions": [], "injected": []}
                          for t in given["threads"]]
            if how == "forgets":
                threads.clear()
        self.reply(b"{}", 500 if how == "fails" else 200)
    def do_GET(self):
        if how == "hangs" and threads:
            time.sleep(60)
        if how == "lacks" and threads:
            del threads[0]["injected"]
        body = json.dumps({"threads": threads}).encode()
        self.reply(b"<html>" if how == "html" and threads else body)
    def reply(self, body, status=200):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
ThreadingHTTPServer(("127.0.0.1", port), Adapter).serve_forever()
"""


@pytest.mark.parametrize(
    ("how", "code", "says"),
    [
        ("exits", 4, "no such option: --colour"),
        ("html", 4, "answered GET /state with what is not JSON: '<html>'"),
        ("lacks", 4, "$.threads[0]: injected is missing"),
        ("forgets", 4, "lacks the thread rapc-thread-"),
        ("fails", 4, "answered POST /boot with status 500"),
        ("dies", 6, "a fatal error"),
        ("hangs", 6, "did not answer GET /state within 1 s"),
    ],
)
def test_a_wrong_adapter_gets_a_plain_sentence_and_no_verdict(
    tmp_path: Path, how: str, code: int, says: str
) -> None:
    script = tmp_path / "adapter.py"
    script.write_text(WRONG, "utf-8")
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(script))} {how} {{port}}"
    timing = Timing(idle=0.3, answer=1.0)
    run = certify(RuntimeOptions(command, selected=("RTS004",), report_dir=tmp_path, timing=timing))
    assert (run.exit, run.verdict) == (code, RunVerdict.INCOMPLETE)
    assert says in run.cut_short
    assert "\n" not in run.cut_short
    assert {result.verdict for result in run.results} == {Verdict.ERROR}
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert (report["exit"], report["verdict"]) == (code, "incomplete")
    assert contract.problems("report", report) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--adapter-cmd", ""], "--adapter-cmd"),
        (["--adapter-cmd", "node adapter.mjs"], "{port}"),
        (["--adapter-cmd", 'node "adapter {port}'], "--adapter-cmd"),
        (["--requirement", "RTS999"], "RTS999"),
        (["--requirement", "TCS001"], "not about a runtime"),
        (["--baseline", "/nowhere/known.toml"], "--baseline"),
        (["--catalogue", "new"], "--catalogue"),
        (["--report-dir", "/dev/null/reports"], "--report-dir"),
        (["--profile", "slow"], "--profile"),
        (["--colour"], "--colour"),
    ],
)
def test_bad_options_are_refused_in_one_line(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, *([] if "--report-dir" in arguments else ["--no-report"])]) == 4
    said = capsys.readouterr()
    assert says in said.err
    assert said.err.count("\n") == 1
    assert not said.out


def test_a_baseline_lets_known_failures_in_and_can_only_shrink(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = tmp_path / "known.toml"
    known.write_text('[[known]]\nrequirement = "RTS001"\nreason = "until the next release"\n', "utf-8")
    given = ["--requirement", "RTS001", "--baseline", str(known), "--no-report"]
    assert main([*given, "--mutant", "sends-text"]) == 0
    assert "1 known" in capsys.readouterr().out
    assert main(given) == 1, "mended, and still listed"
    assert "baseline" in capsys.readouterr().out


@pytest.mark.parametrize("after", [0.0, 1.0], ids="after {} s".format)
def test_a_terminated_run_writes_its_reports(after: float, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "rap_conformance", "runtime", "--report-dir", str(tmp_path)]
    running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT)
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
    assert {code for code, level in by_level.items() if level is Level.ADVICE} == {"RTS016"}
