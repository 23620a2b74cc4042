"""The folder of reports: written in one step each, nothing stale, junit.xml as Jenkins wants it."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
import xmlschema
from junitparser import JUnitXml

from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.inputs import ConfigError
from rap_conformance.engine.run import Run, RunVerdict
from rap_conformance.reporting import files, markdown
from rap_conformance.reporting import json as json_report
from rap_conformance.reporting.junit import junit
from tests import runs

SCHEMA = Path(__file__).parent / "data" / "junit-10.xsd"
EVERYTHING = {"junit.xml", "summary.md", "exchanges.har", "report.json", "badge.json", "attestation.json"}


def whole() -> Run:
    return replace(runs.run(), planned=9, executed=9)


def test_a_whole_run_leaves_every_file(tmp_path: Path) -> None:
    files.begin(tmp_path, "http://x", "2026-08-01T12:00:00Z")
    written = files.write(tmp_path, whole())
    assert set(written) == EVERYTHING == set(os.listdir(tmp_path))
    report = (tmp_path / "report.json").read_bytes()
    assert json.loads(report) == json_report.report(whole())
    statement = json.loads((tmp_path / "attestation.json").read_text("utf-8"))
    assert statement["subject"][0]["digest"]["sha256"] == hashlib.sha256(report).hexdigest()
    assert (tmp_path / "summary.md").read_text("utf-8") == markdown.summary(whole())


def test_a_selection_leaves_no_badge_and_no_attestation_of_yesterday(tmp_path: Path) -> None:
    files.write(tmp_path, whole())
    (tmp_path / "report.html").write_text("yesterday", "utf-8")
    (tmp_path / "mine.txt").write_text("mine", "utf-8")
    files.begin(tmp_path, "http://x", "2026-08-01T12:00:00Z")
    assert set(os.listdir(tmp_path)) == {"report.json", "mine.txt"}
    assert json.loads((tmp_path / "report.json").read_text("utf-8"))["verdict"] == "incomplete"
    files.write(tmp_path, replace(whole(), selected=("TCS004",)))
    assert not {"badge.json", "attestation.json"} & set(os.listdir(tmp_path))


def test_the_subject_is_handed_on(tmp_path: Path) -> None:
    files.write(tmp_path, whole(), "image@sha256:" + "0" * 64)
    assert json.loads((tmp_path / "attestation.json").read_text("utf-8"))["subject"][0]["name"] == "image"
    with pytest.raises(ConfigError):
        files.write(tmp_path, whole(), "image")


def test_a_file_that_cannot_be_written_leaves_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "junit.xml").mkdir()
    with pytest.raises(OSError, match="junit"):
        files.write(tmp_path, whole())
    assert os.listdir(tmp_path) == ["junit.xml"]


@pytest.mark.parametrize(
    "run", [runs.run(), runs.hostile(), replace(runs.run(), results=())], ids=["ordinary", "hostile", "empty"]
)
def test_report_json_comes_in_pieces_that_make_the_same_text(run: Run) -> None:
    whole_text = json.dumps(json_report.report(run), indent=2, ensure_ascii=True) + "\n"
    assert "".join(json_report.pieces(run)) == whole_text
    assert json_report.dumps(run) == whole_text


def test_report_json_says_what_the_baseline_and_the_clock_did() -> None:
    run = replace(
        runs.run(),
        stale=("TCS031: the requirement passed",),
        latencies=(0.001, 0.002, 0.2),
        selected=("TCS*",),
    )
    content = json_report.report(run)
    assert content["baseline"] == {"used": [], "stale": ["TCS031: the requirement passed"]}
    assert content["latency_s"] == {"count": 3, "median": 0.002, "p95": 0.2, "p99": 0.2, "max": 0.2}
    assert content["selected"] == ["TCS*"]
    assert json_report.report(runs.run())["latency_s"] is None


# --- junit.xml for Jenkins


@pytest.fixture(scope="module")
def schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(str(SCHEMA), allow="local")


@pytest.mark.parametrize(
    "run",
    [
        runs.run(),
        runs.hostile(),
        runs.run(runs.result(Verdict.PASS), verdict=RunVerdict.CONFORMANT, exit_status=0),
        runs.run(runs.result(Verdict.PASS), verdict=RunVerdict.NOT_CONFORMANT),
        replace(runs.run(verdict=RunVerdict.INCOMPLETE, exit_status=7), results=(), duration=12345.6789),
    ],
    ids=["ordinary", "hostile", "passed", "stale baseline", "nothing"],
)
def test_junit_is_what_jenkins_takes(run: Run, schema: xmlschema.XMLSchema, tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    path.write_text(junit(run), "utf-8")
    schema.validate(str(path))
    parsed = JUnitXml.fromfile(str(path))
    suite = next(iter(parsed))
    assert parsed.tests == suite.tests == len(list(suite))
    failures = sum(type(result).__name__ == "Failure" for case in suite for result in case.result)
    assert failures == suite.failures
