"""What an answer, or its absence, means for the probe: a slower pace, an encoding, one of the failures."""

from __future__ import annotations

import socket
import ssl
import zlib

import httpcore
import httpx

from rap_conformance.engine.evidence import Exchange, Failure, Headers


def slowed_down(exchange: Exchange) -> bool:
    """Whether the server may have asked for a slower pace instead of answering."""
    return exchange.status in {429, 503}


def retry_after(exchange: Exchange) -> float:
    """Seconds the server asks us to wait, 0 if it does not say (or says a date)."""
    value = (exchange.header("retry-after") or "").strip()
    return min(float(value), 60.0) if value.isdigit() and len(value) < 6 else 0.0


def decoded(body: bytes, headers: Headers, cap: int) -> tuple[bytes, str]:
    """The body without an encoding that nobody asked for, at most `cap` bytes of it, and what was done."""
    name = next((value for key, value in headers if key.lower() == "content-encoding"), "").strip().lower()
    if name not in {"gzip", "x-gzip", "deflate"} or not body:
        return body, ""
    for bits in (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):
        try:
            return zlib.decompressobj(bits).decompress(
                body, cap
            ), f"decoded from {name}, which was not asked for"
        except zlib.error:
            continue
    return body, f"not what its Content-Encoding says: {name}"


def classify(error: Exception, *, answered: bool) -> Failure | None:
    """Which failure an exception of the HTTP stack is; None if it is a defect of ours."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or link.__context__
    if isinstance(error, (httpcore.TimeoutException, httpx.TimeoutException, TimeoutError)):
        return Failure.TIMEOUT
    if any(isinstance(link, socket.gaierror) for link in chain):
        return Failure.NAME
    if any(isinstance(link, ssl.SSLError) for link in chain):
        return Failure.TLS
    if any(isinstance(link, ConnectionRefusedError) for link in chain):
        return Failure.REFUSED
    if isinstance(error, httpcore.RemoteProtocolError):
        text = str(error).lower()
        if "incomplete" in text or "without sending complete" in text:
            return Failure.CUT_SHORT
        return Failure.RESET if "disconnected" in text or "closed" in text else Failure.NOT_HTTP
    gone = any(isinstance(link, ConnectionError) for link in chain)
    if gone or isinstance(error, (httpcore.ReadError, httpcore.WriteError)):
        return Failure.CUT_SHORT if answered else Failure.RESET
    known = (httpcore.ConnectError, httpcore.ProtocolError, httpcore.UnsupportedProtocol, httpx.HTTPError)
    if isinstance(error, (*known, httpx.InvalidURL, OSError)):
        return Failure.OTHER
    return None
