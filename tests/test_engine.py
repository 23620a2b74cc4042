"""The engine by itself: it certifies a protocol that is not RAP, and confirms what was merely missed.

Long because the rules of records and runners are read together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from rap_conformance.engine import baseline
from rap_conformance.engine.controls import Control, Positive
from rap_conformance.engine.events import Begins, Event, Events, Found, Judged
from rap_conformance.engine.evidence import Exchange, Failure, Verdict
from rap_conformance.engine.job import Job
from rap_conformance.engine.making import Ending, made
from rap_conformance.engine.plan import Plan
from rap_conformance.engine.record import MOST_FINDINGS, Record, confirmed
from rap_conformance.engine.requirement import Level, Stage
from rap_conformance.engine.run import Result, Run, RunVerdict
from rap_conformance.engine.runner import Runner
from rap_conformance.engine.scenario import (
    Halted,
    NotApplicable,
    Part,
    Scenario,
    Trouble,
    Untested,
    Violation,
)
from rap_conformance.reporting import files, html
from rap_conformance.reporting.json import report
from tests import tiny
from tests.runs import exchange, requirement

CASE = "a case"
POSITIVE = Positive("an answer has to be there")


def shouted(folder: Path, peer: tiny.Peer, *, ears: bool = True, **more: object) -> tuple[Run, list[Event]]:
    """One run of the tiny protocol against a peer."""
    found = tiny.catalogue(folder)
    options = replace(Plan(found.at("1", "shouter"), "1"), **more)  # type: ignore[arg-type]
    session, heard, events = tiny.Session(peer, ears=ears), list[Event](), Events()
    events.listen(heard.append)
    runner = Runner(session, lambda r, attempt: tiny.Shouter(session, r, attempt), options, events)
    planned = runner.plan(tiny.jobs(found))
    runner.start_early()
    for job in planned:
        runner.result(job.requirement.code)
    session.pool.shutdown()
    run = made(
        options,
        session.account(),
        runner.gathered(),
        Ending(),
        started="2026-12-01T00:00:00Z",
        suite_version="0",
        catalogue=found,
    )
    return run, heard


def loud(text: str) -> str:
    return "" if text.startswith("(") else text.upper()


def verdicts(run: Run) -> dict[str, str]:
    return {result.requirement.code: str(result.verdict) for result in run.results}


def test_another_protocol_is_certified(tmp_path: Path) -> None:
    run, heard = shouted(tmp_path, loud)
    assert (verdicts(run), run.verdict, run.exit) == (
        {"SHO001": "pass", "SHO002": "pass"},
        RunVerdict.CONFORMANT,
        0,
    )
    assert [result.judged for result in run.results] == [2, 1]
    assert [type(event) for event in heard] == [Begins, Judged] * 2


def test_what_is_wrong_in_another_protocol_is_found_where_it_is(tmp_path: Path) -> None:
    run, heard = shouted(tmp_path, str.lower)
    assert verdicts(run) == {"SHO001": "fail", "SHO002": "warn"}
    assert [f.case for f in run.results[0].findings] == ["hello", "later"]
    told = [event.finding.case for event in heard if isinstance(event, Found)]
    assert told == ["hello", "a whisper", "later"]


def test_needs_and_controls_decide_in_another_protocol(tmp_path: Path) -> None:
    assert verdicts(shouted(tmp_path, loud, ears=False)[0])["SHO002"] == "not-applicable"
    run = shouted(tmp_path, lambda _: "")[0]
    assert verdicts(run)["SHO002"] == "untested"
    assert "SHO001 is about" in run.results[1].reason
    assert verdicts(shouted(tmp_path, loud, gentle=True)[0])["SHO002"] == "untested"


def test_a_death_in_another_protocol_is_the_culprits(tmp_path: Path) -> None:
    def dies(text: str) -> str:
        return str(1 / 0) if text.startswith("(") else text.upper()

    run = shouted(tmp_path, dies)[0]
    assert verdicts(run)["SHO002"] == "warn"
    assert run.results[1].findings[0].exchanges[0].request_body == b"(psst)"


def test_a_baseline_covers_another_protocol(tmp_path: Path) -> None:
    found = tiny.catalogue(tmp_path)
    entry = {"known": [{"requirement": "SHO001", "reason": "it is hoarse"}]}
    known = baseline.parse(entry, "a baseline", known=found)
    run = shouted(tmp_path, str.lower, known=known)[0]
    assert verdicts(run) == {"SHO001": "known", "SHO002": "warn"}
    assert shouted(tmp_path, loud, known=known)[0].stale
    assert "SHO001" in baseline.dumps(report(shouted(tmp_path, str.lower)[0]))


def test_every_report_is_made_of_another_protocol_without_a_word_of_ours(tmp_path: Path) -> None:
    for peer in (loud, str.lower):
        run = shouted(tmp_path, peer)[0]
        names = files.write(tmp_path, run)
        assert {"junit.xml", "summary.md", "report.json", "badge.json", "attestation.json"} <= set(names)
        texts = [(tmp_path / name).read_text("utf-8") for name in names]
        texts += [html.title(run), *html.prefix(run), html.evidence_html(run.results[0])]
        for text in texts:
            said = re.sub(r"rap-conformance|rap_conformance|\brap-[a-z]", "", text)
            said = re.sub(r"<(style|script)>.*?</\1>", "", said, flags=re.DOTALL)
            assert not re.search(r"RAP\b|tool_call|alive|callback|subscription|toolset|tool server", said)
        assert json.loads((tmp_path / "badge.json").read_text("utf-8"))["label"].startswith("SHOUT")


# --- what one scenario brings to light -----------------------------------------------------------


def record(*cases: str, absences: Iterable[str] = ()) -> Record:
    made_ = Record(requirement())
    for case in cases:
        made_.add(Violation("so", "otherwise", exchange(), case=case))
    for case in absences:
        made_.add(Violation("so", "nothing", exchange(), case=case, absence=True))
    return made_


def attempts(*records: Record) -> Callable[[int], Record]:
    return lambda attempt: records[attempt]


def cases(found: Record) -> list[str]:
    return [finding.case for finding in found.findings]


def test_what_was_observed_needs_no_second_run() -> None:
    assert cases(confirmed(attempts(record(CASE)), lambda: False)) == [CASE]


def test_an_absence_is_reported_if_both_runs_found_it_and_nothing_else_is() -> None:
    first, second = record(absences=["a", "b"]), record(absences=["b", "c"])
    found = confirmed(attempts(first, second), lambda: False)
    assert cases(found) == ["b"]
    assert any("so not reported: a, c" in note for note in found.notes)


def test_a_second_run_that_finds_something_else_confirms_nothing() -> None:
    found = confirmed(attempts(record(absences=["a"]), record("z")), lambda: False)
    assert cases(found) == ["z"]


def test_an_absence_beside_an_observation_is_confirmed_too() -> None:
    found = confirmed(attempts(record("seen", absences=["a"]), record("seen")), lambda: False)
    assert cases(found) == ["seen"]


def test_what_the_runs_end_leaves_unconfirmed_is_no_finding() -> None:
    found = confirmed(attempts(record(absences=["a"])), lambda: True)
    assert cases(found) == []
    assert found.result().verdict is Verdict.ERROR
    assert cases(confirmed(attempts(record("seen", absences=["a"])), lambda: True)) == ["seen"]


def test_a_time_out_is_an_absence() -> None:
    late = replace(exchange(), status=None, failure=Failure.TIMEOUT)
    one = Record(requirement())
    one.add(Violation("an answer", "none", late, case=CASE))
    fine = Record(requirement(), judged=1)
    assert cases(confirmed(attempts(one, fine), lambda: False)) == []


# --- what counts as judged -----------------------------------------------------------------------


def void(_: object) -> None:
    """Nothing, whatever it was."""


def judged(
    tmp_path: Path,
    function: Callable[[tiny.Shouter], object],
    control: Control | Positive = POSITIVE,
    *parts: Part,
) -> Result:
    """What a scenario of the tiny protocol comes to."""
    found = tiny.catalogue(tmp_path)
    session = tiny.Session(loud)
    options = Plan(found.at("1", "shouter"), "1")
    runner = Runner(session, lambda r, attempt: tiny.Shouter(session, r, attempt), options)
    mark = Scenario("SHO001", control, parts=parts)
    runner.plan([Job(found.select(["SHO001"])[0], mark, lambda peer: void(function(peer)))])
    result = runner.result("SHO001")
    session.pool.shutdown()
    return result


def test_a_scenario_that_returns_without_having_judged_is_an_error(tmp_path: Path) -> None:
    result = judged(tmp_path, lambda peer: peer.say("hello"))
    assert result.verdict is Verdict.ERROR
    assert "judged nothing" in result.reason


def test_a_part_that_judged_nothing_is_an_error_whatever_others_did(tmp_path: Path) -> None:
    def function(peer: tiny.Shouter) -> None:
        peer.judged()
        with peer.part("an idle part"):
            peer.say("hello")

    result = judged(tmp_path, function)
    assert (result.verdict, "an idle part" in result.reason) == (Verdict.ERROR, True)


def test_a_pass_without_the_control_it_names_is_an_error(tmp_path: Path) -> None:
    result = judged(tmp_path, lambda peer: peer.judged(), Control("the same, aloud"))
    assert result.verdict is Verdict.ERROR
    assert "without its control (the same, aloud)" in result.reason


def test_a_control_that_fails_accuses_nobody(tmp_path: Path) -> None:
    def function(peer: tiny.Shouter) -> None:
        peer.judged()
        peer.controlled(False, "nothing is heard")

    result = judged(tmp_path, function, Control("the same, aloud"))
    assert result.verdict is Verdict.UNTESTED
    assert result.reason == "the control fails: nothing is heard"


@pytest.mark.parametrize(
    ("raised", "verdict"),
    [
        (Untested("no tool"), Verdict.UNTESTED),
        (NotApplicable("no feature"), Verdict.NOT_APPLICABLE),
        (Trouble("the network"), Verdict.ERROR),
        (ZeroDivisionError("ours"), Verdict.ERROR),
        (Violation("so", "else", exchange(), case=CASE), Verdict.FAIL),
    ],
)
def test_only_a_violation_accuses(tmp_path: Path, raised: Exception, verdict: Verdict) -> None:
    def function(_: tiny.Shouter) -> None:
        raise raised

    assert judged(tmp_path, function).verdict is verdict


def test_a_session_recovers_after_whatever_may_have_provoked_the_peer(tmp_path: Path) -> None:
    done: list[str] = []

    class Recovering(tiny.Session):
        def recover(self) -> None:
            done.append("recovered")
            raise Halted("while it waits, the run ends")

    def acting(what: str) -> Callable[[tiny.Shouter], None]:
        def act(peer: tiny.Shouter) -> None:
            done.append(what)
            peer.expect(what != "forged", "an answer", "none", peer.say("x"), case=CASE, absence=True)

        return act

    found = tiny.catalogue(tmp_path)
    stages = [replace(found.select(["SHO001"])[0], code=f"SHO{n}", stage=s) for n, s in enumerate(Stage)]
    session = Recovering(loud)
    options = Plan(tuple(stages), "1")
    runner = Runner(session, lambda r, attempt: tiny.Shouter(session, r, attempt), options)
    jobs = [Job(r, Scenario(r.code, POSITIVE), acting(str(r.stage))) for r in reversed(stages)]
    for job in runner.plan(jobs):
        runner.result(job.requirement.code)
    session.pool.shutdown()
    forged = ["forged", "recovered"] * 2
    assert done == ["harmless", *forged, "flood", "recovered", "deadly", "recovered", "restart"]


def test_parts_that_come_later_add_to_what_was_found(tmp_path: Path) -> None:
    def wrong(peer: tiny.Shouter) -> None:
        raise Violation("so", "else", peer.say("x"), case="later")

    def missing(_: tiny.Shouter) -> None:
        raise Untested("no ears")

    result = judged(tmp_path, lambda peer: peer.judged(), POSITIVE, Part(wrong), Part(missing))
    assert (result.verdict, [finding.case for finding in result.findings]) == (Verdict.FAIL, ["later"])
    assert "not exercised: no ears" in result.notes


def test_what_is_right_so_far_as_it_was_there_is_no_pass(tmp_path: Path) -> None:
    def function(peer: tiny.Shouter) -> None:
        peer.judged(3)
        with peer.part("the rest"):
            peer.partial("3 of 7 were there")

    result = judged(tmp_path, function)
    assert (result.verdict, result.reason, result.judged) == (Verdict.UNTESTED, "3 of 7 were there", 3)


def test_what_was_too_little_is_said_beside_a_finding(tmp_path: Path) -> None:
    def function(peer: tiny.Shouter) -> None:
        peer.partial("3 of 7 were there")
        raise Violation("so", "else", peer.say("x"), case=CASE)

    result = judged(tmp_path, function)
    assert (result.verdict, result.notes) == (Verdict.FAIL, ("not exercised: 3 of 7 were there",))


def test_a_finding_may_be_of_a_lower_level_than_its_requirement() -> None:
    one = Record(requirement())
    one.add(Violation("so", "else", exchange(), case=CASE, level=Level.ADVICE))
    assert one.result().verdict is Verdict.ADVICE


def test_what_could_not_be_judged_beside_a_finding_is_said() -> None:
    one = record(CASE)
    one.errors.append("the network went away")
    assert any("the network went away" in note for note in one.result().notes)


def test_an_exchange_is_a_value() -> None:
    assert isinstance(exchange(), Exchange)


def test_what_is_worse_takes_the_place_of_what_is_milder() -> None:
    one = Record(requirement())
    for number in range(MOST_FINDINGS + 3):
        one.add(Violation("a", "b", case=f"mild {number}", level=Level.SHOULD))
    assert len(one.findings) == MOST_FINDINGS
    one.add(Violation("a", "b", case="grave"))
    one.add(Violation("a", "c", case="mild 1", level=Level.SHOULD))
    one.add(Violation("a", "c", case="mild 2"))
    assert len(one.findings) == MOST_FINDINGS
    assert [f.case for f in one.findings if f.level is Level.MUST] == ["grave", "mild 2"]
    assert [f.actual for f in one.findings if f.case == "mild 1"] == ["b"], "the same again is nothing new"
    assert "mild 0" in {f.case for f in one.findings}, "of the mild ones the last goes first"
