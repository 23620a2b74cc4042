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
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

import httpx

from rap_conformance import __version__
from rap_conformance.engine.evidence import Exchange, Failure, Headers
from rap_conformance.network import raw
from rap_conformance.network.answers import classify, decoded, slowed_down
from rap_conformance.network.credentials import NOBODY, Credentials, origin
from rap_conformance.network.pace import HASTY, MOST_PATIENCE, PATIENT, Referee, slowly
from rap_conformance.network.patience import Patience, Queue
from rap_conformance.network.recipes import Recipe, Recipes
from rap_conformance.network.redaction import Redactor
from rap_conformance.network.sources import Sources
from rap_conformance.network.transport import Transport, connection_of, deadline

USER_AGENT = f"rap-conformance/{__version__}"
BODY_CAP = 1 << 20
"""Bytes of an answer that are read, unless more is asked for; a longer one is cut and marked as truncated."""
_RECORDED = 64 * 1024
"""Bytes of a request's body that are kept."""


@dataclass(slots=True)
class _Answer:
    """As much of an answer as has come."""

    status: int | None = None
    headers: Headers = ()
    body: bytearray = field(default_factory=bytearray)
    connection: int = 0


class Probe:
    """Makes exchanges with one server; safe to use from many threads.

    `timeout` is the deadline of one exchange in seconds, `origins` where
    credentials may go. `sources` know where secrets come from, `proof` says
    what else than credentials every request is made with.
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
        sources: Sources | None = None,
        proof: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.patience = patience
        self.redactor = redactor
        self.timeout = timeout
        self.credentials = credentials
        self.context = context
        self._origins = {origin(url) for url in origins}
        self.sources = sources or Sources()
        self.proof = proof
        self._client = self._new_client()
        self._recipes = Recipes()
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

    def _new_client(self) -> httpx.Client:
        return httpx.Client(transport=Transport(self.context), trust_env=False, timeout=self.timeout)

    def close(self) -> None:
        """Close every connection."""
        self._client.close()

    # --- the same again ------------------------------------------------------

    def known(self, exchange: Exchange) -> Recipe | None:
        """How one of our exchanges was made, if that is still known; then it can be made again."""
        return self.recipe(exchange.number)

    def recipe(self, number: int) -> Recipe | None:
        """How the exchange of that number was made, if that is still known."""
        return self._recipes.get(number)

    def before(self, exchange: Exchange, most: int) -> list[int]:
        """The numbers of up to `most` exchanges before one on its connection, the nearest first."""
        return self._recipes.before(exchange.number, most)

    def beside(self, exchange: Exchange) -> int:
        """How many other requests of ours were under way while one was."""
        return self._recipes.beside(exchange.number)

    def again(self, numbers: Sequence[int]) -> list[Exchange]:
        """Exchanges of ours made again, in this order, on one fresh connection.

        Fewer if that connection does not last. Raises LookupError for one that is no longer known.
        """
        recipes = [self._recipes.get(number) for number in numbers]
        made: list[Exchange] = []
        used: set[int] = set()
        with self._new_client() as client:
            for recipe in recipes:
                if recipe is None:
                    raise LookupError("it is no longer known how that was asked")
                self.patience.check()
                made.append(self._once(recipe, self.timeout, client))
                again = self._recipes.get(made[-1].number)
                used.add(again.connection if again else 0)
                if len(used) > 1:
                    return made[:-1]
        return made

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

        recipe = Recipe(method, url, body, headers, credentials, target, cap)

        def once() -> Exchange:
            return self._once(recipe, timeout or self.timeout)

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
        with self._lock:
            self._count += 1
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

    def _once(self, recipe: Recipe, timeout: float, client: httpx.Client | None = None) -> Exchange:
        body = recipe.body
        sent = [("User-Agent", USER_AGENT), ("Accept", "application/json"), ("Accept-Encoding", "identity")]
        named = {name.lower() for name, _ in recipe.headers}
        sent = [pair for pair in sent if pair[0].lower() not in named]
        signed = self._sign(recipe.method, recipe.url, body, recipe.credentials)
        headers = (*sent, *recipe.headers, *signed)
        with self._lock:
            self._count += 1
            number = self._count

        def exchanged(headers: Headers) -> tuple[Exchange, int, bool]:
            return self._exchange(client or self._client, number, recipe, headers, timeout)

        exchange, connection, opened = exchanged(headers)
        stale = (
            exchange.failure in {Failure.RESET, Failure.CUT_SHORT} and not opened and exchange.status is None
        )
        if stale and isinstance(body, bytes):
            # The server closed an idle connection just as we used it again: no word about the request.
            again, other, _ = exchanged((*headers, ("Connection", "close")))
            # Nobody listens any more: then this very request may be what the server died of.
            if again.failure is not Failure.REFUSED:
                exchange, connection = again, other
        if isinstance(body, bytes):
            kept = replace(recipe, connection=connection, began=exchange.started, ended=exchange.ended)
            self._recipes.keep(number, kept)
        return exchange

    def _sign(
        self, method: str, url: str, body: bytes | Iterable[bytes], credentials: Credentials | None
    ) -> Headers:
        chosen = self._chosen(url, credentials)
        signed: Headers = ()
        if chosen.signer:
            signed = chosen.signer(method, url, body if isinstance(body, bytes) else b"")
        for _, value in chosen.headers:
            self.redactor.learn(value)
        return (*chosen.headers, *signed)

    def _chosen(self, url: str, credentials: Credentials | None) -> Credentials:
        chosen = self.credentials if credentials is None else credentials
        return chosen if chosen and self.trusts(url) else NOBODY

    def _exchange(
        self, client: httpx.Client, number: int, recipe: Recipe, headers: Headers, timeout: float
    ) -> tuple[Exchange, int, bool]:
        """The exchange, the number of its connection (0: unknown), and whether that was opened for it."""
        method, url, body, cap = recipe.method, recipe.url, recipe.body, recipe.cap
        opened: list[str] = []
        extensions: dict[str, object] = {
            "trace": lambda event, _: opened.append(event) if event.startswith("connection.connect") else None
        }
        place = url
        if recipe.target is not None:
            extensions["target"] = (target := recipe.target.encode("latin-1", "replace"))
            parts = urlsplit(url)
            place = f"{parts.scheme}://{parts.netloc}{target.decode('latin-1')}"
        start = self.patience.now()
        answer = _Answer()
        failure: Failure | None = None
        detail = ""
        try:
            encoded = [
                (name.encode("ascii"), value.encode("utf-8", "surrogateescape")) for name, value in headers
            ]
            request = client.build_request(method, url, content=body, headers=encoded, extensions=extensions)
            with deadline(timeout):
                _receive(client, request, answer, cap)
        except Exception as error:
            failure = classify(error, answered=answer.status is not None)
            if failure is None:
                raise
            detail = str(error)[:200]
        content, how = decoded(bytes(answer.body[:cap]), answer.headers, cap)
        kept = body[:_RECORDED] if isinstance(body, bytes) else b"(sent in pieces)"
        shown_url, shown_headers = self.redactor.text(place), self.redactor.headers(headers)
        signing = self._chosen(url, recipe.credentials).signing
        exchange = Exchange(
            method=method,
            url=shown_url,
            request_headers=shown_headers,
            request_body=self.redactor.data(kept),
            status=answer.status,
            response_headers=self.redactor.headers(answer.headers),
            response_body=self.redactor.data(content),
            started=start,
            ended=self.patience.now(),
            failure=failure,
            detail=self.redactor.text(detail or how),
            truncated=len(answer.body) > cap,
            number=number,
            hidden=self.sources.hidden(headers, shown_headers, place, shown_url),
            proof=(*self.proof, ("aws-sigv4", signing)) if signing else self.proof,
        )
        return exchange, answer.connection, bool(opened)


def _receive(client: httpx.Client, request: httpx.Request, answer: _Answer, cap: int) -> None:
    """Send a request and read its answer, no further than just beyond `cap` bytes."""
    response = client.send(request, stream=True, follow_redirects=False)
    try:
        answer.status, answer.connection = response.status_code, connection_of(response)
        answer.headers = tuple((k.decode("latin-1"), v.decode("latin-1")) for k, v in response.headers.raw)
        for chunk in response.iter_raw():
            answer.body += chunk
            if len(answer.body) > cap:
                break
    finally:
        response.close()
