"""What a scenario brings to light: exchanges, and findings that tie them to a requirement. Frozen values.

Nothing in here does I/O and nothing in here knows a scenario.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from rap_conformance.engine.requirement import Level

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
    `failure` then says why. Times are seconds since the run began. `inbound`: the peer
    sent the request and the suite answered. `betrays` says which of our own secrets the answer held.
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
    betrays: str = ""

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
    `absence`: it is about what did not happen by a deadline.
    """

    code: str
    level: Level
    case: str
    expected: str
    actual: str
    exchanges: tuple[Exchange, ...] = ()
    smallest: bool = False
    absence: bool = False

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
