"""The laws of docs/architecture.md that a machine can see; who may import whom is in `.importlinter`."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from rap_conformance.engine.controls import Control, Positive
from rap_conformance.engine.scenario import Scenario
from rap_conformance.protocol.specification import RAP, catalogue
from rap_conformance.request import ROLES
from tests.scenarios import scenarios

ROOT = Path(__file__).resolve().parent.parent
SOCKETS = re.compile(
    r"(socket|socketserver|selectors|http|urllib\.request|asyncio|h11|httpx|httpcore|requests|aiohttp"
    r"|starlette|uvicorn|websockets)(\.|$)"
)
"""What opens sockets, or brings something that does: by module, whatever is taken from it."""
ENGINE_MAY_USE = {"markupsafe", "tomli_w"}
"""What makes texts safe to write, beside the standard library."""
WORDS = re.compile(r"tool_?call|alive|callback|subscription|toolset", re.IGNORECASE)
"""Words of RAP, alone or as parts of a name."""
MOST_LINES = 600
MOST_LINES_OF_A_FUNCTION = 60
LONG = 300
"""Lines above which a module has more than one topic, mostly."""
LONG_MODULES = {
    "fixtures/servers/plain/web.py",
    "rap_conformance/cli.py",
    "rap_conformance/driver.py",
    "rap_conformance/server/session.py",
}
"""Those there are. This list may only shrink."""
PLANNED: frozenset[str] = frozenset()
"""Requirements without a scenario yet. This list may only shrink."""


def modules(*folders: str) -> list[Path]:
    """Every Python file below some folders; there has to be one."""
    found = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    assert found, folders
    return found


def imports(path: Path) -> set[str]:
    """Every module that a file imports, wherever in it, and every name it takes from one, in full."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: a relative import"
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


EVERY = [(role.name, where, mark) for role in ROLES for where, mark in scenarios(role.folder)]
every_scenario = pytest.mark.parametrize(
    ("role", "where", "mark"), EVERY, ids=[mark.code for _, _, mark in EVERY]
)


# --- requirements and scenarios


@pytest.mark.parametrize("role", RAP.roles)
def test_every_requirement_has_one_scenario_and_every_scenario_a_requirement(role: str) -> None:
    judged = sorted(mark.code for owner, _, mark in EVERY if owner == role)
    assert judged == sorted(r.code for r in catalogue() if r.role == role and not r.planned and not r.unseen)


def test_the_planned_list_only_shrinks() -> None:
    assert {r.code for r in catalogue() if r.planned} == PLANNED


def test_what_is_not_judged_says_why() -> None:
    for entry in catalogue():
        assert not (entry.planned and entry.unseen), entry.code
        assert entry.unseen == "" or len(entry.unseen.split()) > 4, entry.code


@every_scenario
def test_every_scenario_has_its_control_or_says_why_it_needs_none(
    role: str, where: str, mark: Scenario
) -> None:
    assert isinstance(mark.control, Control | Positive)
    assert len(mark.control.what.split()) >= 3, where


@every_scenario
def test_what_runs_beside_others_harms_nobody(role: str, where: str, mark: Scenario) -> None:
    requirement = catalogue().get(mark.code)
    assert requirement is not None
    assert not mark.overlap or requirement.stage == "harmless", where


# --- rooms


@pytest.mark.parametrize("path", modules("rap_conformance", "conformance"), ids=str)
def test_nobody_but_the_network_opens_a_socket(path: Path) -> None:
    if path.parent.name == "network":
        return
    assert not {name for name in imports(path) if SOCKETS.match(name)}


@pytest.mark.parametrize(
    "line",
    [
        "from starlette.requests import Request",
        "import starlette.requests",
        "from urllib import request",
        "from urllib.request import urlopen",
        "import http.client as x",
        "def f():\n    from socket import create_server",
    ],
)
def test_a_socket_is_seen_however_it_is_imported(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(line)
    assert [name for name in imports(tmp_path / "a.py") if SOCKETS.match(name)]


def test_only_patience_waits() -> None:
    for path in modules("rap_conformance", "conformance"):
        if path.name == "patience.py":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
            assert name != "sleep", (
                f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)} sleeps; waiting is patience's"
            )


@pytest.mark.parametrize("path", modules("rap_conformance/engine"), ids=lambda path: path.name)
def test_the_engine_knows_no_rap(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    assert [f"{number}: {line.strip()}" for number, line in enumerate(lines, 1) if WORDS.search(line)] == []
    foreign = {name.split(".")[0] for name in imports(path)} - sys.stdlib_module_names - ENGINE_MAY_USE
    assert foreign <= {"rap_conformance"}
    own = {name for name in imports(path) if name.startswith("rap_conformance")}
    assert all(name.startswith("rap_conformance.engine") for name in own)


@pytest.mark.parametrize(
    ("module", "foreign"), [("plugin", {"pytest", "rap_conformance.options"}), ("options", set())]
)
def test_the_plugin_imports_pytest_and_the_table_of_options_only(module: str, foreign: set[str]) -> None:
    body = ast.parse((ROOT / "rap_conformance" / f"{module}.py").read_text("utf-8")).body
    names = {alias.name for node in body if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in body if isinstance(node, ast.ImportFrom)}
    assert {name for name in names if name.split(".")[0] not in sys.stdlib_module_names} == foreign


# --- the house


def test_files_and_functions_stay_small() -> None:
    for path in modules("rap_conformance", "conformance", "fixtures", "examples", "scripts", "tests"):
        source = path.read_text("utf-8")
        assert len(source.splitlines()) <= MOST_LINES, path
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno < MOST_LINES_OF_A_FUNCTION, (path, node.name)


def test_the_list_of_long_modules_only_shrinks() -> None:
    long = {
        path.relative_to(ROOT).as_posix()
        for path in modules("rap_conformance", "conformance", "fixtures", "examples", "scripts")
        if len(path.read_text("utf-8").splitlines()) > LONG
    }
    assert long == LONG_MODULES


def test_no_document_names_this_or_any_machine() -> None:
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        text = path.read_text("utf-8")
        assert "/work/" not in text, path
        assert "/root/" not in text, path
