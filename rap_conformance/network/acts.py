"""What a scripted tool server does with one request: wait, write exact bytes, end the connection. No I/O."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from rap_conformance.engine.evidence import Failure, Headers
from rap_conformance.protocol.messages import JSON, encode


class Gate:
    """Holds answers back until it is opened, or for `limit` seconds."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._open = threading.Event()

    def open(self) -> None:
        """Let every answer through that waits here, and all that come."""
        self._open.set()

    @property
    def opened(self) -> bool:
        """Whether answers pass."""
        return self._open.is_set()


@dataclass(frozen=True, slots=True)
class Act:
    """What a server does with one status query: wait, write, and end the connection in some way.

    `ending` is "close", "reset", or "hold": say no more until the client gives up or `gate` opens.
    `gate` holds the answer back first. `dies`: the server stops listening before it ends the connection.
    `status` and `body` are what the bytes mean, for the record; `failure` is what a client will see.
    """

    written: bytes = b""
    status: int | None = None
    headers: Headers = ()
    body: bytes = b""
    ending: str = "close"
    gate: Gate | None = None
    failure: Failure | None = None
    dies: bool = False


def answer(status: int, body: bytes = b"", headers: Headers = (), **how: Any) -> Act:
    """A whole HTTP answer."""
    bodiless = status in {204, 304} or status < 200
    framing: Headers = () if bodiless else (("Content-Length", str(len(body))),)
    sent = (*headers, *framing, ("Connection", "close"))
    return Act(head(status, sent) + body, status, headers, body, **how)


def head(status: int, headers: Headers, version: str = "1.1") -> bytes:
    """Status line and headers, with the empty line after them."""
    lines = [f"HTTP/{version} {status} Scripted", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def alive(value: bool, **how: Any) -> Act:
    """The answer a proper server gives."""
    return answer(200, encode({"alive": value}), JSON, **how)
