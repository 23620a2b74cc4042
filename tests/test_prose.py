"""What the documents say by hand is there: links, files, and a test at least for each law."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
BASES = (ROOT, ROOT / "rap_conformance")
"""Where a path that is named may begin."""
OTHERS = ("docs/docs/", "reports/")
"""The specification's own repository, and what runs leave behind."""
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
CODE = re.compile(r"`([^`\n]+)`")
TEST = re.compile(r"`(tests/\w+\.py)::(\w+)`")
LAW = re.compile(r"^(\d+)\. (.*?)(?=^\d+\. |\n\n)", re.MULTILINE | re.DOTALL)

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text("utf-8")) if "://" not in target]
    assert [target for target in targets if not (page.parent / target).exists()] == []


@every_page
def test_paths_that_are_named_exist(page: Path) -> None:
    named = {code.partition("::")[0] for code in CODE.findall(page.read_text("utf-8"))}
    paths = {path for path in named if re.fullmatch(r"\w+/[\w./-]*", path) and not path.startswith(OTHERS)}
    ours = {path for path in paths if any((base / path.split("/")[0]).is_dir() for base in BASES)}
    assert {path for path in ours if not any((base / path).exists() for base in BASES)} == set()


def test_each_law_names_tests_that_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    laws = LAW.findall(text.partition("\n## Laws")[2].partition("\n## ")[0])
    assert [int(number) for number, _ in laws] == list(range(1, 16))
    for number, law in laws:
        assert TEST.search(law), number
    for file, name in TEST.findall(text):
        body = ast.parse((ROOT / file).read_text("utf-8")).body
        assert name in {node.name for node in body if isinstance(node, ast.FunctionDef)}, f"{file}::{name}"
