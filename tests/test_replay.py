"""`rap-conformance replay`: one requirement of a report judged again, as it was judged then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.inputs import ConfigError
from rap_conformance.replay import Replay, outcome, read
from rap_conformance.reporting.json import dumps
from tests import faulty, runs
from tests.support import run


def test_it_says_whether_it_still_fails(tmp_path: Path) -> None:
    with faulty.serving("nameless") as server:
        (tmp_path / "c.toml").write_text(faulty.CONFIG.format(url=server.url), "utf-8")
        given = ("--config", "c.toml", "--invoke", "configured", "--gentle")
        selected = ("--profile", "quick", "--requirement", "DSC00[12]")
        first = run(tmp_path, "check", *given, *selected, RAP_TOKEN=faulty.TOKEN)
        assert first.exit == 1
        assert first.report["options"] == {"config": "c.toml", "invoke": "configured", "gentle": True}
        written = (tmp_path / "reports" / "report.json").read_bytes()
        still = run(tmp_path, "replay", "reports/report.json", "dsc002", RAP_TOKEN=faulty.TOKEN)
        assert still.exit == 1, still.out
        number = len(first.report["requirements"][1]["evidence"])
        assert still.last == f"DSC002 named still fails (fail): {number} of {number} cases again"
        assert f"seed {first.report['seed']}" in still.out
        assert "profile quick" in still.out
        server.fault = "none"
        mended = run(tmp_path, "replay", "reports", "DSC002", RAP_TOKEN=faulty.TOKEN)
        assert (mended.exit, mended.last) == (0, "DSC002 named passes, and did not before")
        as_before = run(tmp_path, "replay", "reports", "DSC001", RAP_TOKEN=faulty.TOKEN)
        assert (as_before.exit, as_before.last) == (0, "DSC001 served passes, as before")
        without = run(tmp_path, "replay", "reports", "DSC002")
        assert without.exit == 4
        assert "env:RAP_TOKEN, which is not set" in without.err
    nobody = run(tmp_path, "replay", "reports", "DSC002", RAP_TOKEN=faulty.TOKEN)
    assert nobody.exit == 6
    assert "nobody answers" in nobody.out
    assert (tmp_path / "reports" / "report.json").read_bytes() == written, "it writes no report of its own"


def test_a_literal_credential_is_asked_for_by_a_name(tmp_path: Path) -> None:
    with faulty.serving("none") as server:
        given = ("--server-url", server.url, "--auth-header", f"Authorization: {faulty.TOKEN}")
        first = run(
            tmp_path, "check", *given, "--auth-header", "X-Key: env:MINE", "--requirement", "DSC001", MINE="m"
        )
        assert first.exit == 0
        headers = ["Authorization: env:RAP_TOKEN", "X-Key: env:MINE"]
        assert first.report["options"] == {"server-url": server.url, "auth-header": headers}
        assert run(tmp_path, "replay", "reports", "DSC001", MINE="m").exit == 4
        assert run(tmp_path, "replay", "reports", "DSC001", MINE="m", RAP_TOKEN=faulty.TOKEN).exit == 0


def test_a_runtime_is_judged_again_too(tmp_path: Path) -> None:
    first = run(
        tmp_path, "runtime", "--mutant", "prunes-on-5xx", "--requirement", "RTS006", "--profile", "quick"
    )
    assert first.exit == 1, first.out + first.err
    still = run(tmp_path, "replay", "reports", "RTS006")
    assert still.exit == 1, still.out + still.err
    assert "RTS006 keeps-on-5xx still fails (fail)" in still.last


SUITE = {"name": "rap-conformance", "version": "0", "catalogue": "0.1"}


def report(folder: Path, **more: Any) -> Path:
    """A report of a run that judged one of each."""
    content = json.loads(dumps(runs.run()))
    content.update(more)
    path = folder / "report.json"
    path.write_text(json.dumps(content), "utf-8")
    return path


@pytest.mark.parametrize(
    ("code", "more", "said"),
    [
        (
            "XXX001",
            {},
            "CODE: got 'XXX001'; allowed is the code of a requirement: the report judged 9, such as DSC",
        ),
        ("TCS004", {"requirements": []}, "its run never ended"),
        ("TCS004", {"options": {"config": "absent.toml"}}, "absent.toml: cannot be read"),
        ("TCS004", {"options": {"server-cmd": "s --token <redacted>"}}, "the report does not hold it"),
        ("TCS004", {"options": {"magic": "x"}}, "options: got 'magic'"),
        (
            "TCS004",
            {
                "suite": {
                    "name": "rap-conformance",
                    "version": "0",
                    "revision": "2026-08-main",
                    "catalogue": "0.1",
                }
            },
            "server.revision: got 2026-07-pr62; allowed is that of the report, 2026-08-main",
        ),
    ],
)
def test_what_cannot_be_judged_again_is_refused_in_a_line(
    tmp_path: Path, code: str, more: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(report(tmp_path, **more), code)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_report_without_its_options_is_refused(tmp_path: Path) -> None:
    path = report(tmp_path)
    content = json.loads(path.read_text("utf-8"))
    del content["options"]
    path.write_text(json.dumps(content), "utf-8")
    with pytest.raises(ConfigError, match="does not say with which options"):
        read(path, "TCS004")
    absent = run(tmp_path, "replay", "nowhere.json", "TCS004")
    assert (absent.exit, absent.out) == (4, "")
    assert "nowhere.json: cannot be read" in absent.err


def test_options_are_typed_as_they_were_given(tmp_path: Path) -> None:
    given = {
        "server-url": "http://x",
        "gentle": False,
        "no-auth": True,
        "auth-header": ["A: env:B", "C: env:D"],
    }
    replay = read(report(tmp_path, options=given), "TCS004")
    assert replay.role == "server"
    assert replay.arguments == (
        "--rap-role=server",
        "--rap-requirement=TCS004",
        "--rap-no-report",
        "--server-url=http://x",
        "--rap-not-gentle",
        "--rap-no-auth",
        "--rap-auth-header=A: env:B",
        "--rap-auth-header=C: env:D",
        "--rap-level=must",
        "--rap-seed=7",
        "--rap-profile=standard",
    )


def test_the_exit_code_is_about_the_one_requirement() -> None:
    before = Replay("TCS004", "unknown-not-alive", "server", "fail", frozenset({"abcdef"}), ())
    passes, fails, unknown = (runs.result(Verdict(v), reason="r") for v in ("pass", "fail", "untested"))
    assert outcome(before, passes, 0)[1] == 0
    assert outcome(before, fails, 1) == (
        "TCS004 unknown-not-alive still fails (fail): 0 of 1 cases again, 1 new",
        1,
    )
    warned = runs.result(Verdict.WARN, "TCS019")
    assert outcome(before, warned, 0)[1] == 1, "a SHOULD that is not met still is not"
    assert outcome(before, unknown, 0) == ("TCS004 unknown-not-alive could not be judged: r", 7)
    assert outcome(before, None, 7)[1] == 7
    assert [outcome(before, None, exit)[1] for exit in (3, 4, 6)] == [3, 4, 6]
