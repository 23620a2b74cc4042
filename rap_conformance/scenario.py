"""What a scenario is, and the words in which it speaks.

A scenario is a function of a `Peer`, tied to one requirement. It returns when
all is well, raises Violation for what the server did wrong, Untested for what
could not be seen, NotApplicable for what the server need not have. Any other
exception is our own error and never accuses the server.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from rap_conformance.catalogue import Level, Requirement, Stage
from rap_conformance.evidence import Exchange, Finding, Result, Verdict

if TYPE_CHECKING:
    from rap_conformance.peer import Peer

Function = Callable[["Peer"], None]
F = TypeVar("F", bound=Callable[..., None])
ATTRIBUTE = "rap_scenario"
_MOST_FINDINGS = 12


class Violation(Exception):
    """The server departs from the requirement.

    `case` names the input or situation, always the same for the same kind of
    failure (it becomes the fingerprint in baselines). `absence` marks what
    merely did not happen by a deadline: that is confirmed by a second run.
    `level` lowers the level of this finding below its requirement's.
    """

    def __init__(
        self,
        expected: str,
        actual: str,
        *exchanges: Exchange,
        case: str,
        absence: bool = False,
        level: Level | None = None,
    ) -> None:
        super().__init__(f"expected {expected}; got {actual}")
        self.expected, self.actual, self.exchanges = expected, actual, exchanges
        self.case, self.absence, self.level = case, absence, level


class Untested(Exception):
    """Something needed is missing; the text says what to configure."""


class NotApplicable(Exception):
    """The server does not have the optional feature, or the configuration says so."""


class Trouble(Exception):
    """Our fault or the network's: the requirement cannot be judged now."""


class ServerDied(Exception):
    """The server stopped answering; `culprit` is the input that did it, if one is known."""

    def __init__(self, message: str, culprit: Exchange | None = None) -> None:
        super().__init__(message)
        self.culprit = culprit


@dataclass(frozen=True, slots=True)
class Scenario:
    """Ties a function to the requirement it judges.

    `overlap`: it mostly waits and runs beside others. `late`: it adds to what
    the requirement's scenario found, after all that runs beside each other and
    after the other scenarios of that stage.
    """

    code: str
    overlap: bool = False
    late: Stage | None = None


def scenario(code: str, *, overlap: bool = False, late: Stage | None = None) -> Callable[[F], F]:
    """Mark a function as the scenario of requirement `code`."""

    def mark(function: F) -> F:
        setattr(function, ATTRIBUTE, Scenario(code, overlap, late))
        return function

    return mark


def scenario_of(function: Any) -> Scenario | None:
    """The mark that `scenario` left, or None."""
    mark = getattr(function, ATTRIBUTE, None)
    return mark if isinstance(mark, Scenario) else None


@dataclass(slots=True)
class Record:
    """What one run of a scenario has brought to light so far."""

    requirement: Requirement
    findings: list[Finding] = field(default_factory=list)
    absences: int = 0
    judged: int = 0
    missing: list[str] = field(default_factory=list)
    inapplicable: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    exchanges: int = 0
    examples: int = 0
    seconds: float = 0.0

    def add(self, violation: Violation) -> None:
        """Keep a violation as a finding; the same case is kept once, and no more than a dozen in all."""
        if any(f.case == violation.case for f in self.findings) or len(self.findings) >= _MOST_FINDINGS:
            return
        self.absences += violation.absence
        self.findings.append(
            Finding(
                code=self.requirement.code,
                level=violation.level or self.requirement.level,
                case=violation.case,
                expected=violation.expected,
                actual=violation.actual,
                exchanges=violation.exchanges,
            )
        )

    @property
    def only_absences(self) -> bool:
        """Whether every finding is something that did not happen by a deadline."""
        return bool(self.findings) and self.absences == len(self.findings)

    def result(self) -> Result:
        """The verdict on what is recorded."""
        verdict, reason = self._verdict()
        notes = [*self.notes]
        if verdict not in {Verdict.UNTESTED, Verdict.NOT_APPLICABLE}:
            notes += [
                f"not exercised: {reason}" for reason in dict.fromkeys(self.missing + self.inapplicable)
            ]
        return Result(
            requirement=self.requirement,
            verdict=verdict,
            reason=reason,
            findings=tuple(self.findings),
            notes=tuple(notes),
            exchanges=self.exchanges,
            examples=self.examples,
            duration=self.seconds,
        )

    def _verdict(self) -> tuple[Verdict, str]:
        if self.findings:
            order = [Verdict.FAIL, Verdict.WARN, Verdict.ADVICE]
            first = min(self.findings, key=lambda finding: order.index(finding.verdict))
            more = f" (and {len(self.findings) - 1} more)" if len(self.findings) > 1 else ""
            return first.verdict, f"{first.case}: {first.actual}{more}"
        if self.errors:
            return Verdict.ERROR, self.errors[0]
        if self.judged:
            return Verdict.PASS, ""
        if self.missing:
            return Verdict.UNTESTED, "; ".join(dict.fromkeys(self.missing))
        if self.inapplicable:
            return Verdict.NOT_APPLICABLE, "; ".join(dict.fromkeys(self.inapplicable))
        return Verdict.ERROR, "the scenario judged nothing"


class Recorder:
    """What a peer of either role does with what a scenario finds: keep it in the record."""

    record: Record
    unanswered: tuple[type[Exception], ...] = ()
    """Exceptions that leave a part without an answer: an error of that part alone."""

    @contextmanager
    def part(self, title: str) -> Iterator[None]:
        """One of several things a requirement asks, judged where it can be."""
        try:
            yield
        except Violation as violation:
            self.record.add(violation)
            self.record.judged += 1
        except Untested as missing:
            self.record.missing.append(f"{title}: {missing}")
        except NotApplicable as missing:
            self.record.inapplicable.append(f"{title}: {missing}")
        except self.unanswered as trouble:
            self.record.errors.append(f"{title}: {trouble}")
        else:
            self.record.judged += 1

    def note(self, text: str) -> None:
        """Something the report should say that is no finding."""
        if text not in self.record.notes:
            self.record.notes.append(text)

    def report(self, violation: Violation) -> None:
        """Keep a violation and go on."""
        self.record.add(violation)


def confirmed(attempt: Callable[[int], Record], over: Callable[[], bool]) -> Result:
    """The result of a scenario: what merely did not happen by a deadline is confirmed by a second attempt.

    `attempt` runs it for the first (0) or second (1) time, `over` says whether the run has ended meanwhile.
    """
    first = attempt(0)
    if not first.only_absences or over():
        return first.result()
    second = attempt(1)
    if second.findings:
        first.notes.append("confirmed by a second run")
        return first.result()
    second.notes.append("a first run missed something by its deadline, a second run did not: not reported")
    return second.result()


def our_own(error: Exception) -> str:
    """What to say of an exception that no scenario means to raise: it accuses nobody."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    file = where.filename.replace("\\", "/").rpartition("/")[2]
    said = f"{type(error).__name__}: {str(error)[:300]!a}"
    return f"our own error, please report it: {said} ({file}:{where.lineno})"
