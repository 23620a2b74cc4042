"""Small faults that nobody thought of: what is changed, what stays as it is, and how one is killed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from rap_conformance.detection.changes import changes
from rap_conformance.detection.mutation import Difference, every_change, harmless
from rap_conformance.engine.events import Found, Judged
from rap_conformance.engine.evidence import Verdict
from tests import runs

SOURCE = '''
"""A module."""
import logging
LIMIT = 64
log = logging.getLogger("a")

class Server:
    """A class."""
    name: str = "x"

    def answer(self, a: int, b: int) -> bool:
        """A function."""
        log.info("asked %s", a)
        self.asked = a
        self.count += 1
        self.told(f"{a}")
        if a < b and not self.closed:
            raise ValueError("no")
        return True
'''
EXPECTED = {
    "dropped assignment": "pass",
    "dropped change": "pass",
    "dropped call": "pass",
    "or for and": "if (a < b or not self.closed):",
    "negated condition": "if not (a < b and (not self.closed)):",
    "opposite comparison": "if (a >= b) and not self.closed:",
    "boundary": "if (a <= b) and not self.closed:",
    "without not": "if a < b and (self.closed):",
    "dropped raise": "pass",
    "returns the opposite": "return False",
}


def test_each_kind_of_fault_is_put_in_where_it_can_be(tmp_path: Path) -> None:
    path = tmp_path / "server.py"
    path.write_text(SOURCE, "utf-8")
    found = changes(path)
    assert {change.key.partition(" ")[2]: change.line_after for change in found} == EXPECTED
    assert len(found) == len(EXPECTED)
    for change in found:
        assert ast.dump(ast.parse(change.after)) != ast.dump(ast.parse(SOURCE))
        for same in ('"""A function."""', "LIMIT = 64", 'name: str = "x"', 'log.info("asked %s", a)'):
            assert same in change.after, "docstrings, literals and logs stay"


def test_every_known_survivor_is_a_change_of_today() -> None:
    possible = {(change.file, change.line_before, change.line_after) for change in every_change([])}
    assert harmless()
    assert harmless() <= possible, "the reference is another one: mend docs/mutation.md"


def test_an_unknown_file_is_said() -> None:
    with pytest.raises(SystemExit, match=r"there is no 'nothing\.py'"):
        every_change(["nothing.py"])


def test_what_tells_a_copy_from_the_reference_is_written_down(tmp_path: Path) -> None:
    heard = Difference(tmp_path, {"TCS004": "pass"})
    heard.pytest_rap_event(Judged(runs.result(Verdict.PASS)))
    assert not (tmp_path / "killed").exists()
    heard.pytest_rap_event(Judged(runs.result(Verdict.UNTESTED, reason="no tool")))
    assert (tmp_path / "killed").read_text("ascii") == "TCS004 untested: no tool"
    heard.pytest_rap_event(Found(runs.requirement(), runs.finding(), 7))
    assert (tmp_path / "killed").read_text("ascii").startswith("TCS004 another case of a live id: ")
