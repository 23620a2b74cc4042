"""The status check is for authentic callers only.

Specification: "Tool Call Status Check", section "Security Considerations".
"""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange, Headers
from rap_conformance.engine.scenario import NotApplicable, Untested, Violation, scenario
from rap_conformance.network.credentials import NOBODY
from rap_conformance.protocol.forgeries import forgeries, loose, spellings, split
from rap_conformance.protocol.leaks import reveals
from rap_conformance.protocol.messages import JSON, encode, fresh, query
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import until_alive
from rap_conformance.server.controls import need_answer
from rap_conformance.server.corpus import live
from rap_conformance.server.peer import Peer
from rap_conformance.server.strangers import ask_as, forged, need_headers


@scenario("TCS011", control=Control("the same query with the right credentials is answered"), overlap=True)
def test_authentic_only(peer: Peer) -> None:
    """Only an authentic caller learns anything, whatever the credential, method or spelling of the path."""
    if peer.config.auth.none:
        raise NotApplicable("the configuration declares a trusted network without authentication (--no-auth)")
    if not peer.authenticated:
        exchange = ask_as(peer, NOBODY)
        if reveals(exchange):
            raise Violation(
                "no answer without credentials (or --no-auth, which declares a trusted network)",
                "a boolean `alive`",
                exchange,
                case="no credentials",
            )
        raise Untested("no credentials are configured; give --auth-header or [auth]")
    control = peer.ask(fresh(), fresh("thread"))
    peer.controlled(
        reveals(control) or any(reveals(exchange) for _, exchange in live(peer)),
        f"an authentic query gets no status answer (status {control.status}), which TCS001 is about",
    )
    with peer.part("credentials"):
        for title, headers in forgeries(need_headers(peer)):
            expect_silence(peer, ask_as(peer, forged(peer, headers)), title)
    with peer.part("methods and spellings"):
        ask_elsewhere(peer)
    with peer.part("a live call"):
        ask_about_live(peer)


def expect_silence(peer: Peer, exchange: Exchange, case: str) -> None:
    """A caller who is not authentic is told nothing. A 4xx, a redirect, a refused connection: all will do."""
    peer.expect(
        not reveals(exchange),
        "no answer to a caller who is not authentic",
        "a boolean `alive`",
        exchange,
        case=case,
    )


