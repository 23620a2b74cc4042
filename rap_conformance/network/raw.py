"""Bytes to a server without a client that sees to it that they make a whole request, or a new connection."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from types import TracebackType
from urllib.parse import SplitResult, urlsplit

import h11

from rap_conformance.engine.evidence import Failure, Headers
from rap_conformance.network.recording import Answer

_MOST = 1 << 20
"""Bytes of an answer that are read."""


def connect(url: SplitResult, timeout: float, context: ssl.SSLContext | None) -> socket.socket:
    """A connection to the URL's host. Raises OSError (ssl.SSLError is one)."""
    port = url.port or (443 if url.scheme == "https" else 80)
    wire = socket.create_connection((url.hostname or "", port), timeout=timeout)
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if url.scheme != "https":
        return wire
    try:
        return (context or ssl.create_default_context()).wrap_socket(wire, server_hostname=url.hostname)
    except OSError:
        wire.close()
        raise


def head(method: str, url: str, headers: Headers) -> bytes:
    """The head of a request, to the blank line."""
    parts = urlsplit(url)
    pairs = [("Host", parts.netloc), *headers]
    lines = [f"{method} {parts.path or '/'} HTTP/1.1", *(f"{name}: {value}" for name, value in pairs)]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


def begin(
    url: SplitResult, said: bytes, timeout: float, within: float, context: ssl.SSLContext | None
) -> tuple[bytes, Failure]:
    """Say something, and give what comes back within `within` seconds, and what it is if that is nothing."""
    try:
        with connect(url, timeout, context) as wire:
            wire.sendall(said)
            wire.settimeout(within)
            return wire.recv(4096), Failure.TIMEOUT
    except TimeoutError:
        return b"", Failure.TIMEOUT
    except OSError:
        return b"", Failure.RESET


class Conversation:
    """Requests and answers on one connection: the next answer is taken for that to the next request.

    So does whoever keeps connections and asks for others on them, a proxy for instance.
    """

    def __init__(self, url: SplitResult, timeout: float, context: ssl.SSLContext | None) -> None:
        self._url, self._timeout, self._context = url, timeout, context
        self._wire: socket.socket | None = None
        self._parser = h11.Connection(h11.CLIENT)
        self.open = True
        """Whether a further request may be sent."""

    def __enter__(self) -> Conversation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._wire is not None:
            self._wire.close()

    def ask(self, method: str, url: str, headers: Headers, body: bytes, *, chunked: bool = False) -> Answer:
        """Send one request whole, whatever comes back meanwhile, and read the next answer.

        `chunked`: its headers say that its body comes so.
        """
        length = () if chunked else (("Content-Length", str(len(body))),)
        said = head(method, url, (*headers, *length))
        said += b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if chunked else body
        answer = Answer()
        until = time.monotonic() + self._timeout
        try:
            if self._wire is None:
                self._wire = connect(self._url, self._timeout, self._context)
            with contextlib.suppress(ConnectionError):  # an answer may be there all the same
                self._wire.sendall(said)
            self._read(self._wire, answer, until)
        except TimeoutError:
            answer.failure = Failure.TIMEOUT
        except ssl.SSLError as error:
            answer.failure, answer.detail = Failure.TLS, str(error)[:200]
        except ConnectionRefusedError:
            answer.failure = Failure.REFUSED
        except OSError:
            answer.failure = Failure.RESET if answer.status is None else Failure.CUT_SHORT
        except h11.RemoteProtocolError as error:
            answer.failure, answer.detail = Failure.NOT_HTTP, str(error)[:200]
        self.open = self.open and answer.failure is None
        return answer

    def _read(self, wire: socket.socket, answer: Answer, until: float) -> None:
        parser = self._parser
        # What was sent is written by hand; the parser is told of a request with nothing to wait for.
        parser.send(h11.Request(method="POST", target="/", headers=[("Host", "x"), ("Content-Length", "0")]))
        parser.send(h11.EndOfMessage())
        while not isinstance(event := parser.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                wire.settimeout(max(0.001, until - time.monotonic()))
                data = wire.recv(64 * 1024)
                if not data and answer.status is None:
                    raise ConnectionResetError
                parser.receive_data(data)
            elif isinstance(event, h11.Response):
                answer.status = event.status_code
                answer.headers = tuple(
                    (name.decode("latin-1"), value.decode("latin-1"))
                    for name, value in event.headers.raw_items()
                )
            elif isinstance(event, h11.Data):
                answer.body += event.data[: _MOST - len(answer.body)]
            elif isinstance(event, h11.ConnectionClosed):
                raise ConnectionResetError
        if parser.their_state is h11.DONE and parser.our_state is h11.DONE:
            parser.start_next_cycle()
        else:
            self.open = False
