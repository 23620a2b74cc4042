"""One HTTP/1.1 request, read from a stream as it came: what scripted tool servers hear."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from rap_conformance.engine.evidence import Headers

_LONGEST_HEAD = 64 * 1024
_LONGEST_BODY = 1024 * 1024
_SECONDS = 30.0
"""Seconds in which a request must be complete."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request. `target` is what stood on the request line, `path` the same without its query."""

    method: str
    target: str
    headers: Headers
    body: bytes

    @property
    def path(self) -> str:
        """The target up to its query."""
        return self.target.split("?", 1)[0]

    def header(self, name: str) -> str | None:
        """The first header of that name, in any letter case."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request | None:
    """The next request; None if the client hangs up first, is too slow, or speaks no HTTP."""
    try:
        async with asyncio.timeout(_SECONDS):
            return await _read(reader, writer)
    except (ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
        return None


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request:
    raw = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    if len(raw) > _LONGEST_HEAD:
        raise ValueError("too long a head")
    first, *rest = raw[:-4].split("\r\n")
    method, target, version = first.split(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError("not HTTP/1")
    pairs = [line.split(":", 1) for line in rest]
    headers = tuple((pair[0], pair[1].strip()) for pair in pairs if len(pair) == 2)
    by_name = {name.lower(): value for name, value in headers}
    if by_name.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if "chunked" in by_name.get("transfer-encoding", "").lower():
        body = await _chunks(reader)
    else:
        body = await reader.readexactly(_bounded(int(by_name.get("content-length", "0"))))
    return Request(method, target, headers, body)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := _bounded(int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
        _bounded(len(body))
    while await reader.readuntil(b"\r\n") != b"\r\n":
        continue
    return body


def _bounded(size: int) -> int:
    if not 0 <= size <= _LONGEST_BODY:
        raise ValueError("too long a body")
    return size
