"""The laws of docs/architecture.md that a machine can see."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

from rap_conformance.engine.scenario import scenario_of
from rap_conformance.places import place
from rap_conformance.protocol.specification import catalogue

ROOT = Path(__file__).resolve().parent.parent
PURE = ("catalogue", "wire", "lifecycle", "evidence", "gate", "presence", "leaks", "forgeries", "reporting")
NETWORK = {
    "socket",
    "ssl",
    "http",
    "urllib.request",
    "httpx",
    "httpcore",
    "uvicorn",
    "starlette",
    "asyncio",
    "requests",
}
PLANNED: frozenset[str] = frozenset()
"""Requirements without a scenario yet. This list may only shrink."""


def modules(*folders: str) -> list[Path]:
    """Every Python file below some folders."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def imports(path: Path) -> set[str]:
    """The names of all modules a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def scenarios(role: str) -> dict[str, list[str]]:
    """Functions by the requirement they say they judge."""
    found: dict[str, list[str]] = {}
    for path in sorted((place("conformance") / role).glob("test_*.py")):
        module = importlib.import_module(f"conformance.{role}.{path.stem}")
        for name, value in vars(module).items():
            mark = scenario_of(value)
            if mark is not None and not mark.late and getattr(value, "__module__", "") == module.__name__:
                found.setdefault(mark.code, []).append(name)
    return found


def test_every_requirement_has_one_scenario_and_every_scenario_a_requirement() -> None:
    for role in ("server", "runtime"):
        if not (place("conformance") / role).is_dir():
            continue
        judged = scenarios(role)
        wanted = {r.code for r in catalogue() if r.role == role and not r.planned and not r.unseen}
        assert set(judged) == wanted
        assert {code for code, names in judged.items() if len(names) > 1} == set()


def test_what_is_added_late_belongs_to_a_requirement_that_is_judged() -> None:
    from conformance.server import test_call_life

    marks = [mark for value in vars(test_call_life).values() if (mark := scenario_of(value)) is not None]
    assert marks
    assert {mark.code for mark in marks} <= set(scenarios("server"))


def test_the_planned_list_only_shrinks() -> None:
    assert {r.code for r in catalogue() if r.planned} == PLANNED


def test_nothing_that_decides_or_reports_touches_the_network() -> None:
    for name in PURE:
        paths = modules(f"rap_conformance/{name}") or [ROOT / "rap_conformance" / f"{name}.py"]
        for path in filter(Path.exists, paths):
            assert not imports(path) & NETWORK, path.name


def test_only_peers_open_sockets() -> None:
    for path in modules("rap_conformance", "conformance"):
        if "peers" not in path.parts:
            assert not imports(path) & (NETWORK - {"asyncio", "ssl"}), path


def test_only_patience_waits() -> None:
    for path in modules("rap_conformance", "conformance"):
        if path.name == "patience.py":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr == "sleep":
                pytest.fail(f"{path.relative_to(ROOT)}:{node.lineno} sleeps; waiting is patience.py's")


def test_reporting_knows_no_scenario() -> None:
    for path in modules("rap_conformance/reporting"):
        used = imports(path)
        assert not any(
            name.startswith(("conformance", "rap_conformance.scenario", "rap_conformance.peer"))
            for name in used
        )


def test_the_plugin_imports_the_standard_library_and_pytest_only() -> None:
    path = ROOT / "rap_conformance" / "plugin.py"
    top = [
        node
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    names = {a.name for n in top if isinstance(n, ast.Import) for a in n.names}
    names |= {n.module or "" for n in top if isinstance(n, ast.ImportFrom)}
    assert names <= {"__future__", "pathlib", "typing", "pytest"}


def test_no_document_names_this_or_any_machine() -> None:
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        text = path.read_text("utf-8")
        assert "/work/" not in text, path
        assert "/root/" not in text, path
