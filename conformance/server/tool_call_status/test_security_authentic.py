"""The status check is for authentic callers only, and a rejection tells nothing.

Specification: "Tool Call Status Check", section "Security Considerations".
"""

from __future__ import annotations

from urllib.parse import urlsplit

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange, Headers
from rap_conformance.engine.scenario import NotApplicable, Untested, Violation, scenario
from rap_conformance.network.probe import NOBODY
from rap_conformance.protocol.forgeries import forgeries, loose, spellings, split
from rap_conformance.protocol.leaks import reveals
from rap_conformance.protocol.messages import JSON, encode, fresh, query
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import until_alive
from rap_conformance.server.controls import need_answer
from rap_conformance.server.corpus import live
from rap_conformance.server.peer import Peer
from rap_conformance.server.strangers import disguise, need_headers, rejected_asking


@scenario("TCS011", control=Control("the same query with the right credentials is answered"), overlap=True)
def test_authentic_only(peer: Peer) -> None:
    """Only an authentic caller learns anything, whatever the credential, method or spelling of the path."""
    if peer.config.auth.none:
        raise NotApplicable("the configuration declares a trusted network without authentication (--no-auth)")

    def check(case: str, exchange: Exchange) -> None:
        if reveals(exchange):
            peer.report(
                Violation(
                    "no answer to a caller who is not authentic", "a boolean `alive`", exchange, case=case
                )
            )

    if not peer.authenticated:
        exchange = rejected_asking(peer, NOBODY)
        if reveals(exchange):
            raise Violation(
                "no answer without credentials (or --no-auth, which declares a trusted network)",
                "a boolean `alive`",
                exchange,
                case="no credentials",
            )
        raise Untested("no credentials are configured; give --auth-header or [auth]")
    control = peer.ask(fresh(), fresh("thread"))
    if not reveals(control) and not any(reveals(exchange) for _, exchange in live(peer)):
        raise Untested(f"the authentic control request got no status answer (status {control.status})")
    with peer.part("credentials"):
        for title, headers in forgeries(need_headers(peer)):
            check(title, rejected_asking(peer, disguise(peer, headers)))
    with peer.part("methods and spellings"):
        body = encode(query(fresh(), fresh("thread")))
        for method in ("GET", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"):
            check(f"{method} without credentials", peer.post_status(body, method=method, credentials=NOBODY))
        override = (*JSON, ("X-HTTP-Method-Override", "POST"))
        check(
            "a method override without credentials",
            peer.post_status(body, method="GET", headers=override, credentials=NOBODY),
        )
        for title, target in spellings(urlsplit(peer.session.facts.status_url).path):
            check(
                f"the path {title}, without credentials",
                peer.post_status(body, target=target, credentials=NOBODY),
            )
        for name in ("X-Forwarded-For", "X-Real-IP", "X-Original-URL"):
            value = (
                "127.0.0.1" if name != "X-Original-URL" else urlsplit(peer.session.facts.discovery_url).path
            )
            check(
                f"{name} without credentials",
                peer.post_status(body, headers=(*JSON, (name, value)), credentials=NOBODY),
            )
    with peer.part("a live call"):
        call, twin = (peer.invoke("pending") for _ in range(2))
        peer.patience.pace(peer.slack)
        asked = [
            (f"{title}, about a live call", rejected_asking(peer, disguise(peer, headers), call))
            for title, headers in forgeries(need_headers(peer))
        ]
        for case, exchange in asked:
            check(case, exchange)
        peer.need_result(twin)
        if not call.mailbox.until(
            lambda _: call.result, (peer.session.tool("pending").seconds or 0.0) + peer.race
        ):
            raise Violation(
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
    wrong = [
        each for each in forgeries(need_headers(peer)) if each[0] in {"no credentials", "a wrong credential"}
    ]
    accepted = 0
    for title, headers in wrong:
        exchange = rejected_asking(peer, disguise(peer, headers))
        if exchange.status == 403 or (
            exchange.status == 401 and exchange.header("www-authenticate") is not None
        ):
            continue
        if reveals(exchange):
            peer.note(f"{title}: accepted, which TCS011 is about")
            accepted += 1
            continue
        got = str(exchange.failure or f"status {exchange.status}")
        if exchange.status == 401:
            got = "401 without WWW-Authenticate"
        peer.report(Violation("401 with WWW-Authenticate, or 403", got, exchange, case=title))
    if accepted == len(wrong):
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
        return peer.post_status(body, credentials=disguise(peer, headers), target=target)

    def spoilt(text: str) -> str:
        for _, value in ours:
            text = text.replace(split(value)[1] or value, "rapc-wrong-credential")
        return text

    judged = 0
    for title, headers, search in loose(ours):
        exchange = ask(headers, search)
        if not reveals(exchange):
            judged += 1
            continue
        if reveals(ask(tuple((name, spoilt(value)) for name, value in headers), spoilt(search))):
            peer.note(f"{title}: a wrong one is accepted there as well, which TCS011 is about")
            continue
        judged += 1
        peer.report(Violation("a rejection", "an answer about the call", exchange, case=title))
    if not judged:
        raise Untested("wrong credentials are accepted everywhere, which TCS011 is about")


@scenario("TCS037", control=Control("to the identity that made it the call is alive"), overlap=True)
def test_own_calls_only(peer: Peer) -> None:
    """Another identity neither learns that our call is alive nor can cancel it."""
    other = peer.session.other
    if not other:
        raise Untested("no second identity is configured; give [auth.other]")
    control = peer.ask(fresh(), fresh("thread"), credentials=other)
    if not reveals(control):
        own = peer.invoke("pending", other=True)
        peer.patience.pace(peer.slack)
        if not reveals(peer.ask_about(own)):
            raise Untested("the second identity gets no status answers")
    call = peer.invoke("pending")
    peer.patience.pace(peer.slack)
    known = means_alive(until_alive(peer, call))
    asked = peer.ask_about(call, credentials=other)
    cancelled = peer.session.notify("cancel_tool_call", query(call.id, call.thread), other)
    if means_alive(asked) and not means_alive(control):
        peer.report(
            Violation(
                "`alive: false`", "`alive: true`", asked, case="another identity asks about a live call"
            )
        )
    lasts = peer.session.tool("pending").seconds or 0.0
    if call.mailbox.until(lambda _: call.result, lasts * 2 + peer.race) or cancelled is None:
        peer.need_result(call)
        peer.controlled(
            known,
            "the call, asked about by its own identity, is never alive, which TCS005 and TCS007 are about",
        )
        return
    peer.report(
        Violation(
            "a cancellation by another identity leaves the call alone",
            "the call never brought its result",
            cancelled,
            case="another identity cancels a call",
            absence=True,
        )
    )
