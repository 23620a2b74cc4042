"""Reports: complete, joined with the catalogue, and unharmed by what a server sends."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser

import jsonschema
import pytest
from junitparser import JUnitXml, TestCase

from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.run import Run, RunVerdict
from rap_conformance.places import place
from rap_conformance.reporting import html, terminal, view
from rap_conformance.reporting import json as json_report
from rap_conformance.reporting.curl import curl
from rap_conformance.reporting.junit import junit
from tests import runs


def page(shown: Run) -> str:
    parts = [*html.prefix(shown), *html.header_cells()]
    for result in shown.results:
        parts += [*html.row_cells(result.requirement, result.verdict), html.evidence_html(result)]
    return "\n".join(parts)


def all_terminal(shown: Run) -> str:
    blocks = [terminal.failure_block(result) for result in shown.results]
    return "\n".join([*blocks, *terminal.summary_lines(shown), terminal.last_line(shown)])


SVG = "viewbox role aria-label d x y cx cy r rx width height tabindex"


class Tags(HTMLParser):
    """Which elements and attributes a page has, and that every element is closed."""

    VOID = frozenset({"meta", "br", "img", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.scripts += tag == "script"
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name == "href"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_hostile_text_adds_nothing_to_the_page() -> None:
    tags = Tags()
    tags.feed(page(runs.hostile()))
    assert not tags.open
    assert not tags.seen & {"img", "iframe", "link", "style", "object", "embed", "base"}
    ordinary = Tags()
    ordinary.feed(page(runs.run()))
    assert not ordinary.open
    assert (
        tags.seen - {"svg", "g", "path", "circle", "rect", "text", "title", "figure", "figcaption"}
        <= ordinary.seen
    )
    assert tags.attributes <= ordinary.attributes | set(SVG.split())
    assert tags.scripts == ordinary.scripts == 1
    assert not any(name.startswith("on") for name in tags.attributes)
    assert all(link.startswith(("#", "https://github.com/hydro-project/")) for link in tags.links)


def test_the_page_loads_nothing_from_anywhere() -> None:
    style = html.CSS_FILE.read_text("utf-8")
    assert not any(mark in style for mark in ("url(", "@import", "http"))
    assert "src=" not in page(runs.run())
    assert style.count("{") == style.count("}")
    assert not any(
        word in html.script() for word in ("fetch(", "XMLHttpRequest", "import(", "eval(", "innerHTML", "</")
    )


@pytest.mark.parametrize("make", [page, html.title, all_terminal], ids=["page", "title", "terminal"])
def test_no_harmful_character_survives(make: Callable[[Run], str]) -> None:
    written = make(runs.hostile())
    assert not [char for char in runs.HARMFUL if char in written]
    written.encode("utf-8")
    assert len(written) < 200_000


def test_cells_hold_no_elements_and_no_line_breaks() -> None:
    # pytest-html reads a cell with a regular expression on one line, and clicks go to the cell itself.
    for cell in html.row_cells(None, None, runs.HOSTILE) + html.row_cells(runs.requirement(), Verdict.FAIL):
        assert cell.count("<td") == 1
        assert "\n" not in cell
        assert "<" not in cell.replace("<!--0-->", "")[3:].replace("</td>", "")
    assert len(html.header_cells()) == len(html.row_cells(None, None))


# --- report.json


def schema() -> dict[str, object] | None:
    path = place("schemas") / "report.schema.json"
    loaded: dict[str, object] | None = json.loads(path.read_text("utf-8")) if path.exists() else None
    return loaded


@pytest.mark.parametrize(
    "content",
    [
        json_report.report(runs.run()),
        json_report.report(runs.hostile()),
        json_report.incomplete("http://127.0.0.1:3001", "2026-08-01T12:00:00Z"),
    ],
    ids=["ordinary", "hostile", "incomplete"],
)
def test_the_json_is_what_its_schema_says(content: dict[str, object]) -> None:
    described = schema()
    if described is None:
        pytest.skip("schemas/report.schema.json is not there yet")
    jsonschema.validators.validator_for(described)(described).validate(json.loads(json_report.dumps(content)))


def test_the_json_is_ascii_and_no_parser_stumbles_over_it() -> None:
    written = json_report.dumps(runs.hostile())
    assert written.isascii()
    assert len(written) < 200_000
    json.loads(written)["target"]["name"].encode("utf-8")
    assert json.loads(json_report.dumps(runs.run())) == json_report.report(runs.run())


def test_evidence_says_all_that_happened() -> None:
    evidence = json_report.report(runs.run())["requirements"][1]["evidence"][0]
    assert evidence["liveness"].startswith("alive:")
    assert evidence["reproduce"] == curl(runs.exchange())
    assert evidence["case"] == runs.finding().fingerprint
    sent = evidence["exchanges"][0]
    assert json.loads(sent["request"]["body"]["text"]) == {"thread_id": "rapc-t1", "tool_call_id": "RAPC-C1"}
    assert sent["response"]["status"] == 200
    assert sent["response"]["body"] == {"text": '{"alive": true}', "bytes": 15, "truncated": False}
    assert sent["elapsed_s"] == 0.0034


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"", {"text": "", "bytes": 0, "truncated": False}),
        (b"\xff", {"base64": "/w==", "bytes": 1, "truncated": False}),
        (b"a" * 8192, {"text": "a" * 8192, "bytes": 8192, "truncated": False}),
        (b"a" + "é".encode() * 5000, {"text": "a" + "é" * 4095, "bytes": 10001, "truncated": True}),
    ],
    ids=["empty", "not UTF-8", "at the limit", "cut within a character"],
)
def test_a_body_as_json_shows_it(body: bytes, shown: dict[str, object]) -> None:
    found = replace(runs.finding(), exchanges=(runs.exchange(answer=body),))
    content = json_report.report(runs.run(replace(runs.result(Verdict.FAIL), findings=(found,))))
    assert content["requirements"][0]["evidence"][0]["exchanges"][0]["response"]["body"] == shown


def test_no_answer_is_no_response() -> None:
    found = replace(runs.finding(), exchanges=(runs.NO_ANSWER, runs.CALLBACK))
    content = json_report.report(runs.run(replace(runs.result(Verdict.FAIL), findings=(found,))))
    evidence = content["requirements"][0]["evidence"][0]
    assert evidence["exchanges"][0]["response"] is None
    assert evidence["exchanges"][0]["failure"] == "connection reset or closed without an answer"
    assert evidence["exchanges"][1]["inbound"] is True
    assert evidence["liveness"].startswith("unknown:")


def test_a_run_under_way_is_incomplete() -> None:
    content = json_report.incomplete("http://127.0.0.1:3001", "2026-08-01T12:00:00Z")
    assert (content["verdict"], content["exit"], content["requirements"]) == ("incomplete", 7, [])
    assert set(content) == set(json_report.report(runs.run()))


# --- junit.xml


def cases(written: str) -> list[TestCase]:
    return [case for suite in JUnitXml.fromstring(written.encode()) for case in suite]


def test_junit_marks_each_verdict() -> None:
    written = junit(runs.run())
    marks = {case.name.split()[0]: [type(r).__name__ for r in case.result] for case in cases(written)}
    assert marks == {
        "DSC001": [],
        "TCS004": ["Failure"],
        "TCS006": ["Skipped"],
        "TCS005": ["Skipped"],
        "TCS009": ["Skipped"],
        "SUB001": ["Skipped"],
        "INV005": ["Error"],
        "TCS019": [],
        "TCS036": [],
    }
    whole = JUnitXml.fromstring(written.encode())
    assert (whole.tests, whole.failures, whole.errors) == (9, 1, 1)
    assert [suite.skipped for suite in whole] == [4]
    by_name = {case.name: case for case in cases(written)}
    assert by_name["TCS004 unknown-not-alive"].classname == "tool_call_status"
    assert "configure [scenario.pending]" in by_name["TCS005 unknown-not-alive"].result[0].message
    assert "WARN TCS019" in str(by_name["TCS019 unknown-not-alive"].system_out)


def test_hostile_text_leaves_junit_well_formed() -> None:
    written = junit(runs.hostile())
    assert written.isascii()
    assert len(cases(written)) == len(runs.hostile().results)
    assert "<script" not in written


@pytest.mark.parametrize(
    ("verdict", "exit_status", "marked"),
    [
        (RunVerdict.CONFORMANT, 0, []),
        (RunVerdict.NOT_CONFORMANT, 1, ["Failure"]),
        (RunVerdict.PARTIAL, 7, ["Error"]),
        (RunVerdict.INCOMPLETE, 7, ["Error"]),
    ],
)
def test_junit_says_why_a_run_without_failures_does_not_succeed(
    verdict: RunVerdict, exit_status: int, marked: list[str]
) -> None:
    written = junit(runs.run(runs.result(Verdict.PASS), verdict=verdict, exit_status=exit_status))
    assert [type(r).__name__ for case in cases(written) for r in case.result] == marked


def test_a_run_without_results_has_a_page() -> None:
    assert "0 of 0 applicable MUSTs exercised" in page(replace(runs.run(), results=()))


@pytest.mark.parametrize("verdict", RunVerdict)
def test_every_verdict_has_a_sentence_and_a_first_step(verdict: RunVerdict) -> None:
    for results in (runs.one_of_each(), (runs.result(Verdict.PASS),)):
        shown = runs.run(*results, verdict=verdict)
        assert view.headline(shown).endswith(".")
        assert view.next_step(shown)[0].strip()
