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
from dataclasses import dataclass, replace
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import urlsplit

import httpx

from rap_conformance import __version__
from rap_conformance.engine.evidence import Exchange, Failure, Headers
from rap_conformance.network import raw
from rap_conformance.network.answers import classify, slowed_down
from rap_conformance.network.credentials import NOBODY, Credentials, origin
from rap_conformance.network.pace import HASTY, MOST_PATIENCE, PATIENT, Referee, slowly
from rap_conformance.network.patience import Patience, Queue
from rap_conformance.network.recipes import Recipe, Recipes
from rap_conformance.network.recording import Answer, Question, recorded
from rap_conformance.network.redaction import Redactor
from rap_conformance.network.sources import Sources
from rap_conformance.network.transport import Transport, connection_of, deadline
from rap_conformance.protocol.messages import JSON

USER_AGENT = f"rap-conformance/{__version__}"
_ALWAYS: Headers = (
    ("User-Agent", USER_AGENT),
    ("Accept", "application/json"),
    ("Accept-Encoding", "identity"),
)
BODY_CAP = 1 << 20
"""Bytes of an answer that are read, unless more is asked for; a longer one is cut and marked as truncated."""
_MOST_IDLE = 32
"""Idle connections that are kept, and so may all be closed by the server just as they are used."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One of several requests on one connection; `credentials` as for `Probe.send`."""

    body: bytes
    credentials: Credentials | None = None
    chunked: bool = False


