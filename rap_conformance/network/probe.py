"""The probe: sends what a check needs, exactly, and records what came back.

Bytes go out as given, answers are read up to a cap and never past a deadline,
every exchange is recorded with its secrets already redacted. Proxy settings
of the environment are ignored, redirects are reported and not followed, and
credentials go to the target's own origin and the configured ones only.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx

from rap_conformance import __version__
from rap_conformance.engine.evidence import Exchange, Failure, Headers
from rap_conformance.network import raw
from rap_conformance.network.answers import classify, decoded, slowed_down
from rap_conformance.network.credentials import NOBODY, Credentials, origin
from rap_conformance.network.pace import HASTY, MOST_PATIENCE, PATIENT, Referee, slowly
from rap_conformance.network.patience import Patience, Queue
from rap_conformance.network.redaction import Redactor
from rap_conformance.network.transport import Transport, deadline

USER_AGENT = f"rap-conformance/{__version__}"
BODY_CAP = 1 << 20
"""Bytes of an answer that are read, unless more is asked for; a longer one is cut and marked as truncated."""
_MOST_IDLE = 32
"""Idle connections that are kept, and so may all be closed by the server just as they are used."""
_RECORDED = 64 * 1024
"""Bytes of a request's body that are kept."""


@dataclass(slots=True)
class _Answer:
    """As much of an answer as has come."""

    status: int | None = None
    headers: Headers = ()
    body: bytearray = field(default_factory=bytearray)


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
                return slowly(self.patience, once, f"{method} {url}", self.referees.get(url), until)
            finally:
                with self._lock:
                    self._waited += self.patience.now() - began

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
        began = self.patience.now()
        self.count()
        said = "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + start
        answer, failure = raw.begin(parts, said, self.timeout, within, self.context)
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
        whole = body if isinstance(body, bytes) else b""
        sent = self.headers(method, url, whole, headers, credentials)
        extensions: dict[str, object] = {}
        if target is not None:
            extensions["target"] = target.encode("latin-1", "replace")
        opened: list[str] = []
        extensions["trace"] = lambda event, _: (
            opened.append(event) if event.startswith("connection.connect") else None
        )
        start = self.patience.now()
        self.count()
        exchange = self._exchange(method, url, body, sent, extensions, timeout, start, cap)
        for _ in range(_MOST_IDLE):
            stale = exchange.failure in {Failure.RESET, Failure.CUT_SHORT} and exchange.status is None
            if not stale or opened or not isinstance(body, bytes):
                break
            # The server closed an idle connection just as we used it again: no word about the request.
            fresh = (*sent, ("Connection", "close"))
            again = self._exchange(method, url, body, fresh, extensions, timeout, self.patience.now(), cap)
            if again.failure is Failure.REFUSED:
                break  # nobody listens any more: then this very request may be what the server died of
            exchange = again
        return exchange

    def count(self) -> None:
        """A request is about to be sent."""
        with self._lock:
            self._count += 1

    def headers(
        self, method: str, url: str, body: bytes, headers: Headers, credentials: Credentials | None
    ) -> Headers:
        """The headers of a request: our own, those given, and what identifies us."""
        ours = (("User-Agent", USER_AGENT), ("Accept", "application/json"), ("Accept-Encoding", "identity"))
        named = {name.lower() for name, _ in headers}
        sent = tuple(pair for pair in ours if pair[0].lower() not in named)
        return (*sent, *headers, *self._sign(method, url, body, credentials))

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
        answer = _Answer()
        failure: Failure | None = None
        detail = ""
        try:
            encoded = [
                (name.encode("ascii"), value.encode("utf-8", "surrogateescape")) for name, value in headers
            ]
            request = self._client.build_request(
                method, url, content=body, headers=encoded, extensions=extensions
            )
            with deadline(timeout):
                self._receive(request, answer, cap)
        except Exception as error:
            failure = classify(error, answered=answer.status is not None)
            if failure is None:
                raise
            detail = str(error)[:200]
        content, how = decoded(bytes(answer.body[:cap]), answer.headers, cap)
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
            status=answer.status,
            response_headers=self.redactor.headers(answer.headers),
            response_body=self.redactor.data(content),
            started=start,
            ended=self.patience.now(),
            failure=failure,
            detail=self.redactor.text(detail),
            truncated=len(answer.body) > cap,
        )

    def _receive(self, request: httpx.Request, answer: _Answer, cap: int) -> None:
        """Send a request and read its answer, no further than just beyond `cap` bytes."""
        response = self._client.send(request, stream=True, follow_redirects=False)
        try:
            answer.status = response.status_code
            answer.headers = tuple(
                (k.decode("latin-1"), v.decode("latin-1")) for k, v in response.headers.raw
            )
            for chunk in response.iter_raw():
                answer.body += chunk
                if len(answer.body) > cap:
                    break
        finally:
            response.close()
