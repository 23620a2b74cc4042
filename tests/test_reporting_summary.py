"""summary.md, badge.json and attestation.json: what others see of a run, and what only a whole run earns."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from google.protobuf import json_format  # type: ignore[import-untyped]
from in_toto_attestation.predicates.test_result.v0.test_result_pb2 import TestResult as InTotoResult  # type: ignore[import-untyped]
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor  # type: ignore[import-untyped]
from in_toto_attestation.v1.resource_descriptor_pb2 import ResourceDescriptor as DescriptorMessage  # type: ignore[import-untyped]
from in_toto_attestation.v1.statement import Statement  # type: ignore[import-untyped]
from in_toto_attestation.v1.statement_pb2 import Statement as StatementMessage  # type: ignore[import-untyped]
from markdown_it import MarkdownIt

from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.inputs import ConfigError
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.run import Known, Result, Run, RunVerdict
from rap_conformance.reporting import attestation, badge, markdown, view
from tests import runs

DIGEST = hashlib.sha256(b"the report").hexdigest()


def whole(*results: Result, verdict: RunVerdict = RunVerdict.CONFORMANT, exit_status: int = 0) -> Run:
    """A run that judged all it planned."""
    made = runs.run(*results, verdict=verdict, exit_status=exit_status)
    return replace(made, planned=len(made.results), executed=len(made.results), catalogue_digest="ab" * 32)


PASSED = (runs.result(Verdict.PASS, "TCS001"), runs.result(Verdict.PASS, "TCS002"))


# --- what earns a badge


@pytest.mark.parametrize(
    ("run", "earned"),
    [
        (whole(*PASSED), True),
        (whole(verdict=RunVerdict.NOT_CONFORMANT, exit_status=1), True),
        (whole(*PASSED, verdict=RunVerdict.PARTIAL), True),
        (replace(whole(*PASSED), selected=("TCS*",)), False),
        (replace(whole(*PASSED), planned=3), False),
        (replace(whole(*PASSED), executed=1), False),
        (replace(whole(verdict=RunVerdict.NOT_CONFORMANT), cut_short="the server died"), False),
        (whole(*PASSED, verdict=RunVerdict.INCOMPLETE, exit_status=7), False),
        (replace(whole(*PASSED), results=(), planned=0, executed=0), False),
    ],
    ids=[
        "passed",
        "failed",
        "partial",
        "selection",
        "fewer",
        "not executed",
        "cut short",
        "incomplete",
        "empty",
    ],
)
def test_only_a_whole_run_earns_badge_and_attestation(run: Run, earned: bool) -> None:
    assert view.earns(run) is earned


# --- badge.json


@pytest.mark.parametrize(
    ("results", "verdict", "message", "colour"),
    [
        (PASSED, RunVerdict.CONFORMANT, "2/2 MUSTs", "brightgreen"),
        ((*PASSED, runs.result(Verdict.UNTESTED)), RunVerdict.PARTIAL, "2/3 MUSTs", "yellow"),
        ((*PASSED, runs.result(Verdict.KNOWN)), RunVerdict.CONFORMANT, "2/3 MUSTs", "yellow"),
        ((*PASSED, runs.result(Verdict.FAIL)), RunVerdict.NOT_CONFORMANT, "2/3 MUSTs", "red"),
        ((*PASSED, runs.result(Verdict.NOT_APPLICABLE)), RunVerdict.CONFORMANT, "2/2 MUSTs", "brightgreen"),
        (
            (*PASSED, runs.result(Verdict.WARN, level=Level.SHOULD)),
            RunVerdict.CONFORMANT,
            "2/2 MUSTs",
            "brightgreen",
        ),
        (PASSED, RunVerdict.PARTIAL, "2/2 MUSTs", "yellowgreen"),
        ((), RunVerdict.INCOMPLETE, "incomplete", "lightgrey"),
    ],
)
def test_what_is_untested_or_known_lowers_the_figure(
    results: tuple[Result, ...], verdict: RunVerdict, message: str, colour: str
) -> None:
    made = json.loads(badge.dumps(whole(*results, verdict=verdict)))
    assert made == {"schemaVersion": 1, "label": "RAP 2026-07-pr62", "message": message, "color": colour}


def test_a_must_with_a_lower_finding_is_met_and_one_with_its_own_is_not() -> None:
    lower = replace(runs.result(Verdict.ADVICE), findings=(runs.finding(Level.ADVICE),))
    assert view.met(lower)
    assert not view.met(replace(lower, findings=(runs.finding(Level.MUST),)))


# --- attestation.json


def read(written: str) -> tuple[Statement, InTotoResult]:
    """The statement and predicate as the in-toto library reads them, every descriptor validated."""
    message = json_format.Parse(written, StatementMessage())
    found = Statement.copy_from_pb(message)
    found.validate()
    predicate = json_format.ParseDict(json_format.MessageToDict(message.predicate), InTotoResult())
    for descriptor in predicate.configuration:
        copied = DescriptorMessage()
        copied.CopyFrom(descriptor)
        ResourceDescriptor.copy_from_pb(copied).validate()
    return found, predicate


def test_the_in_toto_library_reads_the_attestation() -> None:
    entries = (Known("TCS006", "limits are set at the gateway", "9c1f", "2027-06-30"),)
    run = replace(whole(verdict=RunVerdict.NOT_CONFORMANT, exit_status=1), known=entries)
    found, predicate = read(attestation.dumps(run, DIGEST))
    assert found.pb.type == "https://in-toto.io/Statement/v1"
    assert found.pb.predicate_type == "https://in-toto.io/attestation/test-result/v0.1"
    assert predicate.result == "FAILED"
    assert list(predicate.passed_tests) == ["DSC001"]
    assert list(predicate.warned_tests) == ["TCS006", "TCS019", "TCS036"]
    assert list(predicate.failed_tests) == ["TCS004"]
    by_name = {each.name: json_format.MessageToDict(each) for each in predicate.configuration}
    assert by_name["catalogue"]["digest"] == {"sha256": "ab" * 32}
    assert by_name["catalogue"]["annotations"] == {
        "suite": "rap-conformance",
        "suiteVersion": "0.1.0",
        "revision": "2026-07-pr62",
        "catalogue": "0.1",
    }
    settings = by_name["configuration"]
    assert settings["digest"] == {"sha256": attestation.digest({"request_timeout": "10.0"})}
    assert settings["annotations"]["seed"] == "7"
    assert settings["annotations"]["profile"] == "standard"
    assert settings["annotations"]["baseline"][0]["reason"] == "limits are set at the gateway"
    about = by_name["report.json"]["annotations"]
    assert by_name["report.json"]["digest"] == {"sha256": DIGEST}
    assert (about["untested"], about["notApplicable"], about["error"]) == (
        ["TCS005", "TCS009"],
        ["SUB001"],
        ["INV005"],
    )


def test_the_subject_is_the_report_unless_one_is_named() -> None:
    found, _ = read(attestation.dumps(whole(*PASSED), DIGEST))
    assert [(s.name, dict(s.digest)) for s in found.pb.subject] == [("report.json", {"sha256": DIGEST})]
    assert "the report alone" in attestation.dumps(whole(*PASSED), DIGEST)
    named = attestation.dumps(whole(*PASSED), DIGEST, "ghcr.io/acme/server@sha256:" + "CD" * 32)
    found, _ = read(named)
    assert [(s.name, dict(s.digest)) for s in found.pb.subject] == [
        ("ghcr.io/acme/server", {"sha256": "cd" * 32})
    ]
    assert "the report alone" not in named


@pytest.mark.parametrize(
    "given",
    [
        "",
        "server",
        "server@sha256:12",
        "@sha256:" + "a" * 64,
        "a@sha1:" + "a" * 64,
        "a\n@sha256:" + "a" * 64,
        "a" * 600,
    ],
)
def test_a_subject_that_is_none_is_refused_in_one_line(given: str) -> None:
    with pytest.raises(ConfigError, match=r"^--subject: got .*; allowed: NAME@sha256:") as caught:
        attestation.parse_subject(given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("results", "verdict", "said"),
    [
        (PASSED, RunVerdict.CONFORMANT, "PASSED"),
        ((*PASSED, runs.result(Verdict.UNTESTED)), RunVerdict.PARTIAL, "WARNED"),
        ((*PASSED, runs.result(Verdict.KNOWN)), RunVerdict.CONFORMANT, "WARNED"),
        ((*PASSED, runs.result(Verdict.WARN, level=Level.SHOULD)), RunVerdict.CONFORMANT, "WARNED"),
        ((*PASSED, runs.result(Verdict.FAIL)), RunVerdict.NOT_CONFORMANT, "FAILED"),
        (PASSED, RunVerdict.INCOMPLETE, "FAILED"),
    ],
)
def test_passed_means_that_every_applicable_must_was_met(
    results: tuple[Result, ...], verdict: RunVerdict, said: str
) -> None:
    assert attestation.result(whole(*results, verdict=verdict)) == said


def test_a_hostile_run_leaves_the_attestation_readable() -> None:
    written = attestation.dumps(runs.hostile(), DIGEST)
    assert written.isascii()
    read(written)


# --- summary.md


class Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links |= {value or "" for name, value in attrs if name in {"href", "src"}}


def rendered(written: str) -> tuple[str, Seen]:
    """As GitHub would render it: CommonMark with tables, raw HTML let through."""
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(written)
    seen = Seen()
    seen.feed(page)
    return page, seen


def test_the_summary_says_verdict_first_step_coverage_and_failures() -> None:
    run = replace(runs.run(), causes=("no callback ever arrives",), stale=("TCS031: the requirement passed",))
    page, seen = rendered(markdown.summary(run))
    assert page.startswith("<h2>Not conformant: 1 requirement failed.</h2>")
    for part in (
        "no callback ever arrives",
        "3 of 6 applicable MUSTs exercised: 1 failed",
        "<td>✗ fail</td>",
        "<summary>✗ TCS004 unknown-not-alive: MUST</summary>",
        "actual: {&quot;alive&quot;: true} for an id nobody invoked",
        'class="language-sh"',
        "POST http://127.0.0.1:3001/tool_call_status",
        "How to mend it",
        "rap-conformance check --server-url http://127.0.0.1:3001 --requirement TCS004",
        "[[known]]",
        "configure [scenario.pending]: TCS005 TCS009",
        "TCS031: the requirement passed",
        "seed 7",
    ):
        assert part in page, part
    assert {"details", "summary", "table", "pre", "sub"} <= seen.tags


def test_a_hostile_run_adds_nothing_to_the_summary() -> None:
    written = markdown.summary(runs.hostile())
    page, seen = rendered(written)
    ordinary = rendered(markdown.summary(replace(runs.run(), causes=("x",), notes=("x",))))[1]
    assert seen.tags <= ordinary.tags | {"ul", "li", "h3"}
    assert seen.attributes <= {"href", "class", "style"}
    assert all(link.startswith("https://github.com/hydro-project/") for link in seen.links)
    assert not [char for char in runs.HARMFUL if char in written]
    # In code nobody is mentioned.
    assert "@everyone" not in re.sub(r"<code.*?</code>", "", page, flags=re.DOTALL)
    assert len(written) <= markdown.LIMIT


@pytest.mark.parametrize("content", ["```", "a\n````\n~~~\n<b>", "`" * 50, ""])
def test_code_cannot_end_its_fence(content: str) -> None:
    page, seen = rendered(markdown.fenced(content, "sh") + "\n\nafter")
    assert seen.tags == {"pre", "code", "p"}
    assert "<p>after</p>" in page


@pytest.mark.parametrize("given", ["a `b|c` d", "`", "``", "`a``b`", "` `", "`x\\`|y`"])
def test_prose_stays_in_its_cell(given: str) -> None:
    page, seen = rendered(f"| head |\n|---|\n| {markdown.prose(given)} |\n")
    assert page.count("<td>") == 1
    assert seen.tags <= {"table", "thead", "tbody", "tr", "th", "td", "code"}


def test_what_does_not_fit_into_a_comment_is_counted() -> None:
    written = markdown.summary(runs.ten_thousand())
    assert len(written) <= markdown.LIMIT
    assert "There is no room here for" in written
    assert "seed 7" in written
