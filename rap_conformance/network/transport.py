"""HTTP for the probe: httpx over httpcore, with one deadline for a whole exchange.

httpx counts a time-out for each read, so a server that sends one byte now and
then holds it forever. Here every read and write of an exchange shares one
deadline, which the calling thread sets.
"""

from __future__ import annotations

import itertools
import logging
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore
import httpx

_local = threading.local()


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Every read and write of this thread inside the block ends within `seconds` altogether."""
    _local.until = time.monotonic() + seconds
    try:
        yield
    finally:
        _local.until = None


def _left(timeout: float | None, error: type[Exception]) -> float | None:
    until = getattr(_local, "until", None)
    if until is None:
        return timeout
    left: float = until - time.monotonic()
    if left <= 0:
        raise error("the deadline of this exchange has passed")
    return left if timeout is None else min(left, timeout)


_numbers = itertools.count(1)


def new_number() -> int:
    """A number for a connection, another one for each."""
    return next(_numbers)


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream
        self.number = new_number()

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    def __init__(self) -> None:
        self._backend = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        left = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._backend.connect_tcp(host, port, left, local_address, socket_options))


class _Body(httpx.SyncByteStream):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        yield from self._response.iter_stream()

    def close(self) -> None:
        self._response.close()


def connection_of(response: httpx.Response) -> int:
    """A number for the connection that an answer came on, another one for each; 0 if that is not known."""
    stream = response.extensions.get("network_stream")
    return stream.number if isinstance(stream, _Stream) else 0


class Transport(httpx.BaseTransport):
    """An httpx transport whose exchanges obey `deadline`. Errors are httpcore's own."""

    def __init__(self, context: ssl.SSLContext | None = None, *, keep: bool = True) -> None:
        for name in ("httpcore", "httpx"):
            # Their debug logs hold every header, credentials included.
            logging.getLogger(name).setLevel(logging.WARNING)
        self._pool = httpcore.ConnectionPool(
            ssl_context=context,
            max_connections=None,
            max_keepalive_connections=32 if keep else 0,
            keepalive_expiry=2.0,
            network_backend=_Backend(),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; the answer's body is read by whoever iterates it."""
        url = request.url
        response = self._pool.handle_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx.Response(
            status_code=response.status,
            headers=response.headers,
            stream=_Body(response),
            extensions=response.extensions,
        )

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()
