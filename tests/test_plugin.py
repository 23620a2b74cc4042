"""The plugin in other people's pytest runs, and a run of ours under plain pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import warm
from tests.support import ROOT, environment, listening, unused_port
from tests.test_hostile_targets import close_mid_body


def pytest_in(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run pytest from a folder, with the plugin registered as an installation does it."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment(**more),
        stdin=subprocess.DEVNULL,
    )


def quickly_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The same without other plugins, for tests that are about none."""
    words = ["pytest", "-p", "rap_conformance.plugin", "-p", "xdist", "-p", "no:cacheprovider", *arguments]
    done = warm.run(words, folder, environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"), 120.0)
    said = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(words, done.returncode, *said)


def test_importing_the_plugin_imports_nothing_heavy() -> None:
    code = (
        "import sys, rap_conformance.plugin; "
        "heavy = {'httpx', 'hypothesis', 'schemathesis', 'starlette', 'uvicorn', 'jsonschema', 'typer'}; "
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_other_peoples_runs_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "conformance").mkdir()
    (tmp_path / "conformance" / "__init__.py").write_text("THEIRS = True")
    (tmp_path / "test_theirs.py").write_text(
        "import conformance\n\ndef test_it():\n    assert conformance.THEIRS\n"
    )
    done = pytest_in(tmp_path, "-q")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert "requirement" not in done.stdout
    assert not (tmp_path / "reports").exists()


def test_the_options_are_in_the_help_of_every_run(tmp_path: Path) -> None:
    done = pytest_in(tmp_path, "--help")
    for option in ("--server-url", "--server-cmd", "--rap-strict", "--rap-profile", "--rap-requirement"):
        assert option in done.stdout


def test_inside_a_project_of_ones_own_nobody_there_is_exit_6(tmp_path: Path) -> None:
    (tmp_path / "test_theirs.py").write_text("def test_it():\n    raise AssertionError('must not run')\n")
    url = f"http://127.0.0.1:{unused_port()}"
    done = pytest_in(tmp_path, "--pyargs", "conformance.server", "--server-url", url, PYTHONPATH=str(ROOT))
    assert done.returncode == 6, done.stdout + done.stderr
    assert "nobody answers" in done.stdout
    assert "passed" not in done.stdout
    assert done.stdout.strip().splitlines()[-1].startswith("incomplete")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["-n", "2"], "one process"),
        (["--rap-level", "may"], "must, should"),
        (["--server-url", ""], "http"),
        (["--rap-requirement", "NOPE"], "NOPE"),
        (["--rap-report-dir=/dev/null/x"], "--report-dir"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_bad_input_in_the_checkout_is_one_line_and_exit_4(
    arguments: list[str], word: str, tmp_path: Path
) -> None:
    folder = [] if "--rap-report-dir=/dev/null/x" in arguments else [f"--rap-report-dir={tmp_path}"]
    done = quickly_in(ROOT, "conformance", *folder, *arguments)
    assert done.returncode == 4, done.stdout + done.stderr
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, lines
    assert word in lines[0]
    assert not os.listdir(tmp_path)


def test_a_separate_path_does_not_mislead_pytest_about_its_root(tmp_path: Path) -> None:
    only = ("-p", "no:cacheprovider", "--rap-requirement", "DSC001")
    done = pytest_in(ROOT, *only, "--rap-report-dir", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"rootdir: {ROOT}" in done.stdout.splitlines()
    assert "1 passed" in done.stdout
    assert (tmp_path / "report.json").exists()


@pytest.mark.parametrize("package", ["rap_conformance", "conformance.server"])
def test_a_separate_configuration_in_a_project_of_ones_own(package: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "pytest.ini").write_text("[pytest]\naddopts = -q\n")
    (tmp_path / "rap.toml").write_text("")
    url = f"http://127.0.0.1:{unused_port()}"
    arguments = ("--pyargs", package, "--server-url", url, "--rap-config", str(tmp_path / "rap.toml"))
    done = pytest_in(project, *arguments, PYTHONPATH=str(ROOT))
    assert done.returncode == 6, done.stdout + done.stderr
    assert "nobody answers" in done.stdout
    assert "rootdir" not in done.stdout, "its own settings were not read"


def test_the_embedded_server_under_plain_pytest(tmp_path: Path) -> None:
    done = pytest_in(
        ROOT, "-p", "no:cacheprovider", "--rap-requirement", "DSC00[1-5]", f"--rap-report-dir={tmp_path}"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout
    assert "embedded reference server" in done.stdout
    assert done.stdout.strip().splitlines()[-1].startswith("partial")
    assert {path.name for path in tmp_path.iterdir()} >= {"report.html", "report.json", "junit.xml"}


def test_nothing_is_rewritten_once_scenarios_run(tmp_path: Path) -> None:
    (tmp_path / "listener.py").write_text(
        "import sys\n"
        "def pytest_rap_event(event):\n"
        "    print(type(event).__name__, [type(each).__module__ for each in sys.meta_path])\n"
    )
    given = ["-p", "listener", "-s", "--rap-requirement=DSC001", "--rap-no-report", "conformance/server"]
    with listening(close_mid_body) as url:
        done = pytest_in(ROOT, *given, f"--server-url={url}", PYTHONPATH=str(tmp_path))
    said = [line for line in done.stdout.splitlines() if line.startswith("Judged ")]
    assert len(said) == 1, done.stdout + done.stderr
    assert "_pytest" not in said[0]


def test_collecting_only_asks_nobody(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{unused_port()}"
    done = quickly_in(ROOT, "--collect-only", "-q", "--server-url", url, f"--rap-report-dir={tmp_path}")
    assert "test_ok_json" in done.stdout
    assert done.returncode == 0
