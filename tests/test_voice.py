"""What `check` says: readable in a pipe, in 40 columns, without colours, in any encoding."""

from __future__ import annotations

import io

import pytest

from rap_conformance.engine.events import Begins, Ended, Found, Judged
from rap_conformance.engine.evidence import Finding, Verdict
from rap_conformance.engine.requirement import Stage
from rap_conformance.engine.run import Result
from rap_conformance.protocol.specification import catalogue
from rap_conformance.reporting.voice import Voice
from tests import runs

MUST = next(r for r in catalogue() if r.code == "TCS004")
FINDING = Finding(
    "TCS004", MUST.level, "an unknown id", "`alive: false`", "`alive: true` \x1b[31m\u202e\ud800", ()
)
FAILED = Result(MUST, Verdict.FAIL, "an unknown id: `alive: true`", (FINDING,))
PASSED = Result(MUST, Verdict.PASS)


class Terminal(io.StringIO):
    """A stream that says it is watched."""

    def isatty(self) -> bool:
        return True


def said(verbosity: int = 0, stream: io.StringIO | None = None) -> str:
    """Everything that is said in a run with one failure and one pass."""
    stream = stream or io.StringIO()
    voice = Voice(verbosity, stream)
    voice.begins("http://127.0.0.1:3001", 2, 7, "quick")
    for number, result in enumerate((FAILED, PASSED)):
        voice.hear(Begins(MUST, number, 2, left=3.2))
        voice.hear(Judged(result))
    voice.hear(Ended(runs.run(FAILED, PASSED), "", "reports"))
    return stream.getvalue()


def test_a_pipe_gets_plain_lines() -> None:
    text = said()
    assert "\x1b" not in text
    assert "\r" not in text
    assert "FAIL" in text
    assert text.rstrip().splitlines()[-1].count("exit") == 1


def test_a_terminal_gets_colours_and_a_status_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CI", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    text = said(stream=Terminal())
    assert "\x1b[31;1m" in text
    assert "....................[0/2] TCS004" in text
    assert "##########..........[1/2] TCS004" in text
    assert "about 3 s left" in text
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in said(stream=Terminal())
    monkeypatch.setenv("TERM", "dumb")
    assert "\r" not in said(stream=Terminal())


def test_a_pipe_is_told_once_of_a_wait_and_of_what_comes_after_what_is_harmless() -> None:
    stream = io.StringIO()
    voice = Voice(0, stream)
    forged = next(r for r in catalogue() if r.stage is Stage.FORGED)
    for number, event in enumerate((MUST, MUST, forged, forged)):
        voice.hear(Begins(event, number, 4, left=12.2))
    assert stream.getvalue().splitlines() == [
        "[0/4] waiting about 12 s for calls that were started together",
        "[2/4] forged credentials",
    ]


def test_a_failure_is_said_when_it_is_found_and_not_once_more_when_it_is_judged() -> None:
    stream = io.StringIO()
    voice = Voice(0, stream)
    voice.hear(Found(MUST, FINDING, 12))
    voice.hear(Judged(FAILED))
    assert len(stream.getvalue().splitlines()) == 1
    assert stream.getvalue().startswith("FOUND    TCS004 ")


def test_an_interruption_says_what_is_done_before_the_end() -> None:
    stream = io.StringIO()
    Voice(0, stream).interrupted("stopping the server")
    assert "stopping the server" in stream.getvalue()
    assert "Ctrl-C again" in stream.getvalue()


def test_forty_columns_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    prose = [line for line in said().splitlines() if line.startswith("            ") and "://" not in line]
    assert prose
    assert max(map(len, prose)) <= 44, "only words that must stay whole reach beyond the column"


def test_quiet_says_the_last_line_only_and_verbose_what_passed() -> None:
    assert len(said(-1).strip().splitlines()) == 1
    assert "PASS" in said(1)
    assert "PASS " not in said(0)


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "cp437", "utf-8"])
def test_any_encoding_will_do(encoding: str) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    voice = Voice(1, stream)
    voice.judged(FAILED)
    voice.say("… · — ✓ \ud800")
    voice.ends(runs.run(FAILED, PASSED), "", "r\u00e9ports")
    stream.flush()
    assert b"TCS004" in raw.getvalue()
