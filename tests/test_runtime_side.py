"""The runtime's side: the reference conforms, mutants are exact, wrong adapters get a sentence each."""

from __future__ import annotations

import ast
import importlib
import json
import random
import shlex
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
from rap_conformance.engine.inputs import ConfigError
from rap_conformance.engine.options import Options
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.scenario import Refused, scenario_of
from rap_conformance.places import place
from rap_conformance.protocol.specification import DEFAULT_REVISION, catalogue
from rap_conformance.request import read_document
from rap_conformance.runtime import embedded
from rap_conformance.runtime.adapter import adapter_contract
from rap_conformance.runtime.options import RuntimeOptions, Timing
from rap_conformance.runtime.preflight import begin
from rap_conformance.runtime.role import RUNTIME as RUNTIME_ROLE
from rap_conformance.runtime.session import RuntimeSession
from tests import warm
from tests.support import QUICK, ROOT, Outcome, command, environment, run
from tests.warm import SEED

RTS = catalogue().at(DEFAULT_REVISION, role="runtime")
SAMPLE = 3
SLOW = {"asks-nobody", "asks-everybody", "cuts-off-the-unknown", "keeps-on-false"}
ADAPTER = ROOT / "examples" / "adapters" / "adapter.py"


def words(*parts: object) -> str:
    """A command line; `{port}` is left as it is."""
    return " ".join("{port}" if part == "{port}" else shlex.quote(str(part)) for part in parts)


EXAMPLES = {"python": words(sys.executable, ADAPTER, "{port}")}
if shutil.which("node"):
    EXAMPLES["node"] = words("node", ADAPTER.with_suffix(".mjs"), "{port}")


def certified(adapter: str, folder: Path, *options: str) -> Outcome:
    """A run against an adapter that the configuration in the working directory names."""
    lines = ["[runtime]", f"adapter = {json.dumps(adapter)}", "settle = 5", "[features]", "status = true"]
    (folder / "rap-conformance.toml").write_text("\n".join(lines) + "\n", "utf-8")
    return run(folder, "runtime", *QUICK, *options, within=150.0)


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


# --- adapters that are wrong -------------------------------------------------------------------------------

