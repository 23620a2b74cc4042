"""A server is left as it was found: every call we made is over, also after an interruption."""

from __future__ import annotations

import contextlib
import json
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from fixtures.servers.reference import Options, ReferenceServer
from fixtures.servers.reference.serving import Runner, bind
from tests.support import command, environment, run, unused_port

CONFIG = """
[timing]
grace = 3.0
[scenario.quick]
operation = "echo"
arguments = { text = "x" }
[scenario.pending]
operation = "wait"
arguments = { seconds = 600 }
seconds = 600
[scenario.subscription]
operation = "watch"
arguments = { interval = 0.2 }
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ReferenceServer]:
    """A reference server whose insides the test can look at."""
    (tmp_path / "rap-conformance.toml").write_text(CONFIG)
    made = ReferenceServer(Options(port=unused_port()))
    runner = Runner(made)
    thread = threading.Thread(target=runner.run, args=(bind("127.0.0.1", made.options.port),), daemon=True)
    thread.start()
    deadline = time.monotonic() + 10
    while not runner.started:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    yield made
    runner.should_exit = True
    thread.join(10)


def still_running(server: ReferenceServer) -> list[Any]:
    """Calls that the server still works on."""
    return list(server.calls.values())


def test_after_a_run_nothing_of_ours_is_left(server: ReferenceServer, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{server.options.port}"
    lasting = (tmp_path / "rap-conformance.toml").read_text().replace("600", "2")
    (tmp_path / "rap-conformance.toml").write_text(lasting)
    outcome = run(
        tmp_path,
        "check",
        "--server-url",
        url,
        "--no-auth",
        "--requirement",
        "TCS007",
        "--requirement",
        "TCS028",
    )
    assert outcome.verdicts()["TCS007"] == "pass"
    assert still_running(server) == []


def test_after_an_interruption_nothing_of_ours_is_left(server: ReferenceServer, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{server.options.port}"
    running = subprocess.Popen(
        command("check", "--server-url", url, "--no-auth", "--requirement", "TCS00[57]"),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    deadline = time.monotonic() + 20
    while not any(call.operation == "wait" for call in still_running(server)):
        assert time.monotonic() < deadline, "the control: a call that would last is running"
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 7, out
    assert still_running(server) == []


def test_after_an_interruption_the_adapter_of_a_runtime_is_gone(tmp_path: Path) -> None:
    adapter = Path(__file__).resolve().parent.parent / "examples" / "adapters" / "adapter.py"
    given = f"{shlex.quote(sys.executable)} {shlex.quote(str(adapter))} {{port}}"
    running = subprocess.Popen(
        command("runtime", "--adapter-cmd", given, "--requirement", "RTS00[57]"),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    report = tmp_path / "reports" / "report.json"
    deadline = time.monotonic() + 20
    while not (report.exists() and listens(port_in(report))):
        assert time.monotonic() < deadline, "the control: the adapter is there while the run is under way"
        time.sleep(0.02)
    running.send_signal(signal.SIGTERM)
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 7, out
    assert not listens(port_in(report))


def port_in(report: Path) -> int:
    """Where the peer of a run is."""
    return urlsplit(json.loads(report.read_text("utf-8"))["target"]["url"]).port or 0


def listens(port: int) -> bool:
    """Whether anybody does, on loopback."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
        return True
    return False
