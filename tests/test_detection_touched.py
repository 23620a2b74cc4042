"""Which mutants a change calls for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rap_conformance.detection.touched import touched

CATALOGUE = '[[requirement]]\ncode = "TCS001"\nwhy = "a"\n[[requirement]]\ncode = "TCS002"\nwhy = "b"\n'
SCENARIOS = """
LIMIT = 3

def helper():
    return LIMIT

def between():
    return helper()

@scenario("TCS003")
def test_one(peer):
    between()

@scenario("TCS004", overlap=True)
def test_other(peer):
    pass
"""
MUTANTS = """
@mutant("first", {"TCS001": "x"})
class First(Server):
    def answer(self):
        return 1

@mutant("second", {"TCS002": "x"})
class Second(Server):
    pass
"""
FILES = {
    "conformance/requirements/a.toml": CATALOGUE,
    "conformance/server/test_a.py": SCENARIOS,
    "fixtures/servers/mutants/a.py": MUTANTS,
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small repository with one commit."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text, "utf-8")
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-q", "-m", "first")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("path", "before", "after", "expected"),
    [
        ("conformance/requirements/a.toml", 'why = "b"', 'why = "c"', ({"TCS002"}, set())),
        ("conformance/server/test_a.py", "LIMIT = 3", "LIMIT = 4", ({"TCS003"}, set())),
        ("conformance/server/test_a.py", "    pass", "    return", ({"TCS004"}, set())),
        ("conformance/server/test_a.py", "\ndef helper", "\n# why\ndef helper", (set(), set())),
        ("fixtures/servers/mutants/a.py", "return 1", "return 2", (set(), {"first"})),
    ],
)
def test_what_differs_is_named(
    path: str, before: str, after: str, expected: tuple[set[str], set[str]], checkout: Path
) -> None:
    assert touched(checkout, "HEAD") == (set(), set())
    file = checkout / path
    file.write_text(file.read_text("utf-8").replace(before, after), "utf-8")
    assert touched(checkout, "HEAD") == expected


def test_an_unknown_revision_is_said(checkout: Path) -> None:
    with pytest.raises(LookupError, match="nowhere"):
        touched(checkout, "nowhere")