def ask_elsewhere(peer: Peer) -> None:
    """Without credentials: other methods, spellings of the path, and headers that some servers trust."""
    body = encode(query(fresh(), fresh("thread")))
    for method in ("GET", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"):
        exchange = peer.post_status(body, method=method, credentials=NOBODY)
        expect_silence(peer, exchange, f"{method} without credentials")
    search = urlencode(query(fresh(), fresh("thread")))
    exchange = peer.send("GET", f"{peer.session.facts.status_url}?{search}", credentials=NOBODY)
    expect_silence(peer, exchange, "GET with the ids in the query string, without credentials")
    override = (*JSON, ("X-HTTP-Method-Override", "POST"))
    exchange = peer.post_status(body, method="GET", headers=override, credentials=NOBODY)
    expect_silence(peer, exchange, "a method override without credentials")
    facts = peer.session.facts
    for title, target in spellings(urlsplit(facts.status_url).path):
        exchange = peer.post_status(body, target=target, credentials=NOBODY)
        expect_silence(peer, exchange, f"the path {title}, without credentials")
    for name, value in (
        ("X-Forwarded-For", "127.0.0.1"),
        ("X-Real-IP", "127.0.0.1"),
        ("X-Original-URL", urlsplit(facts.discovery_url).path),
    ):
        exchange = peer.post_status(body, headers=(*JSON, (name, value)), credentials=NOBODY)
        expect_silence(peer, exchange, f"{name} without credentials")


def ask_about_live(peer: Peer) -> None:
    """Questions with forged credentials about a live call: no answer, and the call brings its result."""
    call, twin = (peer.invoke("pending") for _ in range(2))
    peer.patience.pace(peer.slack)
    asked = [
        (title, ask_as(peer, forged(peer, headers), call)) for title, headers in forgeries(need_headers(peer))
    ]
    for title, exchange in asked:
        expect_silence(peer, exchange, f"{title}, about a live call")
    peer.need_result(twin)
    lasts = peer.session.tool("pending").seconds or 0.0
    peer.expect(
        call.mailbox.until(lambda _: call.result, lasts + peer.race),
        "a result, as for a call that no stranger asked about",
        "none",
        asked[-1][1],
        case="a rejected question changes the call",
        absence=True,
    )


@scenario(
    "TCS034",
    control=Control("the same query with the right credentials is answered", need_answer),
    overlap=True,
)
def test_rejected_as_such(peer: Peer) -> None:
    """Missing or wrong credentials get 401 with WWW-Authenticate, or 403."""
    rejected = False
    for title, headers in forgeries(need_headers(peer)):
        if title not in {"no credentials", "a wrong credential"}:
            continue
        exchange = ask_as(peer, forged(peer, headers))
        challenged = exchange.status == 401 and exchange.header("www-authenticate") is not None
        if reveals(exchange) and exchange.status != 403 and not challenged:
            peer.note(f"{title}: accepted, which TCS011 is about")
            continue
        rejected = True
        got = str(exchange.failure or f"status {exchange.status}")
        peer.expect(
            exchange.status == 403 or challenged,
            "401 with WWW-Authenticate, or 403",
            "401 without WWW-Authenticate" if exchange.status == 401 else got,
            exchange,
            case=title,
        )
    if not rejected:
        raise Untested("no wrong credential is rejected, which TCS011 is about")


@scenario(
    "TCS035", control=Control("the right secret in its right place is accepted", need_answer), overlap=True
)
def test_strict_credentials(peer: Peer) -> None:
    """The right secret in the wrong place, or beside a wrong one, is rejected."""
    path = urlsplit(peer.session.facts.status_url).path
    ours = need_headers(peer)

    def ask(headers: Headers, search: str) -> Exchange:
        target = f"{path}?{search}" if search else None
        body = encode(query(fresh(), fresh("thread")))
        return peer.post_status(body, credentials=forged(peer, headers), target=target)

    def without_secret(text: str) -> str:
        for _, value in ours:
            text = text.replace(split(value)[1] or value, "rapc-wrong-credential")
        return text

    strict = False
    for title, headers, search in loose(ours):
        exchange = ask(headers, search)
        if reveals(exchange):
            wrong = tuple((name, without_secret(value)) for name, value in headers)
            if reveals(ask(wrong, without_secret(search))):
                peer.note(f"{title}: a wrong one is accepted there as well, which TCS011 is about")
                continue
        strict = True
        peer.expect(not reveals(exchange), "a rejection", "an answer about the call", exchange, case=title)
    if not strict:
        raise Untested("wrong credentials are accepted everywhere, which TCS011 is about")


@scenario("TCS037", control=Control("to the identity that made it the call is alive"), overlap=True)
def test_own_calls_only(peer: Peer) -> None:
    """Another identity neither learns that our call is alive nor can cancel it."""
    other = peer.session.other
    unknown = peer.ask(fresh(), fresh("thread"), credentials=other)
    if not reveals(unknown):
        own = peer.invoke("pending", other=True)
        peer.patience.pace(peer.slack)
        if not reveals(peer.ask_about(own)):
            raise Untested("the second identity gets no status answers")
    call = peer.invoke("pending")
    peer.patience.pace(peer.slack)
    known = means_alive(until_alive(peer, call))
    asked = peer.ask_about(call, credentials=other)
    cancelled = peer.session.notify("cancel_tool_call", query(call.id, call.thread), other)
    lasts = peer.session.tool("pending").seconds or 0.0
    ended = call.mailbox.until(lambda _: call.result, lasts * 2 + peer.race)
    peer.controlled(
        known, "the call, asked about by its own identity, is never alive, which TCS005 and TCS007 are about"
    )
    with peer.part("another identity asks"):
        if means_alive(unknown):
            raise Untested("to the second identity unknown calls are alive, which TCS004 is about")
        peer.expect(
            not means_alive(asked),
            "`alive: false`",
            "`alive: true`",
            asked,
            case="another identity asks about a live call",
        )
    with peer.part("another identity cancels"):
        if cancelled is None:
            raise NotApplicable("the server takes no cancellations")
        peer.expect(
            ended,
            "a cancellation by another identity leaves the call alone",
            "the call never brought its result",
            cancelled,
            case="another identity cancels a call",
            absence=True,
        )
