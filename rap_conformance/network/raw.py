"""Bytes to a server without a client that sees to it that they make a whole request."""

from __future__ import annotations

import socket
import ssl
from urllib.parse import SplitResult, urlsplit

from rap_conformance.engine.evidence import Failure, Headers


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
