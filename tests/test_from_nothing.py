"""The table of README.md that counts commands: it says what was counted, and counting still gives that."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import pytest

from fixtures.servers.frameworks.from_nothing import KEPT, README, Row, count, kept, table, written


def test_the_table_says_what_was_counted() -> None:
    readme = README.read_text("utf-8")
    assert written(readme, kept()) == readme, (
        "python -m fixtures.servers.frameworks.from_nothing makes it anew"
    )
    assert [asdict(row) for row in kept()] == [
        {**row, **{key: tuple(value) for key, value in row.items() if isinstance(value, list)}}
        for row in json.loads(KEPT.read_text("utf-8"))
    ]


def test_no_server_takes_more_than_three_commands() -> None:
    assert kept()
    assert all(len(row.commands) <= 3 for row in kept())
    assert all("--config" not in command for row in kept() for command in row.commands)


def test_what_stays_open_is_said() -> None:
    row = Row("one", 2, ("init --invoke any", "check"), (7,), 9, "partial", ("TCS007", "TCS008"))
    assert not row.complete
    assert table([row]).splitlines()[-1] == (
        "| one | 2 | 2, the first with `--invoke any` | 7 of 9; open: TCS007 TCS008 |"
    )


@pytest.mark.long
def test_the_reference_server_comes_as_far_as_the_others() -> None:
    command = f"{sys.executable} -m rap_conformance serve --port {{port}}"
    row = count("reference", command)
    assert row.complete, row
    assert len(row.commands) <= 3
