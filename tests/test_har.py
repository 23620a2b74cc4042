"""exchanges.har: what other tools read, with everything that a peer may send in it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from rap_conformance.engine.evidence import Exchange, Failure, Finding, Verdict
from rap_conformance.engine.run import Result
from rap_conformance.protocol.specification import catalogue
from rap_conformance.reporting.har import har
from tests import runs

MUST = next(r for r in catalogue() if r.code == "TCS004")
ASKED = Exchange(
    method="POST",
    url="http://127.0.0.1:3001/tool_call_status?a=b&c=",
    request_headers=(("Content-Type", "application/json"),),
    request_body=b'{"thread_id": "a", "tool_call_id": "b"}',
    status=200,
    response_headers=(("content-type", "application/json"), ("X-Odd", "\udcff")),
    response_body=b'{"alive": true}',
    started=1.5,
    ended=1.75,
)


def entries(*exchanges: Exchange, cases: tuple[str, ...] = ("an unknown id",)) -> list[dict[str, Any]]:
    findings = tuple(Finding("TCS004", MUST.level, case, "no", "yes", exchanges) for case in cases)
    run = runs.run(Result(MUST, Verdict.FAIL, "", findings))
    log: dict[str, Any] = json.loads(har(replace(run, started="2026-12-01T12:00:00+00:00", life=())))["log"]
    assert log["version"] == "1.2"
    found: list[dict[str, Any]] = log["entries"]
    return found


def test_an_exchange_is_an_entry_with_its_time_and_the_finding_it_belongs_to() -> None:
    (entry,) = entries(ASKED)
    assert entry["startedDateTime"] == "2026-12-01T12:00:01.500000+00:00"
    assert entry["time"] == 250.0
    assert entry["comment"] == "TCS004: an unknown id"
    assert entry["request"]["postData"]["text"] == ASKED.request_body.decode()
    assert entry["request"]["queryString"] == [{"name": "a", "value": "b"}, {"name": "c", "value": ""}]
    assert entry["response"]["status"] == 200
    assert entry["response"]["content"]["mimeType"] == "application/json"


def test_an_exchange_of_two_findings_is_written_once_and_in_order_of_time() -> None:
    earlier = replace(ASKED, started=0.5, ended=0.6)
    first, second = entries(ASKED, earlier, cases=("one", "two"))
    assert first["startedDateTime"] < second["startedDateTime"]
    assert second["comment"] == "TCS004: one; TCS004: two"


def test_no_answer_and_bytes_that_are_no_text_can_be_read() -> None:
    silent = replace(ASKED, status=None, response_headers=(), response_body=b"", failure=Failure.TIMEOUT)
    odd = replace(ASKED, response_body=b"\xff\xfe", request_body=b"\xff", status=799, started=2.0)
    none, bytes_ = entries(silent, odd)
    assert none["response"]["status"] == 0
    assert none["response"]["_error"] == str(Failure.TIMEOUT)
    assert bytes_["response"]["content"]["encoding"] == "base64"
    json.dumps(bytes_).encode("utf-8")
