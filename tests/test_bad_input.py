"""Fifty mistakes of a user: each is one line that says what is wrong, found and allowed, and exit 4 or 6."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT, environment, run

NOWHERE = "http://127.0.0.1:1"
AT = ["check", "--server-url", NOWHERE]
RUNTIME = ["runtime", "--adapter-cmd", "x {port}"]

MISTAKES: dict[str, tuple[list[str], str, str]] = {
    # the target
    "no-target": (["check"], "--server-url", "--server-cmd"),
    "empty-url": (["check", "--server-url", ""], "--server-url", "http"),
    "url-without-scheme": (["check", "--server-url", "127.0.0.1:3001"], "--server-url", "http"),
    "url-of-another-scheme": (["check", "--server-url", "ftp://127.0.0.1"], "--server-url", "http"),
    "url-with-a-query": (["check", "--server-url", "http://127.0.0.1/?a=b"], "--server-url", "allowed"),
    "url-with-a-wrong-port": (["check", "--server-url", "http://127.0.0.1:99999"], "--server-url", "port"),
    "two-targets": ([*AT, "--server-cmd", "x {port}"], "--server-url", "--server-cmd"),
    "empty-command": (["check", "--server-cmd", ""], "--server-cmd", "command line"),
    "command-without-port": (["check", "--server-cmd", "node server.mjs"], "--server-cmd", "{port}"),
    "command-with-an-open-quote": (["check", "--server-cmd", "node 'x {port}"], "--server-cmd", "quot"),
    "adapter-without-port": (["runtime", "--adapter-cmd", "node x"], "--adapter-cmd", "{port}"),
    "unknown-mutant-of-a-runtime": (["runtime", "--mutant", "no-such"], "--mutant", "no-such"),
    # the configuration
    "unknown-key": (["check", "--config", "key.toml"], "urll", "url"),
    "wrong-type": (["check", "--config", "type.toml"], "server.url", "3"),
    "absent-file": (["check", "--config", "absent.toml"], "absent.toml", "read"),
    "a-folder-for-a-file": (["check", "--config", "."], "cannot be read", "directory"),
    "not-toml": (["check", "--config", "broken.toml"], "broken.toml", "line"),
    "not-utf-8": (["check", "--config", "latin.toml"], "latin.toml", "UTF-8"),
    # who we are
    "variable-not-set": ([*AT, "--auth-header", "A: env:RAPC_NOT_SET"], "RAPC_NOT_SET", "set"),
    "header-without-a-colon": ([*AT, "--auth-header", "Bearer"], "--auth-header", "Name: value"),
    "header-with-a-bad-name": ([*AT, "--auth-header", "a b: c"], "--auth-header", "Name: value"),
    "credentials-and-none": ([*AT, "--no-auth", "--auth-header", "A: b"], "--no-auth", "credentials"),
    # what is judged
    "unknown-requirement": ([*AT, "--requirement", "TCS999"], "TCS999", "list"),
    "requirement-of-the-other-role": ([*AT, "--requirement", "RTS001"], "RTS001", "list"),
    "unknown-profile": ([*AT, "--profile", "slow"], "slow", "quick"),
    "unknown-level": ([*AT, "--level", "may"], "--level", "should"),
    "unknown-policy": ([*AT, "--invoke", "all"], "--invoke", "read-only"),
    "seed-of-letters": ([*AT, "--seed", "x"], "--seed", "whole number"),
    "seed-of-thirty-digits": ([*AT, "--seed", "1" * 30], "--seed", "19 digits"),
    "seed-below-zero": ([*AT, "--seed=-1"], "--seed", "0 or more"),
    "catalogue-of-the-future": ([*AT, "--catalogue", "9.9"], "--catalogue", "0.1"),
    "catalogue-that-is-none": ([*AT, "--catalogue", "new"], "--catalogue", "0.1"),
    "time-below-zero": ([*AT, "--max-time=-3"], "--max-time", "seconds"),
    "time-that-is-no-number": ([*AT, "--max-time", "nan"], "--max-time", "seconds"),
    "gentle-and-not": ([*AT, "--gentle", "--not-gentle"], "--gentle", "--not-gentle"),
    "subject-without-a-digest": ([*AT, "--subject", "image"], "--subject", "sha256"),
    # where things go
    "empty-report-folder": ([*AT, "--report-dir", ""], "--report-dir", "--no-report"),
    "report-folder-that-is-a-file": ([*AT, "--report-dir", "key.toml"], "--report-dir", "folder"),
    "nothing-failed-before": ([*AT, "--failed"], "--failed", "without it"),
    "absent-baseline": ([*AT, "--baseline", "absent.toml"], "absent.toml", "read"),
    "receiver-without-a-port": ([*AT, "--callback-bind", "127.0.0.1"], "--callback-bind", "HOST:PORT"),
    "callback-url-of-another-scheme": ([*AT, "--callback-url", "mail:a"], "--callback-url", "http"),
    # options there are not
    "unknown-option": ([*AT, "--no-such"], "--no-such", "option"),
    "workers": ([*AT, "-n", "2"], "-n", "one target, one process"),
    "reruns": ([*AT, "--reruns", "2"], "--reruns", "second run"),
    "a-word-too-many": ([*AT, "word"], "word", "argument"),
    "an-option-of-servers": ([*RUNTIME, "--no-auth"], "--no-auth", "option"),
    # other commands
    "unknown-command": (["chekc"], "chekc", "command"),
    "unknown-code": (["explain", "TCS999"], "TCS999", "list"),
    "a-name-that-is-nearly-one": (["explain", "raet-limited"], "rate-limited", "TCS019"),
    "unknown-mutant": (["serve", "--mutant", "no-such"], "no-such", "list --mutants"),
    "prefix-without-a-slash": (["serve", "--prefix", "rap"], "--prefix", "/rap"),
    "a-port-that-is-none": (["serve", "--port", "99999"], "--port", "65535"),
    "init-of-no-url": (["init", "--server-url", "x"], "--server-url", "http"),
    "init-over-a-file": (["init", "--server-url", NOWHERE, "-o", "key.toml"], "key.toml", "--force"),
    "nothing-to-compare": (["compare", "absent.json"], "absent.json", "read"),
    "one-report-to-compare": (["compare", "a.json", "--fail-on-regression"], "--fail-on-regression", "two"),
    "baseline-of-no-report": (["baseline", "a.json"], "a.json", "report"),
    "replay-without-a-code": (["replay", "a.json"], "CODE", "argument"),
    "replay-of-no-report": (["replay", "a.json", "TCS001"], "a.json", "report"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "key.toml").write_text('[server]\nurll = "http://127.0.0.1:1"\n')
    (tmp_path / "type.toml").write_text("[server]\nurl = 3\n")
    (tmp_path / "broken.toml").write_text("[server\n")
    (tmp_path / "latin.toml").write_bytes(b'[server]\nurl = "\xe9"\n')
    (tmp_path / "a.json").write_text(json.dumps({"a": 1}))
    return tmp_path


def test_there_are_fifty_of_them() -> None:
    assert len(MISTAKES) >= 50


@pytest.mark.parametrize("name", MISTAKES)
def test_bad_input_is_one_line_and_exit_4(name: str, folder: Path) -> None:
    arguments, *words = MISTAKES[name]
    outcome = run(folder, *arguments)
    assert outcome.exit == 4, outcome.out + outcome.err
    lines = [line for line in (outcome.out + outcome.err).splitlines() if line.strip()]
    assert len(lines) == 1, lines
    for word in words:
        assert word in lines[0]
    assert not (folder / "reports" / "report.html").exists()


@pytest.mark.parametrize("arguments", [AT, ["init", "--server-url", NOWHERE]], ids=["check", "init"])
def test_nobody_at_the_url_is_exit_6(arguments: list[str], tmp_path: Path) -> None:
    outcome = run(tmp_path, *arguments)
    assert outcome.exit == 6
    assert "connection refused" in outcome.out + outcome.err


def test_the_bare_command_shows_the_help(tmp_path: Path) -> None:
    outcome = run(tmp_path)
    assert outcome.exit == 0
    assert outcome.out.startswith("Usage: ")
    assert "certify a live tool server" in outcome.out.lower()


def test_serve_says_where_it_listens_and_with_which_token(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "rap_conformance", "serve", "--port", "0", "--token", "secret-of-nobody"]
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=environment()
    ) as served:
        try:
            assert served.stdout is not None
            line = served.stdout.readline()
        finally:
            served.terminate()
    found = re.search(r"http://127\.0\.0\.1:(\d+) ", line)
    assert found is not None
    assert int(found[1]) > 0
    assert "Authorization: Bearer secret-of-nobody" in line


def test_what_changed_between_two_reports_fails_a_gate(tmp_path: Path) -> None:
    report = json.loads(Path(ROOT / "docs" / "sample" / "report.json").read_text("utf-8"))
    passed = next(entry for entry in report["requirements"] if entry["verdict"] == "pass")
    (tmp_path / "old.json").write_text(json.dumps(report))
    passed["verdict"] = "untested"
    (tmp_path / "new.json").write_text(json.dumps(report))
    worse = run(tmp_path, "compare", "old.json", "new.json", "--fail-on-regression")
    assert (worse.exit, f"worse   {passed['code']}  pass -> untested" in worse.out) == (1, True)
    better = run(tmp_path, "compare", "new.json", "old.json", "--fail-on-regression")
    assert (better.exit, "better" in better.out) == (0, True)
    same = run(tmp_path, "compare", "old.json", "old.json", "--fail-on-regression")
    assert (same.exit, "nothing changed" in same.out) == (0, True)


@pytest.mark.parametrize("given", ["TCS019", "tcs19", "tcs-019", "rate-limited"])
def test_a_requirement_is_explained_by_code_or_name(given: str, tmp_path: Path) -> None:
    outcome = run(tmp_path, "explain", given)
    assert outcome.out.startswith("TCS019 rate-limited: SHOULD")
