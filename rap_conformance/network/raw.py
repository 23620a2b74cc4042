"""Bytes to a server without a client that sees to it that they make a whole request."""

from __future__ import annotations

import socket
import ssl
from urllib.parse import SplitResult

from rap_conformance.engine.evidence import Failure


def begin(
    url: SplitResult, said: bytes, timeout: float, within: float, context: ssl.SSLContext | None
) -> tuple[bytes, Failure]:
    """Say something, and give what comes back within `within` seconds, and what it is if that is nothing."""
    port = url.port or (443 if url.scheme == "https" else 80)
    try:
        with socket.create_connection((url.hostname or "", port), timeout=timeout) as plain:
            wire = plain
            if url.scheme == "https":
                context = context or ssl.create_default_context()
                wire = context.wrap_socket(plain, server_hostname=url.hostname)
            wire.sendall(said)
            wire.settimeout(within)
            return wire.recv(4096), Failure.TIMEOUT
    except TimeoutError:
        return b"", Failure.TIMEOUT
    except OSError:
        return b"", Failure.RESET
