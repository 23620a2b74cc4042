"""compare: many reports on one page; what is no whole report is refused by name."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from rap_conformance.engine.evidence import Verdict
from rap_conformance.reporting import json as json_report
from rap_conformance.reporting import matrix
from tests import runs


def report(
    name: str = "calculator", url: str = "http://one.example", at: str = "2026-08-01", **verdicts: str
) -> Any:
    """A small report with these verdicts by code."""
    results = [runs.result(Verdict(verdict), code) for code, verdict in verdicts.items()]
    made = json_report.report(runs.run(*results))
    made["target"].update(name=name, url=url)
    made["started"] = f"{at}T12:00:00Z"
    return made


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


class Table(HTMLParser):
    """Texts of the table's cells, row by row, and every tag."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.flags: list[set[str]] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
            self.flags.append({name for name, _ in attrs})
        if tag in {"td", "th"}:
            self.rows[-1].append("")
            self._inside = True

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th"}:
            self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.rows[-1][-1] += data


def table(*entries: matrix.Entry) -> Table:
    found = Table()
    found.feed(matrix.compare(entries))
    return found


def test_servers_stand_beside_each_other_requirements_below() -> None:
    one = matrix.Entry("a.json", report("one", "http://one.example", TCS001="pass", TCS004="fail"))
    two = matrix.Entry("b.json", report("two", "http://two.example", TCS001="pass", TCS005="untested"))
    found = table(one, two)
    assert [cell[:3] for cell in found.rows[0]] == ["Req", "one", "two"]
    assert [row[0][:6] for row in found.rows[1:]] == ["TCS004", "TCS005", "TCS001"]
    assert found.rows[1][1:] == ["✗ fail", "not judged"]
    assert found.rows[3][1:] == ["✓ pass", "✓ pass"]
    assert "data-differs" in found.flags[1]
    assert found.flags[3] == set()
    assert "1 of 2 MUSTs passed" in found.rows[0][1]
    assert "runs of 2 servers" in matrix.compare([one, two])


def test_what_changed_between_two_runs_of_one_server_is_marked() -> None:
    new = matrix.Entry(
        "new.json", report(at="2026-08-02", TCS001="fail", TCS004="pass", TCS005="untested", TCS006="pass")
    )
    old = matrix.Entry(
        "old.json", report(at="2026-08-01", TCS001="pass", TCS004="fail", TCS005="pass", TCS006="pass")
    )
    found = table(new, old)
    rows = {row[0][:6]: row[1:] for row in found.rows[1:]}
    assert rows["TCS001"] == ["✓ pass", "✗ fail ▼worse, was pass"]
    assert rows["TCS004"] == ["✗ fail", "✓ pass ▲better, was fail"]
    assert rows["TCS005"] == ["✓ pass", "○ untested ◆other, was pass"]
    assert rows["TCS006"] == ["✓ pass", "✓ pass"]
    page = matrix.compare([new, old])
    assert (
        "old.json → new.json: worse: TCS001 (pass → fail); better: TCS004 (fail → pass); other: TCS005"
        in page
    )
    assert "only what changed" in page


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        (("a", "http://127.0.0.1:3001"), ("a", "http://127.0.0.1:49152"), True),
        (("a", "http://127.0.0.1:3001"), ("b", "http://127.0.0.1:3001"), False),
        (("a", "https://x.example"), ("a", "https://x.example"), True),
        (("a", "https://x.example:1"), ("a", "https://x.example:2"), False),
        (("a", "https://x.example/a"), ("a", "https://x.example/b"), False),
    ],
)
def test_a_server_is_known_by_name_and_address(
    one: tuple[str, str], two: tuple[str, str], same: bool
) -> None:
    entries = [matrix.Entry("x", report(*each, TCS001="pass")) for each in (one, two)]
    assert (entries[0].server == entries[1].server) is same


def test_files_are_called_by_what_tells_them_apart(tmp_path: Path) -> None:
    paths = [write(tmp_path / run / "report.json", report(TCS001="pass")) for run in ("monday", "tuesday")]
    assert [entry.label for entry in matrix.read(paths)] == ["monday/report.json", "tuesday/report.json"]
    assert [entry.label for entry in matrix.read(paths[:1])] == ["report.json"]


WHOLE = json_report.dumps(runs.run())
VERSION = f'"schema_version": "{json_report.SCHEMA_VERSION}"'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        (WHOLE[: len(WHOLE) // 2], "is truncated or damaged: no JSON at character"),
        (WHOLE[:-3], "is truncated or damaged"),
        ("[]", "is no report of rap-conformance"),
        ('{"a": 1}', "is damaged or no report: at the top"),
        (
            WHOLE.replace(VERSION, '"schema_version": "0.9"'),
            "has schema 0.9, an older version",
        ),
        (
            WHOLE.replace(VERSION, '"schema_version": "2.0"'),
            "has schema 2.0, a version that",
        ),
        (WHOLE.replace('"verdict": "fail"', '"verdict": "perfect"'), "at requirements/1/verdict"),
        (WHOLE.replace('"verdict": "not-conformant"', '"verdict": 7'), "at verdict"),
        (
            json_report.dumps(json_report.incomplete("http://x", "2026-08-01T12:00:00Z")),
            "its run never ended",
        ),
        ("[" * 100_000, "is damaged"),
        ('{"schema_version": "1.0", "requirements": 5}', "is no report"),
    ],
    ids=lambda value: str(value)[:20] if "schema" not in str(value)[:40] else "report",
)
def test_what_is_no_whole_report_is_refused_by_name(tmp_path: Path, content: str, said: str) -> None:
    path = write(tmp_path / "odd report.json", content)
    with pytest.raises(matrix.ReportError) as caught:
        matrix.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert said in message
    assert "\n" not in message
    assert len(message) < 500


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(matrix.ReportError, match="cannot be read"):
        matrix.load(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(matrix.ReportError, match="not UTF-8 at byte 7"):
        matrix.load(tmp_path / "bytes.json")
    with pytest.raises(matrix.ReportError, match="no report was given"):
        matrix.compare([])


def test_hostile_reports_add_nothing_to_the_page() -> None:
    hostile = matrix.Entry(runs.HOSTILE, json_report.report(runs.hostile()))
    ordinary = matrix.Entry("a", report(TCS001="pass"))
    found, plain = table(hostile, hostile), table(ordinary, ordinary)
    assert found.tags == plain.tags
    page = matrix.compare([hostile, hostile])
    assert not [char for char in runs.HARMFUL if char in page]
    assert page.count("<script>") == 1


def test_a_large_report_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("w", encoding="ascii") as file:
        file.writelines(json_report.pieces(runs.ten_thousand()))
    assert len(matrix.load(path)["requirements"]) == 100
