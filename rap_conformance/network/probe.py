"""The probe: sends what a check needs, exactly, and records what came back.

Bytes go out as given, answers are read up to a cap and never past a deadline,
every exchange is recorded with its secrets already redacted. Proxy settings
of the environment are ignored, redirects are reported and not followed, and
credentials go to the target's own origin and the configured ones only.
"""

from __future__ import annotations

import socket
import ssl
import threading
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpcore
import httpx

from rap_conformance import __version__
from rap_conformance.engine.evidence import Exchange, Failure, Headers
from rap_conformance.engine.scenario import Trouble
from rap_conformance.network.patience import Patience, Queue
from rap_conformance.network.redaction import Redactor
from rap_conformance.network.transport import Transport, deadline

USER_AGENT = f"rap-conformance/{__version__}"
BODY_CAP = 1 << 20
"""Bytes of an answer that are read, unless more is asked for; a longer one is cut and marked as truncated."""
PATIENT = 75.0
"""Seconds for which one request is repeated that is answered 429 or 503."""
MOST_PATIENCE = 200.0
"""Seconds that all those waits of a run may take together; what comes later waits for `HASTY` seconds."""
HASTY = 5.0
TRIES = 3
"""Refusals after which somebody else is asked whether it is the pace, or this request."""

_RECORDED = 64 * 1024
"""Bytes of a request's body that are kept."""

Signer = Callable[[str, str, bytes], Headers]
"""Makes credentials for one request from its method, URL and body."""


class NoAnswer(Trouble):
    """The server asked us to slow down until our own deadline: nothing was learnt."""


Referee = Callable[[], Exchange]
"""Makes another, ordinary request of the same kind, which asks for no patience."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What identifies us: fixed headers, or a signer that makes them for each request."""

    headers: Headers = ()
    signer: Signer | None = None

    def __bool__(self) -> bool:
        return bool(self.headers or self.signer)


NOBODY = Credentials()


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of a URL, as browsers compare them."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), port


