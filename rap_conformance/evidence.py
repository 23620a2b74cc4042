"""Frozen values that tie a run together: exchange, finding, result, run.

Data flows one way: scenarios make exchanges, a finding ties exchanges to a
requirement, results gather findings, a run gathers results, reports read the
run. Nothing in here does I/O and nothing in here knows a scenario.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum

from rap_conformance.catalogue import Level, Requirement

Headers = tuple[tuple[str, str], ...]


class Verdict(StrEnum):
    """What the suite says about one requirement (docs: README, "Verdicts")."""

    PASS = "pass"
    FAIL = "fail"
    WARN = "warn"
    ADVICE = "advice"
    KNOWN = "known"
    UNTESTED = "untested"
    NOT_APPLICABLE = "not-applicable"
    ERROR = "error"


class RunVerdict(StrEnum):
    """What the suite says about the whole run."""

    CONFORMANT = "conformant"
    PARTIAL = "partial"
    NOT_CONFORMANT = "not-conformant"
    INCOMPLETE = "incomplete"


class Failure(StrEnum):
    """Why an exchange has no whole answer; a runtime reads each as "unknown"."""

    REFUSED = "connection refused"
    RESET = "connection reset or closed without an answer"
    TIMEOUT = "no answer within the time allowed"
    CUT_SHORT = "the body ended before its announced length"
    NOT_HTTP = "the answer is not HTTP"
    TLS = "TLS failed"
    NAME = "the host name does not resolve"
    OTHER = "the request could not be made"


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what came back, as bytes went over the wire.

    Secrets are already redacted. `status` is None when there was no answer;
    `failure` then says why. Times are seconds since the run began. For a
    callback (`inbound`) the server sent the request and the suite answered.
    """

    method: str
    url: str
    request_headers: Headers
    request_body: bytes
    status: int | None
    response_headers: Headers
    response_body: bytes
    started: float
    ended: float
    failure: Failure | None = None
    detail: str = ""
    truncated: bool = False
    inbound: bool = False

    @property
    def elapsed(self) -> float:
        """Seconds from the first byte out to the last byte in."""
        return self.ended - self.started

    def header(self, name: str) -> str | None:
        """The first response header of that name, in any letter case."""
        for key, value in self.response_headers:
            if key.lower() == name.lower():
                return value
        return None


@dataclass(frozen=True, slots=True)
class Finding:
    """One way in which the server departs from one requirement.

    `smallest`: its exchange holds the smallest input that still does, as far as a bounded search went.
    """

    code: str
    level: Level
    case: str
    expected: str
    actual: str
    exchanges: tuple[Exchange, ...] = ()
    smallest: bool = False

    @property
    def fingerprint(self) -> str:
        """A short stable name of this failure, for baselines: hex digits."""
        return hashlib.sha256(f"{self.code}\0{self.case}".encode("utf-8", "backslashreplace")).hexdigest()[:6]

    @property
    def verdict(self) -> Verdict:
        """What a finding of this level makes of its requirement."""
        return {
            Level.MUST: Verdict.FAIL,
            Level.SHOULD: Verdict.WARN,
            Level.ADVICE: Verdict.ADVICE,
        }[self.level]


@dataclass(frozen=True, slots=True)
class Result:
    """What came out for one requirement. Durations are seconds."""

    requirement: Requirement
    verdict: Verdict
    reason: str = ""
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    exchanges: int = 0
    examples: int = 0
    duration: float = 0.0


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
class Run:
    """Everything a report may say. Reports are pure functions of this value.

    `started` is an ISO 8601 time in UTC, `duration` seconds, `causes` what
    explains many results at once, `cut_short` why the run ended early.
    `selected` are the codes and globs that were asked for (none: everything),
    `known` the baseline's entries that covered something, `stale` those that
    no longer hold, in words. `latencies` are the response times of the status
    endpoint in seconds, `life` the exchanges of one call, for pictures.
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
    latencies: tuple[float, ...] = ()
    life: tuple[Exchange, ...] = ()
