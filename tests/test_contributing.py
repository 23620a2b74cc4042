"""CONTRIBUTING.md, "Add a requirement", is true to the letter: followed in a copy of the tree it adds one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from rap_conformance.protocol.specification import catalogue
from tests.support import environment
from tests.warm import ADDRESS

ROOT = Path(__file__).resolve().parent.parent
PLACEHOLDER = "TCS099"
"""Stands in the document for the next free code of its page."""
OUTPUTS = shutil.ignore_patterns(
    ".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "reports", "build", "dist", "*.egg-info"
)
OURS = {ADDRESS, "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "VENV", "PYTHON", "JOBS", "ARGS"}
"""Variables of this run, and of the `make` that may have started it."""
STEP = re.compile(r"at the end of `([^`]+)`:\n+ +```\w+\n(.*?)\n +```", re.DOTALL)
COMMANDS = re.compile(r"\n4\. Then\n+ +```sh\n(.*?)\n +```", re.DOTALL)


def section() -> str:
    """The steps, as they stand in the document, with the next free code."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    steps = text.partition("\n## Add a requirement\n")[2].partition("\n### ")[0]
    taken = [entry.code for entry in catalogue() if entry.code.startswith(PLACEHOLDER[:3])]
    return steps.replace(PLACEHOLDER, f"{PLACEHOLDER[:3]}{len(taken) + 1:03}")


STEPS = {path: textwrap.dedent(block) for path, block in STEP.findall(section())}
TYPED = [line.partition("#")[0].strip() for line in COMMANDS.findall(section())[0].splitlines()]
CODE, MUTANT = (re.findall(pattern, section())[0] for pattern in (r'code = "(\w+)"', r'@mutant\("([\w-]+)"'))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository in which the three files were edited, with the environment of this one."""
    tree = tmp_path_factory.mktemp("contributing") / "tree"
    shutil.copytree(ROOT, tree, ignore=OUTPUTS)
    (tree / ".venv").mkdir()
    for path in Path(sys.prefix).iterdir():
        (tree / ".venv" / path.name).symlink_to(path)
    stamp = tree / ".venv" / ".installed"
    stamp.unlink(missing_ok=True)
    stamp.touch()  # newer than everything: `make` installs nothing
    for name, block in STEPS.items():
        path = tree / name
        path.write_text(f"{path.read_text('utf-8')}{separation(path)}{block}\n", "utf-8")
    return tree


def separation(path: Path) -> str:
    """The empty lines before what is added to a file."""
    return "\n\n" if path.suffix == ".py" else "\n"


def typed(tree: Path, beginning: str, within: float = 240.0) -> str:
    """Type the commands that begin so, as the document has them; gives what they said."""
    known = {name: value for name, value in environment().items() if name not in OURS}
    found = [line for line in TYPED if line.startswith(beginning)]
    assert found, beginning
    said = ""
    for line in found:
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=tree,
            env={**known, "PYTHONPATH": str(tree)},  # what is installed is the original
            capture_output=True,
            text=True,
            timeout=within,
            check=False,
        )
        said += done.stdout + done.stderr
        assert done.returncode == 0, f"{line}\n{said}"
    return said


def test_there_are_three_places_and_one_name_in_each() -> None:
    assert [path.split("/")[0] for path in STEPS] == ["conformance", "conformance", "fixtures"]
    assert [block.count(CODE) for block in STEPS.values()] == [1, 1, 1]
    assert [line for line in TYPED if CODE in line or MUTANT in line]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_followed_it_adds_a_requirement(tree: Path) -> None:
    assert "docs/requirements.md written" in typed(tree, "make docs")
    typed(tree, ".venv/bin/python tests/test_catalogue.py")
    assert CODE in json.loads((tree / "tests" / "snapshots" / "catalogue.json").read_text("utf-8"))
    assert " failed" not in typed(tree, "make laws")
    typed(tree, "make certify")
    report = json.loads((tree / "reports" / "report.json").read_text("utf-8"))
    assert [(entry["code"], entry["verdict"]) for entry in report["requirements"]] == [(CODE, "pass")]
    assert re.search(rf"\nexact +{MUTANT} +{CODE} +{CODE} ", typed(tree, "make mutants"))


@pytest.mark.deep
@pytest.mark.timeout(600)
def test_what_it_adds_is_clean(tree: Path) -> None:
    typed(tree, "make docs")
    typed(tree, "make lint", within=500.0)
