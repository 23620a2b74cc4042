"""What an engine of any protocol does before it shows a finding: the peer is asked again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from rap_conformance.engine.evidence import Finding, Verdict
from rap_conformance.engine.scenario import Trouble
from tests import tiny
from tests.test_engine import shouted, verdicts


class Careful(tiny.Shouter):
    """Says the same again before it is shown."""

    again: ClassVar[list[str]] = []

    def replayed(self, finding: Finding) -> Finding:
        Careful.again.append(finding.case)
        if finding.case == "hello":
            return replace(finding, depends="the weather")
        raise Trouble("nobody listens") if finding.case == "later" else ZeroDivisionError("ours")


def test_a_finding_is_asked_again_before_it_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiny, "Shouter", Careful)
    Careful.again.clear()
    run, _ = shouted(tmp_path, str.lower)
    assert Careful.again == ["hello", "a whisper", "later"]
    loud_, whispered = run.results
    assert [(finding.case, finding.depends) for finding in loud_.findings] == [
        ("hello", "the weather"),
        ("later", ""),
    ]
    assert whispered.verdict is Verdict.WARN, "what goes wrong in asking again changes no verdict"
    assert any("ZeroDivisionError" in note for note in whispered.notes)


def test_what_killed_the_peer_is_not_said_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(text: str) -> str:
        return str(1 / 0) if text.startswith("(") else text.upper()

    monkeypatch.setattr(tiny, "Shouter", Careful)
    monkeypatch.setattr(tiny.Session, "revive", lambda *_: None)
    Careful.again.clear()
    assert verdicts(shouted(tmp_path, dies)[0])["SHO002"] == "warn"
    assert Careful.again == []
