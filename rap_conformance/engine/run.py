"""Results gather findings, a run gathers results, reports read the run and nothing else. Frozen values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from rap_conformance.engine.evidence import Exchange, Finding, Verdict
from rap_conformance.engine.requirement import Requirement


class RunVerdict(StrEnum):
    """What the suite says about the whole run."""

    CONFORMANT = "conformant"
    PARTIAL = "partial"
    NOT_CONFORMANT = "not-conformant"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True)
class Result:
    """What came out for one requirement: `judged` things were looked at. Durations are seconds."""

    requirement: Requirement
    verdict: Verdict
    reason: str = ""
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    exchanges: int = 0
    examples: int = 0
    duration: float = 0.0
    judged: int = 0


@dataclass(frozen=True, slots=True)
class Known:
    """One entry of the baseline: a failure that is known, with the reason why it is put up with.

    Without `case` it covers every failure of the requirement. `expires` is an ISO date, or empty.
    """

    requirement: str
    reason: str
    case: str = ""
    expires: str = ""

    def __str__(self) -> str:
        return f"{self.requirement} case {self.case}" if self.case else self.requirement


@dataclass(frozen=True, slots=True)
class Target:
    """What is under test, as far as reports name it; `role` is "server" or "runtime"."""

    url: str
    name: str = ""
    tools: tuple[str, ...] = ()
    embedded: bool = False
    authentication: str = "none given"
    command: str = ""
    role: str = "server"


@dataclass(frozen=True, slots=True)
class Opening:
    """What would let more be judged: `lines` to put into the configuration, for something that is missing.

    `codes` are the requirements that need it, `musts` how many of them are MUSTs; of `parts` some of what
    they ask needs it. `remark` is what to know before, or what to do where there are no lines.
    """

    need: str
    lines: tuple[str, ...]
    remark: str = ""
    codes: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    musts: int = 0


Given = str | bool | tuple[str, ...]
"""What an option was given: a text, a flag, or several texts."""


@dataclass(frozen=True, slots=True)
class Run:
    """Everything a report may say. Reports are pure functions of this value.

    `started` is an ISO 8601 time in UTC, `duration` seconds, `causes` what
    explains many results at once, `cut_short` why the run ended early.
    `selected` are the codes and globs that were asked for (none: everything),
    `known` the baseline's entries that covered something, `stale` those that
    no longer hold, in words. `options` are those that make it again, without secrets.
    `openings` are what would let more be judged. `latencies` are the response times of the status endpoint
    in seconds, `life` the exchanges of one call, for pictures.
    """

    target: Target
    revision: str
    catalogue: str
    suite_version: str
    started: str
    profile: str
    seed: int
    results: tuple[Result, ...]
    verdict: RunVerdict
    exit: int
    duration: float = 0.0
    requests: int = 0
    planned: int = 0
    executed: int = 0
    causes: tuple[str, ...] = ()
    cut_short: str = ""
    notes: tuple[str, ...] = ()
    configuration: tuple[tuple[str, str], ...] = field(default=())
    catalogue_digest: str = ""
    selected: tuple[str, ...] = ()
    known: tuple[Known, ...] = ()
    stale: tuple[str, ...] = ()
    options: tuple[tuple[str, Given], ...] = ()
    protocol: str = ""
    latencies: tuple[float, ...] = ()
    life: tuple[Exchange, ...] = ()
    openings: tuple[Opening, ...] = ()
