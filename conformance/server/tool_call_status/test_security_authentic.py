"""The status check is for authentic callers only.

Specification: "Tool Call Status Check", section "Security Considerations".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import urlencode, urlsplit

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import NotApplicable, Untested, Violation, scenario
from rap_conformance.network.credentials import NOBODY
from rap_conformance.protocol.forgeries import SMUGGLING, claims, more_claims, spellings
from rap_conformance.protocol.leaks import reveals
from rap_conformance.protocol.messages import JSON, encode, fresh, query
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import ended, until_alive
from rap_conformance.server.beside import in_parts
from rap_conformance.server.call import Call
from rap_conformance.server.connections import after_us, before_us, conversations, spoilt
from rap_conformance.server.corpus import live
from rap_conformance.server.manners import takes_chunks
from rap_conformance.server.merit import Ask, ask_as, on_merit, unhurried, wait_out
from rap_conformance.server.peer import Peer
from rap_conformance.server.states import subscribed
from rap_conformance.server.strangers import Stranger, identity, plainly_wrong, strangers
from rap_conformance.server.tempo import batched

MOST_CALLS = 4
"""Pairs of calls that strangers ask about; a lock-out may last longer than a call."""


@scenario("TCS011", control=Control("the same query with the right credentials is answered"))
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
    in_parts(
        peer,
        {
            "credentials": ask_with_credentials,
            "methods, spellings and what a proxy says": ask_elsewhere,
            "a live call": ask_about_live,
            "a subscription": ask_about_subscription,
            "a kept connection": ask_on_kept_connections,
        },
    )


def ask_with_credentials(peer: Peer) -> None:
    """Questions about unknown calls with forged credentials."""
    for title, exchange in on_merit(peer, (asking(peer, stranger) for stranger in strangers(peer))):
        expect_silence(peer, exchange, title)


def ask_elsewhere(peer: Peer) -> None:
    """Questions without credentials, by other ways in."""
    for case, exchange in on_merit(peer, elsewhere(peer)):
        expect_silence(peer, exchange, case)


def asking(peer: Peer, stranger: Stranger) -> Ask[Exchange]:
    """The question of one stranger about an unknown call."""
    title, caller = stranger
    return title, lambda: ask_as(peer, caller)


def expect_silence(peer: Peer, exchange: Exchange, case: str, *before: Exchange) -> None:
    """A caller who is not authentic is told nothing. A 4xx, a redirect, a refused connection: all will do."""
    peer.expect(
        not reveals(exchange),
        "no answer to a caller who is not authentic",
        "a boolean `alive`",
        exchange,
        *before,
        case=case,
    )


def elsewhere(peer: Peer) -> Iterator[Ask[Exchange]]:
    """Without credentials: other methods, spellings of the path, and headers that some servers trust."""
    body = encode(query(fresh(), fresh("thread")))
    facts = peer.session.facts
    path, open_path = (urlsplit(url).path for url in (facts.status_url, facts.discovery_url))

    def post(**how: Any) -> Callable[[], Exchange]:
        return lambda: unhurried(
            peer, lambda: peer.post_status(body, credentials=NOBODY, patient=False, **how)
        )

    for method in ("GET", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"):
        yield f"{method} without credentials", post(method=method)
    override = (*JSON, ("X-HTTP-Method-Override", "POST"))
    yield "a method override without credentials", post(method="GET", headers=override)
    search = f"{path}?{urlencode(query(fresh(), fresh('thread')))}"
    yield "GET with the ids in the query string, without credentials", post(method="GET", target=search)
    for title, target in spellings(path):
        yield f"the path {title}, without credentials", post(target=target)
    user = next((p.basic.partition(b":")[0].decode("latin-1") for p in identity(peer).pieces if p.basic), "")
    for name, value in claims(open_path, user or "admin"):
        if name.lower() not in {piece.header.lower() for piece in identity(peer).pieces}:
            yield f"{name} without credentials", post(headers=(*JSON, (name, value)))
    ours = {piece.header.lower() for piece in identity(peer).pieces} - {"authorization", "cookie"}
    port = urlsplit(facts.status_url).port
    for title, claimed in more_claims(f":{port}" if port else ""):
        told = tuple((name, value) for name, value in claimed if name.lower() not in ours)
        yield f"{title}, and no credentials", post(headers=(*JSON, *told))
    yield "JSON declared as text/plain, without credentials", post(headers=(("Content-Type", "text/plain"),))
    if takes_chunks(peer):
        chunks = body[:20], body[20:]
        yield (
            "a chunked body, without credentials",
            lambda: unhurried(peer, lambda: peer.post_status(chunks, credentials=NOBODY, patient=False)),
        )
    for name in SMUGGLING:
        smuggled = (*JSON, (name, path))
        case = f"the path in {name} at an open one, without credentials"
        yield case, post(headers=smuggled, target=open_path)


def ask_about_live(peer: Peer) -> None:
    """Questions with forged credentials about a live call: no answer, and the call brings its result."""
    waiting = strangers(peer)
    for _ in range(MOST_CALLS):
        call, twin = (peer.invoke("pending") for _ in range(2))
        peer.patience.pace(peer.slack)
        asked = strangers_about(peer, call, waiting)
        waiting = waiting[len(asked) :]
        for (title, _), exchange in asked:
            expect_silence(peer, exchange, f"{title}, about a live call")
        peer.need_result(twin)
        lasts = peer.session.tool("pending").seconds or 0.0
        peer.expect(
            call.mailbox.until(brought(call), lasts + peer.race),
            "a result, as for a call that no stranger asked about",
            "none",
            *(exchange for _, exchange in reversed(asked)),
            case="a rejected question changes the call",
            absence=True,
        )
        wait_out(peer)
        if not waiting:
            return
    peer.note(f"not asked about a live call, which ended too soon: {', '.join(t for t, _ in waiting)}")


def ask_about_subscription(peer: Peer) -> None:
    """Questions about a subscription, which a server may look up elsewhere."""
    call = subscribed(peer)
    callers = {"no credentials": NOBODY, "a wrong credential": plainly_wrong(peer)}
    asks = [(title, lambda caller=caller: ask_as(peer, caller, call)) for title, caller in callers.items()]
    for title, exchange in on_merit(peer, asks):
        expect_silence(peer, exchange, f"{title}, about a subscription")
    peer.cancel(call)


def brought(call: Call) -> Callable[[object], object]:
    """A condition: the call has brought its result."""
    return lambda _: call.result


def strangers_about(peer: Peer, call: Call, waiting: list[Stranger]) -> list[tuple[Stranger, Exchange]]:
    """What strangers are told about a call, as many as can ask before it ends or they are shut out."""
    recovery = peer.session.recovery
    asked: list[tuple[Stranger, Exchange]] = []
    tempo = peer.session.tempo
    for some in batched(waiting, 1 if recovery.locks_out else tempo.sides):
        if asked and (ended(call) or (recovery.locks_out and not recovery.is_over())):
            break
        asks = [partial(ask_as, peer, caller, call) for _, caller in some]
        asked += zip(some, tempo.at_once(asks), strict=True)
    return asked


def ask_on_kept_connections(peer: Peer) -> None:
    """What was sent on a connection changes nothing for the next: neither who asks nor what is asked."""
    if not identity(peer).pieces:
        raise NotApplicable("what identifies us is the connection's own certificate")
    for pair, exchanges in conversations(peer, before_us(peer)):
        if spoilt(peer, exchanges):
            # A lock-out may have begun in between; after it the same says more.
            exchanges = next(each for _, each in conversations(peer, [pair]))
        peer.expect(
            not spoilt(peer, exchanges),
            "the ordinary answer to an ordinary query, whatever was rejected before it",
            f"{exchanges[-1].failure or f'status {exchanges[-1].status}'}: the rejected one is not over",
            *reversed(exchanges),
            case=f"an ordinary query on one connection after {pair.case}",
        )
    for pair, exchanges in conversations(peer, after_us(peer)):
        if len(exchanges) == 2:
            case = f"{pair.case}, on a connection that we used before"
            expect_silence(peer, exchanges[1], case, exchanges[0])
        else:
            peer.judged()


def asked_in_time(peer: Peer) -> tuple[Call, bool]:
    """A pending call, and whether it is alive. Another one if it ended first: a limit may make us wait."""
    tries = MOST_CALLS
    while True:
        call, tries = peer.invoke("pending"), tries - 1
        peer.patience.pace(peer.slack)
        known = means_alive(until_alive(peer, call)) is True
        if known or not tries or not call.results:
            return call, known


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
    call, known = asked_in_time(peer)
    asked = peer.ask_about(call, credentials=other)
    cancelled = peer.session.notify("cancel_tool_call", query(call.id, call.thread), other)
    ended = peer.result_of(call, call.seconds * 2 + peer.race)
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
