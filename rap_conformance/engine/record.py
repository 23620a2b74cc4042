"""What one run of a scenario brings to light, and how a second run confirms what the first one missed."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rap_conformance.engine.evidence import Exchange, Failure, Finding, Verdict
from rap_conformance.engine.requirement import Level, Requirement
from rap_conformance.engine.run import Result
from rap_conformance.engine.scenario import NotApplicable, PeerDied, Refused, Trouble, Untested, Violation

MOST_FINDINGS = 12
"""Findings of one requirement that are kept."""
_WORST_FIRST = (Verdict.FAIL, Verdict.WARN, Verdict.ADVICE)


@dataclass(slots=True)
class Record:
    """What one run of a scenario has brought to light so far. `hear` is told of each finding at once.

    `deaths` are the cases of findings of which the peer died.
    """

    requirement: Requirement
    hear: Callable[[Finding], None] | None = None
    findings: list[Finding] = field(default_factory=list)
    judged: int = 0
    controlled: bool = False
    missing: list[str] = field(default_factory=list)
    partial: list[str] = field(default_factory=list)
    inapplicable: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    deaths: set[str] = field(default_factory=set)
    exchanges: int = 0
    examples: int = 0
    seconds: float = 0.0

    def add(self, violation: Violation) -> None:
        """Keep a violation as a finding; the same case is kept once, and no more than a dozen in all.

        What is worse takes the place of what is milder. An exchange that timed out is an absence, whatever
        the violation says.
        """
        self.judged += 1
        silent = any(exchange.failure is Failure.TIMEOUT for exchange in violation.exchanges)
        found = Finding(
            code=self.requirement.code,
            level=violation.level or self.requirement.level,
            case=violation.case,
            expected=violation.expected,
            actual=violation.actual,
            exchanges=violation.exchanges,
            smallest=violation.smallest,
            absence=violation.absence or silent,
            depends=violation.depends,
            crowd=violation.crowd,
        )
        if not self._make_room(found):
            return
        self.findings.append(found)
        if self.hear is not None and not found.absence:
            self.hear(found)

    def _make_room(self, found: Finding) -> bool:
        """Whether a finding is to be kept; then what it takes the place of is gone."""

        def rank(finding: Finding) -> int:
            return _WORST_FIRST.index(finding.verdict)

        same = [finding for finding in self.findings if finding.case == found.case]
        rivals = same or (self.findings if len(self.findings) >= MOST_FINDINGS else [])
        if not rivals:
            return True
        mildest = max(reversed(rivals), key=rank)
        if rank(mildest) <= rank(found):
            return False
        self.findings.remove(mildest)
        return True

    def note(self, text: str) -> None:
        """Something the report should say that is no finding."""
        if text not in self.notes:
            self.notes.append(text)

    @property
    def absences(self) -> list[Finding]:
        """The findings of what merely did not happen by a deadline."""
        return [finding for finding in self.findings if finding.absence]

    def join(self, other: Record) -> None:
        """Take in what another part of the same scenario brought to light."""
        known = {finding.case for finding in self.findings}
        self.findings += [finding for finding in other.findings if finding.case not in known]
        for mine, theirs in (
            (self.missing, other.missing),
            (self.partial, other.partial),
            (self.inapplicable, other.inapplicable),
            (self.errors, other.errors),
            (self.notes, other.notes),
        ):
            mine += [text for text in theirs if text not in mine]
        self.judged += other.judged
        self.controlled |= other.controlled
        self.deaths |= other.deaths
        self.exchanges += other.exchanges
        self.examples += other.examples
        self.seconds += other.seconds

    def result(self) -> Result:
        """The verdict on what is recorded."""
        verdict, reason = self._verdict()
        notes = [*self.notes]
        if verdict not in {Verdict.UNTESTED, Verdict.NOT_APPLICABLE}:
            left_out = self.partial + self.missing + self.inapplicable
            notes += [f"not exercised: {each}" for each in dict.fromkeys(left_out)]
        if self.findings:
            notes += [f"not judged, for an error of ours or the network's: {each}" for each in self.errors]
        return Result(
            requirement=self.requirement,
            verdict=verdict,
            reason=reason,
            findings=tuple(self.findings),
            notes=tuple(notes),
            judged=self.judged,
            exchanges=self.exchanges,
            examples=self.examples,
            duration=self.seconds,
        )

    def _verdict(self) -> tuple[Verdict, str]:
        if self.findings:
            first = min(self.findings, key=lambda finding: _WORST_FIRST.index(finding.verdict))
            more = f" (and {len(self.findings) - 1} more)" if len(self.findings) > 1 else ""
            return first.verdict, f"{first.case}: {first.actual}{more}"
        if self.errors:
            return Verdict.ERROR, self.errors[0]
        if self.partial:
            return Verdict.UNTESTED, "; ".join(dict.fromkeys(self.partial))
        if self.judged:
            return Verdict.PASS, ""
        if self.missing:
            return Verdict.UNTESTED, "; ".join(dict.fromkeys(self.missing))
        if self.inapplicable:
            return Verdict.NOT_APPLICABLE, "; ".join(dict.fromkeys(self.inapplicable))
        return Verdict.ERROR, "our own error, please report it: the scenario judged nothing"


class Recorder:
    """What a peer of any role does with what a scenario finds: keep it in the record."""

    record: Record

    def death(self, refused: Refused) -> PeerDied | None:
        """What a run that cannot go on is instead: the death of the peer, if that is what it shows."""
        _ = refused
        return None

    def replayed(self, finding: Finding) -> Finding:
        """The finding, asked again where one request of ours shows it: on what it depends, if on anything."""
        return finding

    @contextmanager
    def part(self, title: str) -> Iterator[None]:
        """One of several things a requirement asks, judged where it can be."""
        before = self._seen()
        try:
            yield
        except Violation as violation:
            self.record.add(violation)
        except Untested as missing:
            self.record.missing.append(f"{title}: {missing}")
        except NotApplicable as missing:
            self.record.inapplicable.append(f"{title}: {missing}")
        except Trouble as trouble:
            self.record.errors.append(f"{title}: {trouble}")
        else:
            if before == self._seen():
                self.record.errors.append(f"our own error, please report it: {title}: nothing was judged")

    def _seen(self) -> tuple[int, ...]:
        found = self.record
        return found.judged, len(found.missing), len(found.partial), len(found.inapplicable)

    def expect(
        self,
        holds: object,
        expected: str,
        actual: str,
        *exchanges: Exchange,
        case: str,
        absence: bool = False,
        level: Level | None = None,
        depends: str = "",
        crowd: int = 0,
    ) -> bool:
        """Judge one thing; what does not hold is a finding, as Violation says. Gives whether it holds."""
        if holds:
            self.judged()
        else:
            violation = Violation(expected, actual, *exchanges, case=case, absence=absence, level=level)
            violation.depends, violation.crowd = depends, crowd
            self.report(violation)
        return bool(holds)

    def judged(self, count: int = 1) -> None:
        """Say that so many things were looked at and are right. What nobody says so of was not judged."""
        self.record.judged += count

    def partial(self, why: str) -> None:
        """Say that too little was there to judge: what was judged is right, and yet it is no pass."""
        if why not in self.record.partial:
            self.record.partial.append(why)

    def controlled(self, accepted: object, what: str) -> None:
        """Say whether the control that the scenario makes itself was accepted. Raises Untested if not."""
        if not accepted:
            raise Untested(f"the control fails: {what}")
        self.record.controlled = True

    def note(self, text: str) -> None:
        """Something the report should say that is no finding."""
        self.record.note(text)

    def report(self, violation: Violation) -> None:
        """Keep a violation and go on."""
        self.record.add(violation)


def confirmed(attempt: Callable[[int], Record], over: Callable[[], bool]) -> Record:
    """What a scenario brings to light: what merely did not happen by a deadline is confirmed by a second run.

    `attempt` runs it for the first (0) or second (1) time, `over` says whether the run has ended meanwhile.
    What was observed in either run counts; of what was missed only what both runs found, case by case.
    """
    first = attempt(0)
    if not first.absences:
        return first
    observed = [finding for finding in first.findings if not finding.absence]
    if over():
        names = ", ".join(finding.case for finding in first.absences)
        first.errors.append(f"the run ended before it could be confirmed: {names}")
        first.findings = observed
        return first
    second = attempt(1)
    again = {finding.case for finding in second.findings}
    both = [finding for finding in first.absences if finding.case in again]
    known = {finding.case for finding in (*observed, *both)}
    new = [f for f in second.findings if not f.absence and f.case not in known]
    once = [
        f.case for f in (*first.absences, *second.absences) if f.case not in {*known, *(n.case for n in new)}
    ]
    second.findings = [*observed, *both, *new]
    if both:
        second.note(f"confirmed by a second run: {', '.join(finding.case for finding in both)}")
    if once:
        second.note(f"missed in one of two runs only, so not reported: {', '.join(dict.fromkeys(once))}")
    second.deaths |= first.deaths
    second.judged += first.judged
    second.exchanges += first.exchanges
    second.examples += first.examples
    second.seconds += first.seconds
    if second.hear is not None:
        for finding in both:
            second.hear(finding)
    return second


def our_own(error: Exception) -> str:
    """What to say of an exception that no scenario means to raise: it accuses nobody."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    file = where.filename.replace("\\", "/").rpartition("/")[2]
    said = f"{type(error).__name__}: {str(error)[:300]!a}"
    return f"our own error, please report it: {said} ({file}:{where.lineno})"
