"""`rap-conformance check` as its users meet it: bad input, nobody there, interruption, what is left."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import QUICK, command, environment, run, unused_port

REFERENCE = f'"{sys.executable}" -m rap_conformance serve --port {{port}}'
NOWHERE = "http://127.0.0.1:1"


def test_an_address_in_use_is_bad_input(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        outcome = run(tmp_path, "check", "--server-url", NOWHERE, "--callback-bind", address)
    assert outcome.exit == 4
    assert address in outcome.err
    assert "in use" in outcome.err


def test_a_command_that_exits_at_once_shows_its_last_lines(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text("print('cannot find the database'); raise SystemExit(3)")
    outcome = run(tmp_path, "check", "--server-cmd", f'"{sys.executable}" server.py {{port}}')
    assert outcome.exit == 4
    assert "status 3" in outcome.out
    assert "cannot find the database" in outcome.out
    assert not any(verdict == "pass" for verdict in outcome.verdicts().values())


def test_nobody_there_is_exit_6_without_a_pass_and_without_stale_reports(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    reports.mkdir()
    for name in ("report.html", "junit.xml"):
        (reports / name).write_text("yesterday: 93 % passed")
    (reports / "mine.txt").write_text("not yours")
    outcome = run(tmp_path, "check", "--server-url", f"http://127.0.0.1:{unused_port()}")
    assert outcome.exit == 6
    assert "nobody answers" in outcome.out
    assert outcome.report["verdict"] == "incomplete"
    assert outcome.report["exit"] == 6
    assert outcome.report["counts"]["pass"] == 0
    for path in reports.iterdir():
        assert "93 %" not in path.read_text("utf-8")
    assert (reports / "mine.txt").read_text() == "not yours"


def test_a_failure_is_said_as_soon_as_it_is_found(tmp_path: Path) -> None:
    server = f"{REFERENCE} --mutant not-declared"
    outcome = run(tmp_path, "check", "--server-cmd", server, "--requirement", "TCS002", "--no-report", *QUICK)
    lines = outcome.out.splitlines()
    assert lines[0].startswith("1 requirement")
    found = next(number for number, line in enumerate(lines) if line.startswith("FOUND    TCS002 "))
    assert found < lines.index("FAIL TCS002 media-type (MUST)")


@pytest.mark.parametrize(("value", "noted"), [("Bearer tok-7c1", True), ("env:RAPC_TOKEN", False)])
def test_a_credential_on_the_command_line_is_noted(
    value: str, noted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAPC_TOKEN", "Bearer tok-7c1")
    words = ("--auth-header", f"Authorization: {value}", "--requirement", "DSC001", "--no-report")
    outcome = run(tmp_path, "check", "--server-cmd", f"{REFERENCE} --token tok-7c1", *words, *QUICK)
    assert ("--auth-header 'Authorization: env:RAP_TOKEN'" in outcome.out) is noted
    assert "tok-7c1" not in outcome.out.replace(f"{REFERENCE} --token tok-7c1", "")


@pytest.mark.long
@pytest.mark.parametrize("after", [0.0, 0.3, 1.5], ids="after {} s".format)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_an_interrupted_run_writes_its_reports(number: signal.Signals, after: float, tmp_path: Path) -> None:
    port = unused_port()
    server = subprocess.Popen(command("serve", "--port", str(port)), env=environment())
    try:
        _until_answered(port)
        running = subprocess.Popen(
            command(
                "check", "--server-url", f"http://127.0.0.1:{port}", "--no-auth", "--profile", "thorough"
            ),
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        report = tmp_path / "reports" / "report.json"
        deadline = time.monotonic() + 30
        while not report.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert json.loads(report.read_text())["verdict"] == "incomplete", "said before anything was judged"
        time.sleep(after)  # somewhere before or in the middle: where exactly decides nothing
        running.send_signal(number)
        out, err = running.communicate(timeout=30)
        assert running.returncode == 7, out + err
        said = json.loads(report.read_text())
        assert said["verdict"] == "incomplete"
        assert "interrupted" in said["cut_short"]
        assert (tmp_path / "reports" / "report.html").exists()
        assert b"Traceback" not in out + err
        # We left the server as we found it: it still answers.
        _until_answered(port)
    finally:
        server.terminate()
        server.wait(10)


def test_a_killed_run_leaves_no_stale_verdict_and_no_server(tmp_path: Path) -> None:
    running = subprocess.Popen(
        command("check", "--server-cmd", REFERENCE, "--no-auth"),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
    )
    assert running.stdout is not None
    first = running.stdout.readline().decode()
    port = int(first.split("http://127.0.0.1:")[1].split()[0])
    _until_answered(port)
    running.kill()
    running.communicate(timeout=10)
    assert json.loads((tmp_path / "reports" / "report.json").read_text())["verdict"] == "incomplete"
    deadline = time.monotonic() + 10
    while _listens(port) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _listens(port), "the server that the suite started outlived it"


def test_max_time_ends_the_run_as_incomplete(tmp_path: Path) -> None:
    outcome = run(tmp_path, "check", "--server-cmd", REFERENCE, "--no-auth", "--max-time", "2", *QUICK)
    assert outcome.exit == 7
    assert "--max-time" in outcome.last
    assert outcome.report["duration_s"] < 12


def test_a_selection_is_partial_and_strict_makes_that_exit_7(tmp_path: Path) -> None:
    arguments = ("check", "--server-cmd", REFERENCE, "--no-auth", "--requirement", "dsc00[1-5]", *QUICK)
    outcome = run(tmp_path, *arguments)
    assert (outcome.exit, outcome.report["verdict"]) == (0, "partial")
    assert set(outcome.verdicts().values()) == {"pass"}
    assert run(tmp_path, *arguments, "--strict").exit == 7


def test_no_report_leaves_nothing_behind(tmp_path: Path) -> None:
    outcome = run(
        tmp_path,
        "check",
        "--server-cmd",
        REFERENCE,
        "--no-auth",
        "--no-report",
        "--requirement",
        "DSC002",
        *QUICK,
    )
    assert outcome.exit == 0
    assert list(tmp_path.iterdir()) == []


def test_a_configuration_file_of_the_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "rap-conformance.toml").write_text(
        f"[server]\ncommand = '''{REFERENCE}'''\n"
        "[scenario.quick]\noperation = 'echo'\narguments = { text = 'x' }\n"
    )
    outcome = run(tmp_path, "check", "--no-auth", "--requirement", "TCS006", *QUICK)
    assert outcome.verdicts() == {"TCS006": "pass"}


def test_gentle_neither_floods_nor_kills(tmp_path: Path) -> None:
    outcome = run(
        tmp_path,
        "check",
        "--server-cmd",
        REFERENCE,
        "--no-auth",
        "--gentle",
        "--requirement",
        "TCS01[349]",
        *QUICK,
    )
    assert outcome.verdicts() == {"TCS013": "untested", "TCS014": "untested", "TCS019": "untested"}


def test_list_and_explain_need_no_server(tmp_path: Path) -> None:
    listed = run(tmp_path, "list", "--json")
    assert listed.exit == 0
    codes = [entry["code"] for entry in json.loads(listed.out)]
    assert "TCS037" in codes
    explained = run(tmp_path, "explain", "tcs004")
    assert explained.exit == 0
    assert "unknown-not-alive" in explained.out
    assert run(tmp_path, "explain", "TCS999").exit == 4


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _until_answered(port: int) -> None:
    deadline = time.monotonic() + 20
    while not _listens(port):
        assert time.monotonic() < deadline, "the server did not start"
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("header", "cause"),
    [
        ([], "none are configured"),
        (["--auth-header", "Authorization: Bearer wrong"], "refuses the configured"),
    ],
    ids=["missing", "wrong"],
)
def test_refused_credentials_are_one_cause_and_no_failures(
    header: list[str], cause: str, tmp_path: Path
) -> None:
    (tmp_path / "rap-conformance.toml").write_text(
        "[scenario.quick]\noperation = 'echo'\narguments = { text = 'x' }\n"
    )
    outcome = run(tmp_path, "check", "--server-cmd", f"{REFERENCE} --token right", *header, *QUICK)
    assert sum(cause in line for line in outcome.out.splitlines() if line.startswith("cause:")) == 1
    verdicts = outcome.verdicts()
    assert {
        v for code, v in verdicts.items() if code.startswith("TCS") and code not in {"TCS017", "TCS018"}
    } == {"untested"}
    assert "fail" not in verdicts.values()


def test_random_lives_are_lived_without_what_is_declared_absent(tmp_path: Path) -> None:
    (tmp_path / "rap-conformance.toml").write_text(
        "[features]\nsubscription = false\n[timing]\ngrace = 5.0\n"
        "[scenario.quick]\noperation = 'echo'\narguments = { text = 'a' }\n"
        "[scenario.pending]\noperation = 'wait'\narguments = { seconds = 2 }\nseconds = 2\n"
    )
    serve = f'"{sys.executable}" -m rap_conformance serve --port {{port}}'
    chosen = ("--requirement", "TCS006", "--requirement", "TCS007")
    outcome = run(tmp_path, "check", "--server-cmd", serve, "--no-auth", *chosen, *QUICK, within=120)
    assert outcome.verdicts() == {"TCS006": "pass", "TCS007": "not-applicable"}
    (notes,) = [entry["notes"] for entry in outcome.report["requirements"] if entry["code"] == "TCS006"]
    assert any("random lives; transitions taken" in note for note in notes), notes