class Probe:
    """Makes exchanges with one server; safe to use from many threads.

    `timeout` is the deadline of one exchange in seconds, `origins` where
    credentials may go, `record` is called with every finished exchange.
    """

    def __init__(
        self,
        patience: Patience,
        redactor: Redactor,
        *,
        timeout: float,
        credentials: Credentials = NOBODY,
        origins: Iterable[str] = (),
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.patience = patience
        self.redactor = redactor
        self.timeout = timeout
        self.credentials = credentials
        self.context = context
        self._origins = {origin(url) for url in origins}
        self._client = httpx.Client(transport=Transport(context), trust_env=False, timeout=timeout)
        self._count = 0
        self._lock = threading.Lock()
        self._queues: dict[tuple[str, bool], Queue] = {}
        self._waited = 0.0
        self.referees: dict[str, Referee] = {}
        """By URL: what tells a limit, which refuses whoever comes, from the refusal of one request."""

    @property
    def requests(self) -> int:
        """How many requests were sent so far."""
        return self._count

    def close(self) -> None:
        """Close every connection."""
        self._client.close()

    def trusts(self, url: str) -> bool:
        """Whether credentials may be sent to this URL's origin."""
        return origin(url) in self._origins

    def send(
        self,
        method: str,
        url: str,
        body: bytes | Iterable[bytes] = b"",
        headers: Headers = (),
        *,
        credentials: Credentials | None = None,
        target: str | None = None,
        timeout: float | None = None,
        patient: bool = True,
        within: float = PATIENT,
        cap: int = BODY_CAP,
    ) -> Exchange:
        """One request and its answer.

        `credentials` None means ours (if the origin is trusted), NOBODY none.
        `target` replaces path and query on the request line, byte for byte.
        A 429 or 503 is no answer: unless `patient` is false the request is
        repeated, more slowly each time, for `within` seconds; then NoAnswer is
        raised. Those who were slowed down queue, and so does who comes after
        them: a limit that all share starves nobody. Where others are answered
        at that pace, it is this request that is refused, and that is the answer.
        `cap`: bytes of the answer that are read.
        """
        began = self.patience.now()
        until = began + (within if self._waited < MOST_PATIENCE else min(within, HASTY))

        def once() -> Exchange:
            limit = timeout or self.timeout
            return self._once(method, url, body, headers, credentials, target, limit, cap)

        # A limit for strangers is another than ours.
        place = url, credentials is None or credentials == self.credentials
        with self._lock:
            queue = self._queues.setdefault(place, Queue())
        if not patient or not queue.waiting or not isinstance(body, bytes):
            exchange = once()
            if not patient or not slowed_down(exchange) or not isinstance(body, bytes):
                return exchange
        with queue.turn(lambda: self.patience.halted or self.patience.now() > until):
            try:
                return self._slowly(once, f"{method} {url}", self.referees.get(url), until)
            finally:
                with self._lock:
                    self._waited += self.patience.now() - began

    def _slowly(
        self, once: Callable[[], Exchange], what: str, referee: Referee | None, until: float
    ) -> Exchange:
        """Ask ever more slowly. Raises NoAnswer when the time is up."""
        pause, refused, others = 0.25, 0, 0
        while slowed_down(exchange := once()):
            refused += 1
            pause = max(min(pause * 2, 8.0), retry_after(exchange))
            if self.patience.now() + pause > until:
                raise NoAnswer(f"{what}: still {exchange.status}, however slowly it is asked")
            self.patience.pace(pause)
            if referee is not None and refused >= TRIES:
                others = 0 if slowed_down(referee()) else others + 1
                if others >= TRIES:
                    return exchange
                self.patience.pace(pause)
        return exchange

    def unfinished(self, url: str, start: bytes, *, announced: int, within: float) -> Exchange:
        """A POST whose body stops short of the announced length, abandoned after `within` seconds."""
        parts = urlsplit(url)
        lines = [
            f"POST {parts.path or '/'} HTTP/1.1",
            f"Host: {parts.netloc}",
            f"Content-Length: {announced}",
        ]
        headers: Headers = (("Content-Type", "application/json"), ("User-Agent", USER_AGENT))
        signed = self._sign("POST", url, start, None)
        lines += [f"{name}: {value}" for name, value in (*headers, *signed)]
        began, answer, failure = self.patience.now(), b"", Failure.TIMEOUT
        with self._lock:
            self._count += 1
        port = parts.port or (443 if parts.scheme == "https" else 80)
        try:
            with socket.create_connection((parts.hostname or "", port), timeout=self.timeout) as plain:
                wire = plain
                if parts.scheme == "https":
                    context = self.context or ssl.create_default_context()
                    wire = context.wrap_socket(plain, server_hostname=parts.hostname)
                wire.sendall("\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + start)
                wire.settimeout(within)
                answer = wire.recv(4096)
        except TimeoutError:
            pass
        except OSError:
            failure = Failure.RESET
        status = int(answer[9:12]) if answer[:5] == b"HTTP/" and answer[9:12].isdigit() else None
        return Exchange(
            method="POST",
            url=self.redactor.text(url),
            request_headers=self.redactor.headers((*headers, *signed)),
            request_body=self.redactor.data(start),
            status=status,
            response_headers=(),
            response_body=self.redactor.data(answer.partition(b"\r\n\r\n")[2]),
            started=began,
            ended=self.patience.now(),
            failure=failure if status is None else None,
            detail=f"the body stopped after {len(start)} of {announced} bytes",
        )

    def _once(
        self,
        method: str,
        url: str,
        body: bytes | Iterable[bytes],
        headers: Headers,
        credentials: Credentials | None,
        target: str | None,
        timeout: float,
        cap: int,
    ) -> Exchange:
        raw = body if isinstance(body, bytes) else b""
        sent = [("User-Agent", USER_AGENT), ("Accept", "application/json"), ("Accept-Encoding", "identity")]
        sent = [pair for pair in sent if pair[0].lower() not in {name.lower() for name, _ in headers}]
        sent += list(headers) + list(self._sign(method, url, raw, credentials))
        extensions: dict[str, object] = {}
        if target is not None:
            extensions["target"] = target.encode("latin-1", "replace")
        opened: list[str] = []
        extensions["trace"] = lambda event, _: (
            opened.append(event) if event.startswith("connection.connect") else None
        )
        start = self.patience.now()
        with self._lock:
            self._count += 1
        exchange = self._exchange(method, url, body, sent, extensions, timeout, start, cap)
        stale = (
            exchange.failure in {Failure.RESET, Failure.CUT_SHORT} and not opened and exchange.status is None
        )
        if stale and isinstance(body, bytes):
            # The server closed an idle connection just as we used it again: no word about the request.
            fresh = [*sent, ("Connection", "close")]
            again = self._exchange(method, url, body, fresh, extensions, timeout, self.patience.now(), cap)
            # Nobody listens any more: then this very request may be what the server died of.
            return exchange if again.failure is Failure.REFUSED else again
        return exchange

    def _sign(self, method: str, url: str, body: bytes, credentials: Credentials | None) -> Headers:
        chosen = self.credentials if credentials is None else credentials
        if not chosen or not self.trusts(url):
            return ()
        signed = chosen.signer(method, url, body) if chosen.signer else ()
        for _, value in chosen.headers:
            self.redactor.learn(value)
        return (*chosen.headers, *signed)

    def _exchange(
        self,
        method: str,
        url: str,
        body: bytes | Iterable[bytes],
        headers: Sequence[tuple[str, str]],
        extensions: dict[str, object],
        timeout: float,
        start: float,
        cap: int,
    ) -> Exchange:
        status: int | None = None
        answer: Headers = ()
        received = bytearray()
        failure: Failure | None = None
        detail, truncated = "", False
        try:
            encoded = [
                (name.encode("ascii"), value.encode("utf-8", "surrogateescape")) for name, value in headers
            ]
            request = self._client.build_request(
                method, url, content=body, headers=encoded, extensions=extensions
            )
            with deadline(timeout):
                response = self._client.send(request, stream=True, follow_redirects=False)
                try:
                    status = response.status_code
                    answer = tuple(
                        (k.decode("latin-1"), v.decode("latin-1")) for k, v in response.headers.raw
                    )
                    for chunk in response.iter_raw():
                        received += chunk
                        if len(received) > cap:
                            truncated = True
                            break
                finally:
                    response.close()
        except Exception as error:
            failure = classify(error, answered=status is not None)
            if failure is None:
                raise
            detail = str(error)[:200]
        if truncated:
            del received[cap:]
        content, how = decoded(bytes(received), answer, cap)
        detail = detail or how
        kept = body[:_RECORDED] if isinstance(body, bytes) else b"(sent in pieces)"
        shown = extensions.get("target")
        parts = urlsplit(url)
        place = (
            f"{parts.scheme}://{parts.netloc}{shown.decode('latin-1')}" if isinstance(shown, bytes) else url
        )
        return Exchange(
            method=method,
            url=self.redactor.text(place),
            request_headers=self.redactor.headers(tuple(headers)),
            request_body=self.redactor.data(kept),
            status=status,
            response_headers=self.redactor.headers(answer),
            response_body=self.redactor.data(content),
            started=start,
            ended=self.patience.now(),
            failure=failure,
            detail=self.redactor.text(detail),
            truncated=truncated,
        )


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
    if isinstance(error, (httpcore.ReadError, httpcore.WriteError, ConnectionError, BrokenPipeError)):
        return Failure.CUT_SHORT if answered else Failure.RESET
    known = (httpcore.ConnectError, httpcore.ProtocolError, httpcore.UnsupportedProtocol, httpx.HTTPError)
    if isinstance(error, (*known, httpx.InvalidURL, OSError)):
        return Failure.OTHER
    return None
