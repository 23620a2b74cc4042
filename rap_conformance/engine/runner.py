"""Runs scenarios and turns what they raise into results.

Only a Violation accuses the peer; whatever else goes wrong is an error of
ours. What did not happen by a deadline is confirmed by a second run before it
is reported; what was observed counts at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any

from rap_conformance.engine.controls import Control
from rap_conformance.engine.events import Begins, Events, Found, Judged
from rap_conformance.engine.evidence import Finding, Verdict
from rap_conformance.engine.job import Job
from rap_conformance.engine.plan import Plan
from rap_conformance.engine.record import Record, Recorder, confirmed, our_own
from rap_conformance.engine.requirement import Requirement, Stage
from rap_conformance.engine.run import Result
from rap_conformance.engine.scenario import (
    Halted,
    NotApplicable,
    Part,
    PeerDied,
    Refused,
    Scenario,
    Trouble,
    Untested,
    Violation,
)
from rap_conformance.engine.session import Judging

_HARMFUL = frozenset({Stage.FLOOD, Stage.DEADLY})
"""What is not done to a peer that is to be treated gently."""
_PROVOKING = _HARMFUL | {Stage.FORGED}
"""What a peer may answer by refusing all that comes next, for a while."""
GENTLE = "neither floods nor inputs that may kill the peer are sent (--gentle); give --not-gentle"
ENDED = "the run ended before this was judged"


class Runner:
    """Judges requirements with their scenarios, one session long."""

    def __init__(
        self,
        session: Judging,
        peer: Callable[[Record, int], Recorder],
        options: Plan,
        events: Events | None = None,
    ) -> None:
        self.session, self.peer, self.options = session, peer, options
        self.events = events or Events()
        self.results: dict[str, Result] = {}
        self.jobs: dict[str, Job] = {}
        self._futures: dict[str, Future[Record]] = {}
        self._begun: list[Future[None]] = []
        self._early_parts: dict[tuple[str, int], Record] = {}
        self._died: set[str] = set()
        self._reviving = threading.Lock()

    def plan(self, jobs: Sequence[Job]) -> list[Job]:
        """What will be judged, in the order in which it is."""
        ordered = sorted(jobs, key=lambda job: job.turn)
        self.jobs = {job.requirement.code: job for job in ordered}
        return ordered

    def start_early(self) -> None:
        """Start scenarios that mostly wait, beside each other and beside what comes next."""
        slow = self.session.slow()
        self._start(lambda job: job.beside or (slow and job.requirement.stage is Stage.HARMLESS))
        if slow:
            self._begin_parts()

    def _begin_parts(self) -> None:
        """Begin with what later parts wait for; what goes wrong goes wrong once more when they are judged."""
        begun = set()
        for job in self.jobs.values():
            for begin in (part.begin for part in job.scenario.parts):
                if begin and begin not in begun and self._standing(job.requirement) is None:
                    begun.add(begin)
                    self._begun.append(self.session.beside(partial(self._begin, job.requirement, begin)))

    def _begin(self, requirement: Requirement, begin: Callable[[Any], object]) -> None:
        with suppress(Exception):
            begin(self.peer(Record(requirement), 0))

    def _start(self, wanted: Callable[[Job], bool]) -> None:
        # What has parts takes longest, so it comes first.
        for code, job in sorted(self.jobs.items(), key=lambda item: not item[1].scenario.parts):
            if code not in self._futures and wanted(job) and self._standing(job.requirement) is None:
                self._futures[code] = self.session.beside(lambda job=job: self._judge(job))  # type: ignore[misc]

    def result(self, code: str) -> Result:
        """The result for one requirement: waits for a scenario that was started early, else runs it now."""
        job = self.jobs[code]
        left = self.session.left() if job.beside else 0.0
        self.events.tell(Begins(job.requirement, len(self.results), len(self.jobs), left))
        if job.requirement.stage is not Stage.HARMLESS:
            self.settle()
            self._catch_up()
        stage = job.requirement.stage
        if stage is not Stage.HARMLESS and self.session.slow(stage):
            self._start(lambda each: each.requirement.stage is stage and not each.scenario.parts)
        outcome = self._outcome(job)
        self.results[code] = outcome
        if outcome.findings:
            self.session.broken(code)
        self.events.tell(Judged(outcome))
        return outcome

    def _outcome(self, job: Job) -> Result:
        code = job.requirement.code
        if future := self._futures.get(code):
            _wait(future)
            record = future.result()
            if code in self._died and not self.session.over():
                # Somebody's input killed the peer while many ran beside each other: once more, alone.
                self.settle()
                record = self._judge(job, alone=True)
        elif standing := self._standing(job.requirement):
            return standing
        else:
            record = self._judge(job, alone=True)
        uncontrolled = _uncontrolled(record, job.scenario)
        if job.scenario.parts and self.session.slow():
            self._catch_up()
        for number, part in enumerate(job.scenario.parts):
            later = self._early_parts.get((code, number))
            if later is None and self._standing(job.requirement, part.stage) is None:
                later = self._judge(job, part, alone=True)
            if later is not None:
                if uncontrolled and not later.findings:
                    later.judged = 0  # what it saw tells nothing where the control was not accepted
                record.join(later)
            else:
                self.session.over() or record.note("not exercised: " + GENTLE)  # type: ignore[func-returns-value]
        return record.result()

    def _catch_up(self) -> None:
        """Before anything can do harm: the parts that come no later than that, of what is judged later."""
        waiting: dict[tuple[str, int], Callable[[], Record]] = {}
        for code, job in self.jobs.items():
            if code in self.results or code not in self._futures:
                continue
            _wait(self._futures[code])
            for number, part in enumerate(job.scenario.parts):
                if (code, number) in self._early_parts or part.stage is not Stage.HARMLESS:
                    continue
                if self._standing(job.requirement) is None:
                    waiting[code, number] = partial(self._judge, job, part, alone=True)
        if self.session.slow():
            started = {key: self.session.beside(judge) for key, judge in waiting.items()}
            self._early_parts |= {key: future.result() for key, future in started.items()}
        else:
            self._early_parts |= {key: judge() for key, judge in waiting.items()}

    def gathered(self) -> dict[str, Result]:
        """Every result there is, also of scenarios that ran beside others and were not asked for yet."""
        early = {c: f.result().result() for c, f in self._futures.items() if f.done() and not f.cancelled()}
        return {**early, **self.results}

    def settle(self) -> None:
        """Wait until nothing runs beside: floods and killers must not meet other scenarios' calls."""
        for future in self._futures.values():
            _wait(future)
        for begun in self._begun:
            _wait(begun)

    def _standing(self, requirement: Requirement, stage: Stage | None = None) -> Result | None:
        """A verdict that needs no scenario, because of what is already known."""
        if over := self.session.over():
            return Result(requirement, Verdict.ERROR, over)
        if self.options.gentle and (stage or requirement.stage) in _HARMFUL:
            return Result(requirement, Verdict.UNTESTED, GENTLE)
        for need in requirement.needs:
            if lack := self.session.lack(need):
                return Result(requirement, lack.verdict, lack.reason)
        return None

    def _judge(self, job: Job, part: Part | None = None, *, alone: bool = False) -> Record:
        def attempt(number: int) -> Record:
            record = self._once(job, part, alone, number)
            if (part.stage if part else job.requirement.stage) in _PROVOKING and not self.session.over():
                with suppress(Halted):
                    self.session.recover()
            return record

        record = confirmed(attempt, lambda: bool(self.session.over()))
        self._replay(record)
        return record

    def _replay(self, record: Record) -> None:
        """Ask again what is about to be shown. An input of which the peer died is not sent once more."""
        peer = self.peer(record, 1)
        for at, finding in enumerate(record.findings):
            if self.session.over():
                return
            if finding.case in record.deaths:
                continue
            try:
                record.findings[at] = peer.replayed(finding)
            except (Trouble, Halted, PeerDied):
                continue  # nothing is learnt; the finding stands as it was seen
            except Exception as error:
                record.errors.append(our_own(error))

    def _hear(self, requirement: Requirement, finding: Finding) -> None:
        self.events.tell(Found(requirement, finding, self.session.requests))

    def _once(self, job: Job, part: Part | None, alone: bool, attempt: int) -> Record:
        requirement, scenario = job.requirement, job.scenario
        record = Record(requirement, lambda finding: self._hear(requirement, finding))
        peer = self.peer(record, attempt)
        began = self.session.now()
        try:
            self._controlled(peer, scenario)
            (part.function if part else job.function)(peer)
        except Violation as violation:
            record.add(violation)
        except Untested as missing:
            record.missing.append(str(missing))
        except NotApplicable as missing:
            record.inapplicable.append(str(missing))
        except PeerDied as death:
            self._dead(record, death, alone)
        except Refused as refused:
            if (died := peer.death(refused)) is None:
                raise
            self._dead(record, died, alone)
        except Halted as halted:
            record.errors.append(self.session.over() or str(halted))
        except Trouble as trouble:
            record.errors.append(self.session.over() or str(trouble))
        except Exception as error:
            record.errors.append(our_own(error))
        if part is None:
            self._check_control(record, scenario)
        record.seconds = self.session.now() - began
        return record

    def _controlled(self, peer: Recorder, scenario: Scenario) -> None:
        """Make the control that can be made before all else. Raises Untested if it is not accepted."""
        if isinstance(scenario.control, Control) and scenario.control.make is not None:
            scenario.control.make(peer)
            peer.record.controlled = True

    def _check_control(self, record: Record, scenario: Scenario) -> None:
        """Nothing passes without the control it names: what was missing decides, else it is our defect."""
        if not _uncontrolled(record, scenario) or not record.judged:
            return
        record.judged = 0
        if not (record.missing or record.inapplicable or record.errors):
            record.errors.append(
                f"our own error, please report it: judged without its control ({scenario.control.what})"
            )

    def _dead(self, record: Record, death: PeerDied, alone: bool) -> None:
        """The peer died: blame the input that did it, if it was alone, and bring it back if it is ours."""
        if alone and death.culprit is not None:
            record.add(Violation(death.expected, str(death), death.culprit, case=death.case))
            record.deaths.add(death.case)
        else:
            record.errors.append(str(death))
            self._died.add(record.requirement.code)
        with self._reviving:
            if not self.session.over():
                self.session.revive(death)


def _uncontrolled(record: Record, scenario: Scenario) -> bool:
    """Whether a scenario names a control that was not accepted, so that nothing it saw is a pass."""
    return isinstance(scenario.control, Control) and not record.controlled and not record.findings


def results_of(
    planned: Sequence[Requirement], judged: Mapping[str, Result], reason: str = ENDED
) -> tuple[Result, ...]:
    """The result of each requirement that was planned; what was not judged is an error, with the reason."""
    return tuple(judged.get(r.code) or Result(r, Verdict.ERROR, reason) for r in planned)


def _wait(future: Future[Any]) -> None:
    """Wait in short steps, so that an interruption gets through."""
    while not future.done():
        try:
            future.exception(timeout=0.2)
        except TimeoutError:
            continue
