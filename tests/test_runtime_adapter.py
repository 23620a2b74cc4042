"""Adapters that are wrong, and bad options and configurations: a sentence each, and no verdict."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from rap_conformance import contract
from rap_conformance.engine.inputs import ConfigError
from rap_conformance.engine.plan import Plan
from rap_conformance.engine.scenario import Refused
from rap_conformance.protocol.specification import DEFAULT_REVISION, catalogue
from rap_conformance.request import read_document
from rap_conformance.runtime.options import RuntimeOptions, Timing
from rap_conformance.runtime.preflight import begin
from rap_conformance.runtime.role import RUNTIME as RUNTIME_ROLE
from rap_conformance.runtime.session import RuntimeSession
from tests.support import QUICK, Outcome, run

RTS = catalogue().at(DEFAULT_REVISION, role="runtime")


def words(*parts: object) -> str:
    """A command line; `{port}` is left as it is."""
    return " ".join("{port}" if part == "{port}" else shlex.quote(str(part)) for part in parts)


def certified(adapter: str, folder: Path, *options: str, settle: float = 5) -> Outcome:
    """A run against an adapter that the configuration in the working directory names."""
    mine = ["[runtime]", f"adapter = {json.dumps(adapter)}", f"settle = {settle}"]
    lines = [*mine, "[features]", "status = true"]
    (folder / "rap-conformance.toml").write_text("\n".join(lines) + "\n", "utf-8")
    return run(folder, "runtime", *QUICK, *options, within=150.0)


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
    session = RuntimeSession(options, Plan(RTS, DEFAULT_REVISION))
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
    outcome = certified(wrong(tmp_path, how), tmp_path, "--requirement", "RTS00[34]", settle=0.5)
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
    session = RUNTIME_ROLE.read(all_given, read_document(str(file))).session(Plan(RTS, DEFAULT_REVISION))
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
