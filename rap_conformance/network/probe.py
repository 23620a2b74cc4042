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
from dataclasses import replace

import httpx

from rap_conformance import __version__
from rap_conformance.engine.evidence import Exchange, Failure, Headers
from rap_conformance.network.answers import slowed_down
from rap_conformance.network.client import answer_of, new_client
from rap_conformance.network.credentials import NOBODY, Credentials, origin
from rap_conformance.network.pace import HASTY, MOST_PATIENCE, PATIENT, Referee, slowly
from rap_conformance.network.patience import Patience, Queue
from rap_conformance.network.recipes import Recipe, Recipes, whole
from rap_conformance.network.recording import Question, recorded
from rap_conformance.network.redaction import Redactor
from rap_conformance.network.sources import Sources

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


class Probe:
    """Makes exchanges with one server; safe to use from many threads.

    `timeout` is the deadline of one exchange in seconds, `origins` where
    credentials may go, `headers` go with every request. `context` is how TLS
    is spoken by whoever presents no client certificate. `sources` know where
    secrets come from, `proof` tells curl how the server proves who it is.
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
        self._clients: dict[tuple[ssl.SSLContext | None, bool, bool], httpx.Client] = {}
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
        context = (
            self.context_of(recipes[-1].url, recipes[-1].credentials) if recipes and recipes[-1] else None
        )
        with new_client(context, self.timeout, keep=True) as client:
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
        keep: bool = False,
    ) -> Exchange:
        """One request and its answer.

        `credentials` None means ours (if the origin is trusted), NOBODY none.
        `target` replaces path and query on the request line, byte for byte.
        A 429 or 503 is no answer: unless `patient` is false the request is
        repeated, more slowly each time, for `within` seconds; then NoAnswer is
        raised. Those who were slowed down queue, and so does who comes after
        them: a limit that all share starves nobody. Where others are answered
        at that pace, it is this request that is refused, and that is the answer.
        `cap`: bytes of the answer that are read. `keep`: strangers may go on
        with each other's connections, too.
        """
        began = self.patience.now()
        until = began + (within if self._waited < MOST_PATIENCE else min(within, HASTY))

        recipe = Recipe(method, url, body, headers, credentials, target, cap)

        def once() -> Exchange:
            return self._once(recipe, timeout or self.timeout, self._client(url, credentials, keep))

        # A limit for strangers is another than ours.
        place = url, credentials is None or credentials == self.credentials
        with self._lock:
            queue = self._queues.setdefault(place, Queue())
        if not patient or not queue.waiting or not isinstance(body, bytes):
            exchange = once()
            if not patient or not slowed_down(exchange) or not isinstance(body, bytes):
                return exchange
        with queue.turn(lambda: self.patience.halted or self.patience.now() > until):
            began = self.patience.now()  # who stands in the queue meanwhile waits for nothing else
            try:
                return slowly(self.patience, once, f"{method} {url}", self.referees.get(url), until)
            finally:
                with self._lock:
                    self._waited += self.patience.now() - began

    def _once(self, recipe: Recipe, timeout: float, client: httpx.Client) -> Exchange:
        method, url, body, cap = recipe.method, recipe.url, recipe.body, recipe.cap
        sent = self.headers_of(method, url, whole(body) or b"", recipe.headers, recipe.credentials)
        opened: list[str] = []
        number = self.count()

        def exchange(headers: Headers) -> tuple[Exchange, int]:
            began = self.patience.now()
            question = Question(method, url, headers, body, recipe.target)
            answer = answer_of(client, question, timeout, cap, opened)
            made = recorded(self.redactor, question, answer, (began, self.patience.now()), cap)
            return self.provenance(made, question, recipe.credentials, number), answer.connection

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
        if whole(body) is not None:
            self.remember(made, recipe, connection)
        return made

    def remember(self, made: Exchange, recipe: Recipe, connection: int) -> None:
        """How an exchange was made that has ended, and on which connection."""
        kept = replace(recipe, connection=connection, began=made.started, ended=made.ended)
        self._recipes.keep(made.number, kept)

    def count(self) -> int:
        """A request is about to be sent; gives its number."""
        with self._lock:
            self._count += 1
            return self._count

    def provenance(
        self, made: Exchange, question: Question, credentials: Credentials | None, number: int
    ) -> Exchange:
        """The exchange with what it takes to make it again by hand."""
        who = self._who(question.url, credentials)
        hidden = self.sources.hidden(question.headers, made.request_headers, question.shown, made.url)
        signing = (("aws-sigv4", who.signing),) if who.signing else ()
        proof = (*who.files, *self.proof, *signing)
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

    def context_of(self, url: str, credentials: Credentials | None) -> ssl.SSLContext | None:
        """How TLS is spoken with a URL: with a certificate where that identifies who asks."""
        return self._who(url, credentials).certificate or self.context

    def _client(self, url: str, credentials: Credentials | None, keep: bool) -> httpx.Client:
        context = self.context_of(url, credentials)
        ours = credentials is None or credentials == self.credentials
        which = context, ours, keep
        with self._lock:
            client = self._clients.get(which)
            if client is None:
                client = self._clients[which] = new_client(context, self.timeout, keep=ours or keep)
        return client
