"""`rap-conformance init`: a configuration that works as it is written."""

from __future__ import annotations

import subprocess
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from rap_conformance.server.config_file import parse
from rap_conformance.server.first_config import first_config, without_null
from tests.support import command, environment, run, unused_port
from tests.test_check import _until_answered


def test_what_it_writes_can_be_read_and_run(tmp_path: Path) -> None:
    port = unused_port()
    server = subprocess.Popen(command("serve", "--port", str(port)), env=environment())
    try:
        _until_answered(port)
        url = f"http://127.0.0.1:{port}"
        made = run(tmp_path, "init", "--server-url", url)
        assert made.exit == 0, made.err
        written = tomllib.loads((tmp_path / "rap-conformance.toml").read_text("utf-8"))
        assert written["scenario"]["pending"]["operation"] == "wait"
        assert run(tmp_path, "init", "--server-url", url).exit == 4, "a file that is there is left alone"
        checked = run(
            tmp_path, "check", "--no-auth", "--requirement", "DSC00[1-4]", "--requirement", "TCS006"
        )
        assert set(checked.verdicts().values()) == {"pass"}
    finally:
        server.terminate()
        server.wait(10)


def test_a_probe_writes_what_it_measured(tmp_path: Path) -> None:
    port = unused_port()
    server = subprocess.Popen(command("serve", "--port", str(port)), env=environment())
    try:
        _until_answered(port)
        made = run(tmp_path, "init", "--server-url", f"http://127.0.0.1:{port}", "--probe")
        assert made.exit == 0, made.err
        assert "watch: a subscription" in made.out
        scenarios = tomllib.loads((tmp_path / "rap-conformance.toml").read_text("utf-8"))["scenario"]
        assert scenarios["quick"]["operation"] == "echo"
        assert scenarios["pending"]["operation"] == "wait"
        assert 3.5 <= scenarios["pending"]["seconds"] <= 6
        assert scenarios["subscription"]["final_arguments"]["count"] == 2
    finally:
        server.terminate()
        server.wait(10)


def test_a_probe_calls_nothing_that_nobody_called_harmless(tmp_path: Path) -> None:
    refused = run(tmp_path, "init", "--server-url", "http://127.0.0.1:1", "--invoke", "any")
    assert (refused.exit, "--probe" in refused.err) == (4, True)
    refused = run(tmp_path, "init", "--server-url", "http://127.0.0.1:1", "--probe", "--invoke", "all")
    assert (refused.exit, "read-only, any" in refused.err) == (4, True)


def test_nobody_there_is_exit_6(tmp_path: Path) -> None:
    outcome = run(tmp_path, "init", "--server-url", f"http://127.0.0.1:{unused_port()}")
    assert outcome.exit == 6
    assert "refused" in outcome.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("status", "said"), [(404, "somebody answers"), (401, "give credentials")])
def test_somebody_who_has_no_manifest_is_not_nobody(tmp_path: Path, status: int, said: str) -> None:
    class Refuses(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Refuses) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        outcome = run(tmp_path, "init", "--server-url", f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
    assert outcome.exit == 6
    assert said in outcome.err
    assert not list(tmp_path.iterdir()), "a refusal is no manifest without tools"


HOSTILE: list[dict[str, Any]] = [
    {"name": 'a"\n[auth]\nx = 1', "description": "\x1b[31m\ud800", "inputSchema": {"type": "object"}},
    {"name": None, "inputSchema": 3, "annotations": {"readOnly": True}},
    {"name": "wait", "inputSchema": {"required": ["s"], "properties": {"s": {"const": "\ud800\n"}}}},
]


def test_hostile_tools_break_no_line() -> None:
    made = first_config("http://127.0.0.1:1", HOSTILE)
    made.encode("utf-8")
    assert "auth" not in tomllib.loads(made)
    parse(tomllib.loads(made), "made")


@pytest.mark.parametrize("value", [{"a": [1, 2.5, True, "x\n\"'"], "b c": {}}, [], {"n": None}])
def test_values_survive_toml(value: Any) -> None:
    back = tomllib.loads(tomli_w.dumps({"v": without_null(value)}))["v"]
    assert back == ({} if value == {"n": None} else value)
