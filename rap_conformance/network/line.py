"""Requests as other clients say them: header names in another case, a body in chunks, packets, single bytes.

The probe's own client says everything in one manner. What is said here is HTTP all the same, and means the
same.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import SplitResult

import h11

from rap_conformance.engine.evidence import Failure, Headers
from rap_conformance.network.answers import classify
from rap_conformance.network.patience import Patience
from rap_conformance.network.raw import connect

CONTINUE = 1.0
"""Seconds that we wait for a 100 before we send the body unasked, as curl does."""


def at_once(head: bytes, body: bytes) -> Sequence[bytes]:
    """Head and body in one packet."""
    return (head + body,)


def split(head: bytes, body: bytes) -> Sequence[bytes]:
    """The head, then the body in two packets."""
    middle = len(body) // 2
    return head, body[:middle], body[middle:]


def byte_by_byte(head: bytes, body: bytes) -> Sequence[bytes]:
    """Every byte by itself."""
    said = head + body
    return [said[at : at + 1] for at in range(len(said))]


@dataclass(frozen=True, slots=True)
class Manner:
    """How a request is said.

    `names` writes header names; `chunk` is the length of the body's chunks (0: it has a Content-Length
    instead); `packets` is what goes out at once, with `pause` seconds between two; `expect`: 100-continue.
    """

    names: Callable[[str], str] = str
    chunk: int = 0
    packets: Callable[[bytes, bytes], Sequence[bytes]] = at_once
    pause: float = 0.0
    expect: bool = False

    def headers(self, headers: Headers, length: int) -> Headers:
        """The headers as they are said, with those that frame the body."""
        framing = ("Transfer-Encoding", "chunked") if self.chunk else ("Content-Length", str(length))
        more = (framing, ("Expect", "100-continue")) if self.expect else (framing,)
        return tuple((self.names(name), value) for name, value in (*headers, *more))


@dataclass(slots=True)
class Heard:
    """As much of an answer as has come. `version` is that of its HTTP; `fresh`: on a new connection."""

    status: int | None = None
    headers: Headers = ()
    body: bytes = b""
    version: str = ""
    failure: Failure | None = None
    detail: str = ""
    fresh: bool = True


@dataclass(slots=True)
class Line:
    """A connection to a server, on which requests are said one after the other; opened anew where needed."""

    url: SplitResult
    patience: Patience
    timeout: float
    context: ssl.SSLContext | None
    cap: int
    _wire: socket.socket | None = None
    _state: h11.Connection = field(default_factory=lambda: h11.Connection(h11.CLIENT))

    def say(self, headers: Headers, body: bytes, manner: Manner) -> Heard:
        """One POST in a manner, and what is heard.

        A kept connection that was closed before anything came back says nothing about the request: it is
        said again on a fresh one.
        """
        fresh = self._wire is None
        heard = self._exchange(headers, body, manner)
        if heard.failure in {Failure.RESET, Failure.CUT_SHORT} and heard.status is None and not fresh:
            fresh = True
            heard = self._exchange(headers, body, manner)
        heard.fresh = fresh
        return heard

    def close(self) -> None:
        """Hang up."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None

    def _exchange(self, headers: Headers, body: bytes, manner: Manner) -> Heard:
        heard = Heard()
        try:
            wire = self._wire or self._open()
            whole = self._tell(wire, headers, body, manner, heard)
            until = time.monotonic() + self.timeout
            while not self._hear(wire, heard, until):
                pass
            if not (whole and self._again()):
                self.close()
        except (OSError, h11.RemoteProtocolError) as error:
            heard.failure = _failure(error, heard)
            heard.detail = str(error)[:200]
            self.close()
        return heard

    def _open(self) -> socket.socket:
        wire = connect(self.url, self.timeout, self.context)
        self._wire, self._state = wire, h11.Connection(h11.CLIENT)
        return wire

    def _tell(self, wire: socket.socket, headers: Headers, body: bytes, manner: Manner, heard: Heard) -> bool:
        """Say a request; whether all of it was said. What is answered before the body was sent is heard."""
        target = f"{self.url.path or '/'}{'?' if self.url.query else ''}{self.url.query}"
        said = [(n.encode("ascii"), v.encode("utf-8", "surrogateescape")) for n, v in headers]
        head = self._state.send(h11.Request(method="POST", target=target, headers=said)) or b""
        wire.settimeout(self.timeout)
        if manner.expect:
            wire.sendall(head)
            head = b""
            if self._refused(wire, heard):
                return False
        size = manner.chunk or len(body) or 1
        parts = [body[at : at + size] for at in range(0, len(body), size)]
        framed = b"".join(self._state.send(h11.Data(part)) or b"" for part in parts)
        framed += self._state.send(h11.EndOfMessage()) or b""
        for number, packet in enumerate(manner.packets(head, framed)):
            if number and manner.pause:
                self.patience.pace(manner.pause)
            wire.settimeout(self.timeout)
            try:
                wire.sendall(packet)
            except OSError:
                return False  # it may have answered all the same
        return True

    def _refused(self, wire: socket.socket, heard: Heard) -> bool:
        """Wait for a 100, but not for long; true if the answer itself has come instead."""
        until = time.monotonic() + min(CONTINUE, self.timeout)
        try:
            while heard.status is None:
                if self._hear(wire, heard, until, go_on=True):
                    return heard.status is not None
        except TimeoutError:
            return False
        return True

    def _hear(self, wire: socket.socket, heard: Heard, until: float, *, go_on: bool = False) -> bool:
        """Take in what comes next; true when the answer is whole, or with `go_on` a 100 has come."""
        while (event := self._state.next_event()) is h11.NEED_DATA:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError("the deadline of this exchange has passed")
            wire.settimeout(left)
            data = wire.recv(64 * 1024)
            if not data and heard.status is None:
                raise ConnectionResetError("the connection was closed without an answer")
            self._state.receive_data(data)
        if isinstance(event, h11.InformationalResponse):
            return go_on and event.status_code == 100
        if isinstance(event, h11.Response):
            heard.status, heard.version = event.status_code, event.http_version.decode("ascii")
            heard.headers = tuple(
                (name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers.raw_items()
            )
        elif isinstance(event, h11.Data):
            heard.body += event.data
            return len(heard.body) > self.cap
        return isinstance(event, h11.EndOfMessage)

    def _again(self) -> bool:
        """Whether the connection can be used once more."""
        try:
            self._state.start_next_cycle()
        except h11.ProtocolError:
            return False
        return True


def _failure(error: OSError | h11.RemoteProtocolError, heard: Heard) -> Failure:
    if isinstance(error, h11.RemoteProtocolError):
        if "without sending complete" in str(error) or "incomplete" in str(error).lower():
            return Failure.CUT_SHORT
        return Failure.NOT_HTTP
    return classify(error, answered=heard.status is not None) or Failure.OTHER