WRONG = """
import json, os, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
how, port = sys.argv[1], int(sys.argv[2])
if how == "exits":
    sys.exit("no such option: --colour")
late = how.startswith("late-")
how, threads, boots = how.removeprefix("late-"), [], []
class Adapter(BaseHTTPRequestHandler):
    def do_POST(self):
        global how
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/boot":
            boots.append(given)
        wrong = len(boots) > (2 if late else 0)
        if how == "dies" and wrong:
            print("a fatal error", flush=True)
            os._exit(5)
        if self.path == "/boot" and given["threads"] is not None:
            threads[:] = [{"thread_id": t["thread_id"], "pending": [], "subscriptions": [], "injected": []}
                          for t in given["threads"]]
            if how == "forgets":
                threads.clear()
        twins = {t["thread_id"]: "one" for t in given.get("threads") or ()}
        particular = {"misspells": {"unsupported": ["several_pending"]}, "twins": {"thread_ids": twins}}
        said = particular.get(how, {})
        self.reply(json.dumps(said).encode(), 500 if how == "fails" else 200)
    def do_GET(self):
        wrong = len(boots) > (2 if late else 0)
        if how == "hangs" and wrong:
            time.sleep(60)
        if how == "lacks" and wrong:
            del threads[0]["injected"]
        said = {"callback_url": "http://127.0.0.1:9/"} if "callback" in self.path else {"threads": threads}
        self.reply(b"<html>" if how == "html" and wrong else json.dumps(said).encode())
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
        ("misspells", 4, "$.unsupported[0]: must be one of 'several-pending', "),
        ("twins", 4, "gives two threads one id in thread_ids"),
        ("dies", 6, "a fatal error"),
        ("hangs", 6, "did not answer GET /state within 1 s"),
    ],
)
def test_a_wrong_adapter_gets_a_plain_sentence(tmp_path: Path, how: str, code: int, says: str) -> None:
    options = RuntimeOptions(wrong(tmp_path, how), timing=Timing(settle=0.5, answer=1.0))
    session = RuntimeSession(options, Options(RTS, DEFAULT_REVISION))
    try:
        with pytest.raises(Refused) as refused:
            begin(session)
    finally:
        session.close()
    assert refused.value.exit == code
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def wrong(folder: Path, how: str) -> str:
    """The command of an adapter that is wrong in some way."""
    (folder / "adapter.py").write_text(WRONG, "utf-8")
    return words(sys.executable, folder / "adapter.py", how, "{port}")


@pytest.mark.parametrize(
    ("how", "code", "says"),
    [
        ("exits", 4, "no such option: --colour"),
        ("late-html", 4, "answered GET /state with what is not JSON: '<html>'"),
        ("late-dies", 6, "a fatal error"),
    ],
)
def test_an_adapter_that_goes_wrong_at_any_moment_brings_no_verdict(
    tmp_path: Path, how: str, code: int, says: str
) -> None:
    outcome = certified(wrong(tmp_path, how), tmp_path, "--requirement", "RTS00[34]")
    report = outcome.report
    assert (outcome.exit, report["exit"], report["verdict"]) == (code, code, "incomplete"), outcome.out
    said = [line for line in outcome.out.splitlines() if line.startswith("rap-conformance: ")]
    assert [says in line for line in said] == [True]
    assert says in report["cut_short"]
    assert set(outcome.verdicts().values()) == {"error"}
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
def test_bad_options_are_refused_in_one_line(arguments: list[str], says: str, tmp_path: Path) -> None:
    outcome = run(tmp_path, "runtime", *arguments)
    assert outcome.exit == 4
    (line,) = filter(None, outcome.err.splitlines())
    assert says in line
    assert not outcome.out
    assert not [*tmp_path.iterdir()], "nothing was begun"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[runtime]\nadaptor = "x {port}"', "runtime.adaptor: is unknown; did you mean adapter?"),
        ('[runtime]\nadapter = "node adapter.mjs"', "{port}"),
        ('[runtime]\nadapter = "node \\"adapter {port}"', "runtime.adapter: "),
        ("[runtime]\nsettle = true", "runtime.settle: got True (a boolean); allowed: a number of seconds"),
        ("[runtime]\nstatus_timeout = 0", "runtime.status_timeout: "),
        ("runtime = 5", "runtime: got 5 (an integer); allowed: a table"),
        ('[server]\nulr = "http://127.0.0.1:1"', "server.ulr: is unknown; did you mean url?"),
        ("[scenario.pending]\nsecond = 3", "scenario.pending.second: is unknown; did you mean seconds?"),
        ("[scenario.odd]", "scenario.odd: is unknown"),
        ("[auth.other]\norigins = []", "auth.other.origins: is unknown"),
        ("[runtimes]", "runtimes: is unknown; did you mean runtime?"),
    ],
)
def test_a_bad_configuration_is_refused_in_one_line(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "rap-conformance.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(ConfigError) as refused:
        settings(file)
    assert says in str(refused.value)
    assert str(refused.value).isprintable()


def settings(file: Path, **given: str) -> RuntimeOptions:
    """What a run against a runtime makes of a configuration."""
    all_given = {"rap_adapter_cmd": None, "rap_mutant": None, **given}
    session = RUNTIME_ROLE.read(all_given, read_document(str(file))).session(Options(RTS, DEFAULT_REVISION))
    assert isinstance(session, RuntimeSession)
    session.close()
    return session.options


def test_the_configuration_is_read_and_the_other_role_has_its_own(tmp_path: Path) -> None:
    file = tmp_path / "rap-conformance.toml"
    file.write_text(
        '[runtime]\nadapter = "node a.mjs {port}"\nstatus_timeout = 2\nsettle = 30\n'
        '[auth]\nheaders = { Authorization = "env:RAP_TEST_ABSENT" }\n',
        "utf-8",
    )
    options = settings(file)
    assert (options.command, options.embedded) == ("node a.mjs {port}", False)
    assert (options.timing.status_timeout, options.timing.settle) == (2.0, 30.0)
    assert settings(file, rap_adapter_cmd="b {port}").command == "b {port}"
    assert settings(file, rap_mutant="sends-text").embedded
    assert settings(file, rap_mutant="sends-text").timing.settle == 30.0
    (tmp_path / "rap-conformance.toml").write_text('[server]\nurl = "http://127.0.0.1:1"\n', "utf-8")
    assert settings(file).embedded, "without an adapter it is the reference runtime"


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
