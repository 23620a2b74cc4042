"""Correct servers with other times are accused of nothing, and a pass rests on enough answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.servers.times import TIMES
from tests.test_references import Variant

UNTESTED: dict[str, set[str]] = {}
"""What such a server leaves nobody able to judge."""


@pytest.mark.deep
@pytest.mark.parametrize("name", TIMES)
@pytest.mark.timeout(400)
def test_a_server_with_other_times_is_accused_of_nothing(name: str, tmp_path: Path) -> None:
    outcome = Variant("varied", f"--time {name} --rate-limit 450").certify(tmp_path / "run")
    shown = "\n".join(
        f"{entry['code']} {entry['verdict']}: {entry['reason']}"
        for entry in outcome.report["requirements"]
        if entry["verdict"] not in {"pass", "not-applicable"}
    )
    verdicts = outcome.verdicts()
    assert not set(verdicts.values()) & {"fail", "warn", "advice", "error", "known"}, shown
    untested = {code for code, verdict in verdicts.items() if verdict == "untested"}
    assert untested == UNTESTED.get(name, set()), shown
    assert outcome.exit == 0, outcome.out[-2000:] + outcome.err[-2000:]
