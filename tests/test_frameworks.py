"""The servers of six frameworks: what docs/frameworks.md says is what `make frameworks` expects of each."""

from __future__ import annotations

import re

import pytest

from fixtures.servers.frameworks.__main__ import SERVERS
from tests.support import ROOT

PAGE = (ROOT / "docs" / "frameworks.md").read_text("utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| [")]


def test_the_page_lists_what_is_expected_of_each() -> None:
    told = [sorted(re.findall(r"[A-Z]{3}\d{3}", row)) for row in ROWS]
    assert told == [sorted(server.found) for server in SERVERS.values()]


@pytest.mark.parametrize("name", SERVERS)
def test_each_finding_has_its_paragraph(name: str) -> None:
    everybody, _, rest = PAGE.partition("\n## FastAPI")
    heading = ROWS[list(SERVERS).index(name)].split("[")[1].split("]")[0]
    own = f"## FastAPI{rest}".split(f"## {heading}\n")[1].split("\n## ")[0]
    assert all(f"({code}, " in own or f"({code}, " in everybody for code in SERVERS[name].found)
