"""One HTTP/1.1 request from a stream: what scripted tool servers hear, in h11's reading.

What h11 refuses is kept as it came, with the reason: a runtime that speaks odd HTTP has to be seen doing so.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import h11

from rap_conformance.engine.evidence import Headers

_LONGEST_HEAD = 64 * 1024
_LONGEST_BODY = 1024 * 1024
_SECONDS = 30.0
"""Seconds in which a request must be complete."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request. `target` is what stood on the request line, `path` the same without its query.

    `refused` says why it is no HTTP/1.1; the rest is then as much as could be made out.
    """

    method: str
    target: str
    headers: Headers
    body: bytes
    refused: str = ""

    @property
    def path(self) -> str:
        """The target up to its query."""
        return self.target.split("?", 1)[0]

    def header(self, name: str) -> str | None:
        """The first header of that name, in any letter case."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


class _Refused(Exception):
    """The client does not speak HTTP/1.1, or says too much."""


class _HungUp(Exception):
    """The client said no more before its request was complete."""


class _Reading:
    """Reads one request, and keeps every byte of it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._parser = h11.Connection(h11.SERVER, max_incomplete_event_size=_LONGEST_HEAD)
        self._bytes = b""

    async def request(self) -> Request:
        """The request. Raises _Refused, or _HungUp."""
        head = await self._event()
        if not isinstance(head, h11.Request):
            raise _HungUp
        if not head.http_version.startswith(b"1."):
            raise _Refused(f"HTTP/{head.http_version.decode('ascii')}")
        body = b""
        while isinstance(event := await self._event(), h11.Data):
            body += event.data
            if len(body) > _LONGEST_BODY:
                raise _Refused(f"more than {_LONGEST_BODY} bytes")
        headers = tuple(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers.raw_items()
        )
        return Request(head.method.decode("latin-1"), head.target.decode("latin-1"), headers, body)

    async def as_it_came(self, why: str) -> Request:
        """What h11 refuses, as far as it can be made out. Raises _HungUp."""
        head, _, body = self._bytes.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, *_ = [*first.split(" "), "", ""]
        pairs = [line.partition(":") for line in lines]
        headers = tuple((name, value.strip()) for name, colon, value in pairs if colon)
        announced = [
            value for name, value in headers if name.lower() == "content-length" and value.isdecimal()
        ]
        while announced and len(body) < min(int(announced[0][:9]), _LONGEST_BODY):
            body += await self._more()
        return Request(method, target, headers, body[:_LONGEST_BODY], why)

    async def _event(self) -> object:
        try:
            while (event := self._parser.next_event()) is h11.NEED_DATA:
                if self._parser.they_are_waiting_for_100_continue:
                    go_on = h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue")
                    self._writer.write(self._parser.send(go_on) or b"")
                self._parser.receive_data(await self._more())
        except h11.RemoteProtocolError as error:
            raise _Refused(str(error)) from error
        return event

    async def _more(self) -> bytes:
        data = await self._reader.read(64 * 1024)
        if not data:
            raise _HungUp
        self._bytes += data
        return data


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request | None:
    """The next request; None if the client hangs up first or is too slow."""
    reading = _Reading(reader, writer)
    try:
        async with asyncio.timeout(_SECONDS):
            try:
                return await reading.request()
            except _Refused as refused:
                return await reading.as_it_came(str(refused))
    except (_HungUp, TimeoutError):
        return None