class Probe:
    """Makes exchanges with one server; safe to use from many threads.

    `timeout` is the deadline of one exchange in seconds, `origins` where
    credentials may go, `headers` go with every request. `context` is how TLS
    is spoken by whoever presents no client certificate. `sources` know where
    secrets come from, `proof` says what else than headers tells who we are.
    Whoever is not us shares no connection with us, and has each one for one
    request: what is left in it, or kept with it, must not meet the next.
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
        headers: Headers = (),
        sources: Sources | None = None,
        proof: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.patience = patience
        self.redactor = redactor
        self.timeout = timeout
        self.credentials = credentials
        self.context = context
        self.headers = headers
        self.sources = sources or Sources()
        self.proof = proof
        self._recipes = Recipes()
        self._origins = {origin(url) for url in origins}
        self._clients: dict[tuple[ssl.SSLContext | None, bool], httpx.Client] = {}
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
        for client in self._clients.values():
            client.close()

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
        context = self._context(recipes[-1].url, recipes[-1].credentials) if recipes and recipes[-1] else None
        with self._new_client(context, keep=True) as client:
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
        headers = self.headers_of("POST", url, start, JSON, None)
        began = self.patience.now()
        self.count()
        said = raw.head("POST", url, (*headers, ("Content-Length", str(announced)))) + start
        context = self._context(url, None)
        received, failure = raw.begin(urlsplit(url), said, self.timeout, within, context)
        status = int(received[9:12]) if received[:5] == b"HTTP/" and received[9:12].isdigit() else None
        answer = Answer(
            status=status,
            body=bytearray(received.partition(b"\r\n\r\n")[2]),
            failure=failure if status is None else None,
            detail=f"the body stopped after {len(start)} of {announced} bytes",
        )
        span = began, self.patience.now()
        return recorded(self.redactor, Question("POST", url, headers, start), answer, span, BODY_CAP)

    def in_one_connection(self, url: str, asked: Sequence[Asked]) -> list[Exchange]:
        """POSTs on one connection, each after the answer to the one before; ends where the server hangs up.

        The connection is ours: where a client certificate identifies us, it is presented.
        """
        exchanges: list[Exchange] = []
        with raw.Conversation(urlsplit(url), self.timeout, self._context(url, None)) as conversation:
            for each in asked:
                how = (*JSON, ("Transfer-Encoding", "chunked")) if each.chunked else JSON
                headers = self.headers_of("POST", url, each.body, how, each.credentials)
                began = self.patience.now()
                self.count()
                answer = conversation.ask("POST", url, headers, each.body, chunked=each.chunked)
                if exchanges and answer.failure in {Failure.RESET, Failure.CUT_SHORT, Failure.TLS}:
                    break
                span = began, self.patience.now()
                question = Question("POST", url, headers, each.body)
                exchanges.append(recorded(self.redactor, question, answer, span, BODY_CAP))
                if not conversation.open:
                    break
        return exchanges

    def _once(self, recipe: Recipe, timeout: float, client: httpx.Client | None = None) -> Exchange:
        method, url, body, cap = recipe.method, recipe.url, recipe.body, recipe.cap
        whole = body if isinstance(body, bytes) else b""
        sent = self.headers_of(method, url, whole, recipe.headers, recipe.credentials)
        chosen = client or self._client(url, recipe.credentials)
        opened: list[str] = []
        number = self.count()

        def exchange(headers: Headers) -> tuple[Exchange, int]:
            began = self.patience.now()
            question = Question(method, url, headers, body, recipe.target)
            answer = _answer(chosen, question, timeout, cap, opened)
            made = recorded(self.redactor, question, answer, (began, self.patience.now()), cap)
            return self._provenance(made, question, recipe.credentials, number), answer.connection

        made, connection = exchange(sent)
        for _ in range(_MOST_IDLE):
            stale = made.failure in {Failure.RESET, Failure.CUT_SHORT} and made.status is None
            if not stale or opened or not isinstance(body, bytes):
                break
            # The server closed an idle connection just as we used it again: no word about the request.
            again, other = exchange((*sent, ("Connection", "close")))
            if again.failure is Failure.REFUSED:
                break  # nobody listens any more: then this very request may be what the server died of
            made, connection = again, other
        if isinstance(body, bytes):
            kept = replace(recipe, connection=connection, began=made.started, ended=made.ended)
            self._recipes.keep(number, kept)
        return made

    def count(self) -> int:
        """A request is about to be sent; gives its number."""
        with self._lock:
            self._count += 1
            return self._count

    def _provenance(
        self, made: Exchange, question: Question, credentials: Credentials | None, number: int
    ) -> Exchange:
        """The exchange with what it takes to make it again by hand."""
        signing = self._who(question.url, credentials).signing
        hidden = self.sources.hidden(question.headers, made.request_headers, question.shown, made.url)
        proof = (*self.proof, ("aws-sigv4", signing)) if signing else self.proof
        return replace(made, number=number, hidden=hidden, proof=proof)

    def _who(self, url: str, credentials: Credentials | None) -> Credentials:
        """Who asks, as far as this URL may know."""
        chosen = self.credentials if credentials is None else credentials
        return chosen if self.trusts(url) else NOBODY

    def headers_of(
        self, method: str, url: str, body: bytes, headers: Headers, credentials: Credentials | None
    ) -> Headers:
        """The headers of a request: our own, those given, and what identifies us."""
        who = self._who(url, credentials)
        for _, value in who.headers:
            self.redactor.learn(value)
        given = {name.lower() for name, _ in headers}
        always = [*_ALWAYS, *self.headers]
        return (
            *(pair for pair in always if pair[0].lower() not in given),
            *headers,
            *who.made(method, url, body),
        )

    def _context(self, url: str, credentials: Credentials | None) -> ssl.SSLContext | None:
        return self._who(url, credentials).certificate or self.context

    def _client(self, url: str, credentials: Credentials | None) -> httpx.Client:
        context = self._context(url, credentials)
        ours = credentials is None or credentials == self.credentials
        with self._lock:
            client = self._clients.get((context, ours))
            if client is None:
                client = self._clients[context, ours] = self._new_client(context, keep=ours)
        return client

    def _new_client(self, context: ssl.SSLContext | None, *, keep: bool) -> httpx.Client:
        transport = Transport(context, keep=keep)
        return httpx.Client(transport=transport, trust_env=False, timeout=self.timeout, cookies=_no_cookies())


def _no_cookies() -> CookieJar:
    """A jar that keeps nothing: who asks is what we say, never what an answer to somebody else set."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))


def _answer(client: httpx.Client, question: Question, timeout: float, cap: int, opened: list[str]) -> Answer:
    """What comes back; `opened` is told of each connection that is opened for it."""
    answer = Answer()
    extensions: dict[str, object] = {
        "trace": lambda event, _: opened.append(event) if event.startswith("connection.connect") else None
    }
    if question.target is not None:
        extensions["target"] = question.target.encode("latin-1", "replace")
    try:
        encoded = [
            (name.encode("ascii"), value.encode("utf-8", "surrogateescape"))
            for name, value in question.headers
        ]
        request = client.build_request(
            question.method, question.url, content=question.body, headers=encoded, extensions=extensions
        )
        with deadline(timeout):
            _receive(client, request, answer, cap)
    except Exception as error:
        answer.failure = classify(error, answered=answer.status is not None)
        if answer.failure is None:
            raise
        answer.detail = str(error)[:200]
    return answer


def _receive(client: httpx.Client, request: httpx.Request, answer: Answer, cap: int) -> None:
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
