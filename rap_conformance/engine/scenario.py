"""What a scenario is, and the words in which it speaks.

A scenario is a function of a peer, tied to one requirement. What it says it
judged counts; it raises Violation for what the peer did wrong, Untested for
what could not be seen, NotApplicable for what the peer need not have. Any
other exception is our own error and accuses nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from rap_conformance.engine.controls import Control, Positive
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.requirement import Level, Stage

Function = Callable[[Any], None]
F = TypeVar("F", bound=Callable[..., None])
ATTRIBUTE = "rap_scenario"


class Violation(Exception):
    """The peer departs from the requirement.

    `case` names the input or situation, always the same for the same kind of
    failure (it becomes the fingerprint in baselines). `absence` marks what
    merely did not happen by a deadline: that is confirmed by a second run. An
    exchange that timed out is an absence too.
    `level` lowers the level of this finding below its requirement's.
    `smallest`: the first exchange, which is the offending one, holds the smallest input found that shows it.
    `depends` says on what it depends beside that exchange, `crowd` how many such requests at once it takes:
    then it is not asked again alone.
    """

    def __init__(
        self,
        expected: str,
        actual: str,
        *exchanges: Exchange,
        case: str,
        absence: bool = False,
        level: Level | None = None,
        smallest: bool = False,
        depends: str = "",
        crowd: int = 0,
    ) -> None:
        super().__init__(f"expected {expected}; got {actual}")
        self.expected, self.actual, self.exchanges = expected, actual, exchanges
        self.case, self.absence, self.level, self.smallest = case, absence, level, smallest
        self.depends, self.crowd = depends, crowd


class Untested(Exception):
    """Something needed is missing; the text says what to configure."""


class NotApplicable(Exception):
    """The peer does not have the optional feature, or the configuration says so."""


class Trouble(Exception):
    """Our fault or the network's: the requirement cannot be judged now."""


class Halted(Exception):
    """The run is over (interrupted, out of time, or nobody is left to judge): stop waiting."""


class Refused(Exception):
    """The run cannot be made: nothing is judged. The message is one line, `exit` the exit code."""

    def __init__(self, message: str, exit: int) -> None:
        super().__init__(message)
        self.exit = exit


class PeerDied(Exception):
    """The peer is gone; `culprit` is the input that did it, if one is known.

    `expected` and `case` are those of the finding that is made of it then.
    """

    def __init__(
        self,
        message: str,
        culprit: Exchange | None = None,
        *,
        expected: str = "it goes on answering",
        case: str = "it died",
    ) -> None:
        super().__init__(message)
        self.culprit, self.expected, self.case = culprit, expected, case


@dataclass(frozen=True, slots=True)
class Part:
    """A part that is judged later: when all that runs beside each other is over, after `stage`.

    `begin` is what it may do before, beside all else, where answers are late.
    """

    function: Function
    stage: Stage = Stage.HARMLESS
    begin: Callable[[Any], object] | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """Ties a function to the requirement it judges.

    `control` is what must be accepted beside what is expected to be refused.
    `overlap`: it mostly waits and runs beside others. `parts` add later to
    what the function found.
    """

    code: str
    control: Control | Positive
    overlap: bool = False
    parts: tuple[Part, ...] = ()


def scenario(
    code: str, *, control: Control | Positive, overlap: bool = False, parts: tuple[Part, ...] = ()
) -> Callable[[F], F]:
    """Mark a function as the scenario of requirement `code`."""

    def mark(function: F) -> F:
        setattr(function, ATTRIBUTE, Scenario(code, control, overlap, parts))
        return function

    return mark


def scenario_of(function: Any) -> Scenario | None:
    """The mark that `scenario` left, or None."""
    mark = getattr(function, ATTRIBUTE, None)
    return mark if isinstance(mark, Scenario) else None
