"""Runs scenarios and turns what they raise into results.

Only a Violation accuses the server; whatever else goes wrong is an error of
ours. What did not happen by a deadline is confirmed by a second run before it
is reported; what was observed counts at once.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import replace

from rap_conformance.catalogue import Requirement, Stage
from rap_conformance.evidence import Result, Verdict
from rap_conformance.peer import Peer
from rap_conformance.peers.patience import Halted
from rap_conformance.peers.probe import NoAnswer
from rap_conformance.peers.supervisor import CommandFailed
from rap_conformance.presence import State
from rap_conformance.scenario import (
    Function,
    NotApplicable,
    Record,
    ServerDied,
    Trouble,
    Untested,
    Violation,
    confirmed,
    our_own,
    scenario_of,
)
from rap_conformance.session import Session

WITHOUT_STATUS = frozenset({"TCS017", "TCS018"})
"""Status requirements that say something about a server without the endpoint."""


class Runner:
    """Judges requirements with their scenarios, one session long."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.results: dict[str, Result] = {}
        self.late: dict[str, list[Function]] = {}
        self._futures: dict[str, Future[Result]] = {}
        self._early_late: dict[Function, Result] = {}
        self._died: set[str] = set()
        self._reviving = threading.Lock()

    def start_early(self, scenarios: list[tuple[Requirement, Function]]) -> None:
        """Start scenarios that mostly wait, beside each other and beside what comes next."""
        for requirement, function in scenarios:
            if self._standing(requirement) is None:
                self._futures[requirement.code] = self.session.pool.submit(self._judge, requirement, function)

    def result(self, requirement: Requirement, function: Function) -> Result:
        """The result for one requirement: waits for a scenario that was started early, else runs it now."""
        if requirement.stage is not Stage.HARMLESS:
            self.settle()
            self._catch_up()
        future = self._futures.get(requirement.code)
        if future is not None:
            _wait(future)
            outcome = future.result()
            if requirement.code in self._died and not self.session.dead:
                # Somebody's input killed the server while many ran beside each other: once more, alone.
                self.settle()
                outcome = self._judge(requirement, function, alone=True)
        else:
            outcome = self._standing(requirement) or self._judge(requirement, function, alone=True)
        for function in self.late.get(requirement.code, ()):
            if function in self._early_late:
                outcome = joined(outcome, self._early_late[function])
            elif self._standing(requirement) is None:
                outcome = joined(outcome, self._judge(requirement, function, alone=True))
        self.results[requirement.code] = outcome
        if outcome.findings:
            self.session.broken.add(requirement.code)
        return outcome

    def _catch_up(self) -> None:
        """Before anything can do harm: what is late, yet no later than that, of requirements judged later."""
        for code, functions in self.late.items():
            future = self._futures.get(code)
            for function in functions:
                mark = scenario_of(function)
                if code in self.results or future is None or function in self._early_late:
                    continue
                requirement = future.result().requirement
                if mark is not None and mark.late is Stage.HARMLESS and self._standing(requirement) is None:
                    self._early_late[function] = self._judge(requirement, function, alone=True)

    def gathered(self) -> tuple[Result, ...]:
        """Every result there is, also of scenarios that ran beside others and were not asked for yet."""
        early = {c: f.result() for c, f in self._futures.items() if f.done() and not f.cancelled()}
        return tuple({**early, **self.results}.values())

    def settle(self) -> None:
        """Wait until nothing runs beside: floods and killers must not meet other scenarios' calls."""
        for future in self._futures.values():
            _wait(future)

    def _standing(self, requirement: Requirement) -> Result | None:
        """A verdict that needs no scenario, because of what is already known."""
        session = self.session

        def verdict(kind: Verdict, reason: str) -> Result:
            return Result(requirement, kind, reason)

        if session.dead:
            return verdict(Verdict.ERROR, session.dead)
        if session.patience.halted:
            return verdict(Verdict.ERROR, "the run ended before this was judged")
        if session.facts.discovery is not None and session.facts.discovery.status is None:
            if requirement.code != "DSC001":
                return verdict(Verdict.ERROR, "the server gave no answer to discovery")
            return None
        if session.options.gentle and requirement.stage in {Stage.FLOOD, Stage.DEADLY}:
            return verdict(
                Verdict.UNTESTED,
                "neither floods nor inputs that may kill a server are sent (--gentle); give --not-gentle",
            )
        if requirement.code.startswith("TCS") and requirement.code not in WITHOUT_STATUS:
            presence = session.facts.status
            match presence.state:
                case State.ABSENT:
                    reason = f"the server has no /tool_call_status: {presence.reason}"
                    if session.facts.status_without_live:
                        reason += (
                            " (asked while no call was live: a server that answers 404 for unknown ids "
                            "looks the same)"
                        )
                    return verdict(Verdict.NOT_APPLICABLE, reason)
                case State.UNSURE:
                    return verdict(Verdict.UNTESTED, f"/tool_call_status cannot be judged: {presence.reason}")
                case State.ERROR:
                    return verdict(Verdict.ERROR, f"/tool_call_status cannot be judged: {presence.reason}")
        return None

    def _judge(self, requirement: Requirement, function: Function, alone: bool = False) -> Result:
        def over() -> bool:
            return bool(self.session.dead) or self.session.patience.halted

        return confirmed(lambda _: self._once(requirement, function, alone), over)

    def _once(self, requirement: Requirement, function: Function, alone: bool) -> Record:
        record = Record(requirement)
        peer = Peer(self.session, record)
        began = self.session.patience.now()
        try:
            function(peer)
            if not record.missing and not record.inapplicable:
                record.judged += 1
        except Violation as violation:
            record.judged += 1
            record.add(violation)
        except Untested as missing:
            record.missing.append(str(missing))
        except NotApplicable as missing:
            record.inapplicable.append(str(missing))
        except ServerDied as death:
            self._bury(record, death, alone)
        except Halted as halted:
            record.errors.append(self.session.dead or str(halted))
        except CommandFailed as failed:  # nobody is left to ask, and no later input gets the blame
            self.session.dead = self.session.dead or f"the server could not be started again: {failed}"
            record.errors.append(self.session.dead)
        except (NoAnswer, Trouble) as trouble:
            record.errors.append(str(trouble))
        except Exception as error:
            record.errors.append(our_own(error))
        record.seconds = self.session.patience.now() - began
        return record

    def _bury(self, record: Record, death: ServerDied, alone: bool) -> None:
        """The server died: bring it back if it is ours, else the run is over; blame the input that did it."""
        message = str(death)
        if alone and death.culprit is not None:
            expected = "the server goes on answering"
            record.judged += 1
            record.add(Violation(expected, message, death.culprit, case="the server died"))
        else:
            record.errors.append(message)
            self._died.add(record.requirement.code)
        with self._reviving:
            if self.session.dead or self.session.answers():
                return
            if self.session.supervisor is None:
                self.session.dead = message
                return
            try:
                self.session.restart()
            except CommandFailed as failed:
                self.session.dead = f"{message}; it could not be started again: {failed}"


def joined(first: Result, late: Result) -> Result:
    """What a scenario found with what a later one adds, which never unsettles a verdict by being untested."""
    if late.verdict in {Verdict.UNTESTED, Verdict.NOT_APPLICABLE}:
        return replace(first, notes=(*first.notes, f"not exercised: {late.reason}"))
    if first.findings or not (late.findings or late.verdict is Verdict.ERROR):
        late_wins = first.verdict in {Verdict.UNTESTED, Verdict.NOT_APPLICABLE}
    else:
        late_wins = True
    leading = late if late_wins else first
    return replace(
        leading,
        findings=first.findings + late.findings,
        notes=(*first.notes, *late.notes),
        exchanges=first.exchanges + late.exchanges,
        examples=first.examples + late.examples,
        duration=first.duration + late.duration,
    )


def _wait(future: Future[Result]) -> None:
    """Wait in short steps, so that an interruption gets through."""
    while not future.done():
        try:
            future.exception(timeout=0.2)
        except TimeoutError:
            continue
