"""The liveness vectors of fixtures/payloads/liveness.json: answers to a status query, and what they mean.

No I/O. `Vector.exchange` is the answer as a client records it, `act` what a scripted server does to give it.
Serves "Tool Call Status Check", section "Runtime Error Semantics".
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rap_conformance.engine.evidence import Exchange, Failure, Headers
from rap_conformance.network.acts import Act, answer, head
from rap_conformance.places import place
from rap_conformance.protocol.payloads import PayloadError
from rap_conformance.protocol.reading import Liveness

FAILURES = {
    "refused": Failure.REFUSED,
    "reset": Failure.RESET,
    "closed": Failure.RESET,
    "timeout": Failure.TIMEOUT,
    "stalled": Failure.TIMEOUT,
    "short": Failure.CUT_SHORT,
    "cut": Failure.CUT_SHORT,
    "tls": Failure.TLS,
    "name": Failure.NAME,
    "not-http": Failure.NOT_HTTP,
}
"""The ways of failing by their names in the file."""

BASES = ("stated", "derived", "silent")
_MISSING = 20
"""Bytes by which the body of a "short" answer falls short."""


@dataclass(frozen=True, slots=True)
class Vector:
    """One answer. `status` is None where none arrives; `partial` is what arrives instead.

    `liveness` is the reading, `allowed` all readings that are right, `basis` "stated", "derived" or "silent".
    """

    name: str
    liveness: Liveness
    allowed: frozenset[Liveness]
    basis: str
    why: str
    status: int | None = None
    headers: Headers = ()
    informational: tuple[int, ...] = ()
    framing: str = "length"
    body: bytes = b""
    failure: str = ""
    partial: bytes = b""

    @property
    def silent(self) -> bool:
        """Whether the specification says nothing about it, so that it accuses nobody."""
        return self.basis == "silent"

    @property
    def may_be_kept(self) -> bool:
        """Whether a runtime that goes on waiting is right."""
        return self.silent or bool(self.allowed - {Liveness.GONE})

    @property
    def may_be_pruned(self) -> bool:
        """Whether a runtime that gives the call up is right."""
        return self.silent or Liveness.GONE in self.allowed

    @property
    def unknown(self) -> bool:
        """Whether it says nothing about the call, so that the call must be kept however often it comes."""
        return not self.silent and self.liveness is Liveness.UNKNOWN

    @property
    def unreachable(self) -> bool:
        """Whether its server cannot be asked for its toolset either."""
        return self.failure in {"refused", "name", "tls"}

    @property
    def exchange(self) -> Exchange:
        """The answer as a client would record it."""
        failure = FAILURES.get(self.failure)
        return Exchange(
            method="POST",
            url="http://127.0.0.1/tool_call_status",
            request_headers=(("Content-Type", "application/json"),),
            request_body=b"{}",
            status=self.status,
            response_headers=self.headers,
            response_body=self.body,
            started=0.0,
            ended=0.0,
            failure=Failure.CUT_SHORT if failure is Failure.RESET and self.status is not None else failure,
        )

    def act(self) -> Act:
        """What a server does to give this answer; refusal, TLS and names are its address's doing."""
        before = b"".join(head(status, ()) for status in self.informational)
        failure = FAILURES.get(self.failure)
        if self.status is None:
            ending = {"reset": "reset", "timeout": "hold"}.get(self.failure, "close")
            return Act(before + self.partial, ending=ending, failure=failure)
        if not self.failure and self.framing == "length" and not before:
            return answer(self.status, self.body, self.headers)
        ending = {"reset": "reset", "stalled": "hold"}.get(self.failure, "close")
        written = before + head(self.status, self._framed(), self._version()) + self._payload()
        return Act(written, self.status, self.headers, self.body, ending, failure=failure)

    def _version(self) -> str:
        return "1.0" if self.framing == "http-1.0" else "1.1"

    def _framed(self) -> Headers:
        if self.framing == "chunked":
            return (*self.headers, ("Transfer-Encoding", "chunked"), ("Connection", "close"))
        if self.framing == "close":
            return (*self.headers, ("Connection", "close"))
        missing = _MISSING if self.failure else 0
        return (*self.headers, ("Content-Length", str(len(self.body) + missing)), ("Connection", "close"))

    def _payload(self) -> bytes:
        if self.framing != "chunked":
            return self.body
        if self.failure == "cut" and not self.body.endswith(b"}"):
            return b"%x\r\n%s" % (len(self.body) + _MISSING, self.body)
        pieces = [self.body[at : at + 5] for at in range(0, len(self.body), 5)]
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
        return chunks if self.failure else chunks + b"0\r\n\r\n"


def _body(entry: dict[str, Any]) -> bytes:
    if "parts" in entry:
        return "".join(part["text"] * part.get("times", 1) for part in entry["parts"]).encode()
    return base64.b64decode(entry.get("body_base64", ""), validate=True)


def _vector(entry: dict[str, Any]) -> Vector:
    allowed = frozenset(Liveness(reading) for reading in entry["allowed"])
    if entry["basis"] not in BASES or Liveness(entry["liveness"]) not in allowed:
        raise ValueError(f"basis is one of {BASES}, and liveness one of those allowed")
    if entry.get("failure", "") not in {"", *FAILURES}:
        raise ValueError(f"failure is one of {[*FAILURES]}")
    return Vector(
        name=entry["name"],
        liveness=Liveness(entry["liveness"]),
        allowed=allowed,
        basis=entry["basis"],
        why=entry["why"],
        status=entry.get("status"),
        headers=tuple((str(name), str(value)) for name, value in entry.get("headers", ())),
        informational=tuple(entry.get("informational", ())),
        framing=entry.get("framing", "length"),
        body=_body(entry),
        failure=entry.get("failure", ""),
        partial=base64.b64decode(entry.get("partial_base64", ""), validate=True),
    )


def load(path: Path) -> tuple[Vector, ...]:
    """Read a file of vectors, in its order. Raises PayloadError, naming file and entry, if it is damaged."""
    try:
        entries = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise PayloadError(f"{path.name}: {error}") from error
    found: dict[str, Vector] = {}
    for number, entry in enumerate(entries if isinstance(entries, list) else ()):
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name or name in found:
            raise PayloadError(f"{path.name}: entry {number} needs a name of its own, got {name!r}")
        try:
            found[name] = _vector(entry)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise PayloadError(f"{path.name}: {name}: {error!r}") from error
    if not found:
        raise PayloadError(f"{path.name}: a list of vectors is wanted")
    return tuple(found.values())


@cache
def vectors() -> tuple[Vector, ...]:
    """The vectors this suite ships."""
    return load(place("fixtures") / "payloads" / "liveness.json")
