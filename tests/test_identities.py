"""Correct servers that know their callers in other ways than by a bearer token: none is accused."""

from __future__ import annotations

import contextlib
import shlex
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from fixtures.servers.ways import WAYS, Way
from rap_conformance.server.embedded import reference_scenarios
from tests.certify import certify, reasons
from tests.support import Outcome, environment, unused_port

RATE_LIMIT = 450
SHUT_OUT = 6.0
"""Seconds for which ten wrong credentials shut an address out in these tests; fifteen would do as well."""
FINDINGS = {"fail", "warn", "advice", "error", "known"}


def configuration(name: str, folder: Path, *words: str) -> str:
    """What a user of such a server writes, and the command that starts it."""
    way = WAYS[name]
    command = [sys.executable, "-m", "fixtures.servers.varied", "--port", "{port}", "--way", name]
    command += ["--state", str(folder / "state"), "--rate-limit", str(RATE_LIMIT), *way.words(folder), *words]
    tables = way.tables(folder)
    document: Mapping[str, Any] = {
        **tables,
        "server": {"command": shlex.join(command), **tables["server"]},
        "features": {"status": True, "subscription": True},
        "timing": {"grace": 10.0},
        "scenario": reference_scenarios(3.0),
    }
    return tomli_w.dumps(document)


def certified(folder: Path, name: str, *words: str, options: tuple[str, ...] = ()) -> Outcome:
    folder.mkdir()
    config = configuration(name, folder, *words)
    return certify(folder, config, *options, within=400.0, **WAYS[name].environment)


def judged(outcome: Outcome) -> str:
    """Everything that is neither a pass nor out of place, for a message."""
    verdicts = outcome.verdicts()
    odd = {
        code: reason
        for code, reason in reasons(outcome).items()
        if verdicts[code] not in {"pass", "not-applicable"}
    }
    return (
        "\n".join(f"{code} {verdicts[code]}: {reason}" for code, reason in odd.items()) + outcome.err[-500:]
    )


def expect_conformant(outcome: Outcome, way: Way, *untested: str) -> None:
    verdicts = outcome.verdicts()
    assert not set(verdicts.values()) & FINDINGS, judged(outcome)
    alone = {"TCS037"} if len(way.tokens) < 2 else set()
    assert {code for code, verdict in verdicts.items() if verdict == "untested"} == {*alone, *untested}
    assert outcome.report["verdict"] == "conformant", judged(outcome)
    assert outcome.exit == 0


EVERY = [
    pytest.param(name, marks=pytest.mark.long if name == "certificate-and-token" else pytest.mark.deep)
    for name in WAYS
    if name != "bearer"
]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.timeout(400)
def test_it_is_accused_of_nothing(name: str, tmp_path: Path) -> None:
    expect_conformant(certified(tmp_path / "run", name), WAYS[name])


@pytest.mark.deep
@pytest.mark.timeout(400)
def test_a_server_that_shuts_out_is_conformant_in_all_but_speed(tmp_path: Path) -> None:
    outcome = certified(tmp_path / "run", "bearer", "--lock-out", str(SHUT_OUT))
    expect_conformant(outcome, WAYS["bearer"], "TCS024")


@pytest.mark.deep
@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", ["longer-token-accepted", "connection-is-trusted", "live-id-is-enough"])
def test_a_fault_is_seen_through_lock_outs(name: str, tmp_path: Path) -> None:
    words = ("--lock-out", str(SHUT_OUT), "--mutant", name)
    outcome = certified(tmp_path / "run", "bearer", *words, options=("--requirement", "TCS01[12]"))
    assert outcome.verdicts()["TCS011"] == "fail", judged(outcome)
    assert (outcome.verdicts()["TCS012"] == "fail") == (name == "live-id-is-enough"), judged(outcome)


@pytest.mark.deep
@pytest.mark.timeout(400)
def test_one_that_does_not_let_us_in_again_is_said_once_and_accused_of_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    port = unused_port()
    document = tomllib.loads(configuration("bearer", folder, "--lock-out", "3600"))
    command = document["server"].pop("command").replace("{port}", str(port))
    document["server"]["url"] = f"http://127.0.0.1:{port}"
    with subprocess.Popen(shlex.split(command), env=environment()) as process:
        try:
            wait_for(port)
            outcome = certify(folder, tomli_w.dumps(document), within=380.0)
        finally:
            process.terminate()
    verdicts = outcome.verdicts()
    assert not set(verdicts.values()) & FINDINGS, judged(outcome)
    assert {"TCS012", "TCS013", "TCS019"} <= {c for c, verdict in verdicts.items() if verdict == "untested"}
    (cause,) = outcome.report["causes"]
    assert "answers no ordinary question either (status 403" in cause
    assert (outcome.report["verdict"], outcome.exit) == ("incomplete", 7)


def wait_for(port: int) -> None:
    """Until somebody listens there."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
