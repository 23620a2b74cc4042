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
class Piece:
    """Characters of what an environment variable holds, from `first` (counted from 1) to `last` (0: the end).

    `token`: counted after its first space. `swapped`: with upper and lower case exchanged.
    """

    variable: str
    first: int = 1
    last: int = 0
    token: bool = False
    swapped: bool = False


@dataclass(frozen=True, slots=True)
class Hidden:
    """A text of a request that no report may show, and of what it can be made again.

    `where` is the position of its header, -1 the URL. `parts` are texts as they are and pieces of secrets.
    `holds` says what a variable has to hold that nobody configured; empty where somebody did.
    """

    where: int
    parts: tuple[str | Piece, ...]
    holds: str = ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what came back, as bytes went over the wire.

    Secrets are already redacted. `status` is None when there was no answer;
    `failure` then says why. Times are seconds since the run began. `inbound`: the peer
    sent the request and the suite answered. `betrays` says which of our own secrets the answer held.
    `number`: which request of its session it was, 0 if it is none of ours. `hidden`: how to make the secrets
    in it again; `proof`: how else we proved who we are, such as ("cert", "client.pem").
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
    number: int = 0
    hidden: tuple[Hidden, ...] = ()
    proof: tuple[tuple[str, str], ...] = ()
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
class Steps:
    """What to do, in this order, to see again what one request alone does not show.

    `kept`: all on one connection. `listen`: host and port where something has to take what the peer sends.
    `crowd`: how many times the offending request is made at once. `restarts`: when the peer was started anew.
    `watch`: how many seconds to look on at the end.
    """

    exchanges: tuple[Exchange, ...]
    kept: bool = False
    listen: tuple[str, int] | None = None
    crowd: int = 0
    restarts: tuple[float, ...] = ()
    watch: float = 0.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One way in which the server departs from one requirement. Its first exchange is the offending one.

    `smallest`: that holds the smallest input that still does, as far as a bounded search went.
    `absence`: it is about what did not happen by a deadline.
    `depends`: on what it depends beside that one request, in words; empty if on nothing that is known.
    `crowd`: it takes so many requests at once. `steps` show it again where one request does not.
    """

    code: str
    level: Level
    case: str
    expected: str
    actual: str
    exchanges: tuple[Exchange, ...] = ()
    smallest: bool = False
    absence: bool = False
    depends: str = ""
    crowd: int = 0
    steps: Steps | None = None

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
