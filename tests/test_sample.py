"""The sample reports are such as this suite makes today; otherwise: python scripts/sample.py."""

from __future__ import annotations

import json
import re

from rap_conformance.contract import problems
from rap_conformance.protocol.specification import catalogue
from tests.support import ROOT

SAMPLE = ROOT / "docs" / "sample"
REPORT = json.loads((SAMPLE / "report.json").read_text("utf-8"))


def test_the_report_is_valid_and_about_todays_requirements() -> None:
    assert problems("report", REPORT) == []
    judged = {entry["code"] for entry in REPORT["requirements"]}
    assert judged == {r.code for r in catalogue().at(REPORT["suite"]["revision"], "server")}


def test_every_file_is_there_and_none_shows_a_path_of_the_machine_it_was_made_on() -> None:
    listed = set(re.findall(r"\]\((\S+?)\)", (SAMPLE / "README.md").read_text("utf-8")))
    assert listed == {path.name for path in SAMPLE.iterdir()} - {"README.md"}
    assert not [path.name for path in SAMPLE.iterdir() if b"/rapc-sample" in path.read_bytes()]
