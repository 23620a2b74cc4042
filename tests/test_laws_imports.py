"""The contracts of `.importlinter` hold, and each of them notices what it forbids."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import environment

ROOT = Path(__file__).resolve().parent.parent
ROOTS = ("rap_conformance", "conformance", "fixtures")
TYPES_ONLY = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    "


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter on the packages of a folder."""
    return subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment(PYTHONPATH=str(folder), COLUMNS="200"),
    )


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages, to break."""
    folder = tmp_path_factory.mktemp("imports")
    for name in ROOTS:
        shutil.copytree(ROOT / name, folder / name, ignore=lambda _, names: {"__pycache__"} & {*names})
    shutil.copy(ROOT / ".importlinter", folder)
    return folder


def test_every_contract_is_kept(checkout: Path) -> None:
    done = lint(checkout)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("file", "line", "broken"),
    [
        ("rap_conformance/engine/verdict.py", "import httpx", "The engine knows neither"),
        ("rap_conformance/engine/verdict.py", "import pytest", "The engine knows neither"),
        ("rap_conformance/engine/verdict.py", "from rap_conformance import driver", "Rooms"),
        ("rap_conformance/protocol/leaks.py", "import rap_conformance.network.probe", "Rooms"),
        ("rap_conformance/server/facts.py", "import rap_conformance.runtime.state", "Rooms"),
        ("rap_conformance/server/facts.py", "from starlette.requests import Request", "Nobody but network"),
        ("rap_conformance/cli.py", "def f():\n    import socket", "Nobody but network"),
        ("rap_conformance/cli.py", "import rap_conformance.detection.runs", "Rooms"),
        ("rap_conformance/reporting/junit.py", "import rap_conformance.server.facts", "Reports are made"),
        ("rap_conformance/reporting/junit.py", "import conformance.server", "Scenarios: nothing"),
        ("rap_conformance/network/warden.py", "import rap_conformance.protocol.leaks", "Of the protocol"),
        ("rap_conformance/engine/evidence.py", TYPES_ONLY + "import rap_conformance.engine.run", "No two"),
        ("rap_conformance/new.py", "", "Rooms"),
        (
            "conformance/server/lifecycle/test_startup.py",
            "import rap_conformance.reporting.json",
            "see a peer",
        ),
        ("conformance/runtime/__init__.py", "import rap_conformance.server.peer", "of runtimes know nothing"),
        ("conformance/server/__init__.py", "import rap_conformance.detection.runs", "see a peer"),
        ("fixtures/servers/reference/store.py", "import rap_conformance.protocol.reading", "Fixtures stand"),
        ("fixtures/servers/plain/clock.py", "import fixtures.servers.reference.call", "second reference"),
    ],
)
def test_a_breach_is_seen(file: str, line: str, broken: str, checkout: Path) -> None:
    path = checkout / file
    before = path.read_text("utf-8") if path.exists() else None
    try:
        path.write_text(f"{before or ''}\n{line}\n", "utf-8")
        done = lint(checkout)
    finally:
        if before is None:
            path.unlink()
        else:
            path.write_text(before, "utf-8")
    assert done.returncode == 1
    assert [each for each in done.stdout.splitlines() if broken in each and "BROKEN" in each] or (
        broken == "Rooms" and "exhaustive" in done.stdout + done.stderr
    ), done.stdout + done.stderr
