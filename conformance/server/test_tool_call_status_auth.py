"""The status check is for authentic callers only, and a rejection tells nothing.

Specification: "Tool Call Status Check", section "Security Considerations".
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from statistics import median
from urllib.parse import urlsplit

from rap_conformance.controls import need_alive, need_answer, seen_alive
from rap_conformance.corpus import Labelled, live
from rap_conformance.evidence import Exchange, Headers
from rap_conformance.forgeries import forgeries, loose, spellings, split
from rap_conformance.leaks import VOLATILE_HEADERS, reveals
from rap_conformance.peer import JSON, NOBODY, Call, Peer, encode, fresh, query
from rap_conformance.peers.probe import Credentials
from rap_conformance.presence import essence
from rap_conformance.scenario import NotApplicable, Untested, Violation, scenario
from rap_conformance.wire import means_alive

PAIRS, WORTH_TELLING, IMPROBABLE = 40, 0.010, 1e-6


def need_headers(peer: Peer) -> Headers:
    """The configured credential headers, which forgeries start from."""
    credentials = peer.need_credentials()
    if not credentials.headers:
        raise Untested("the credentials are not headers, so no forged ones can be made")
    return credentials.headers


def disguise(peer: Peer, headers: Headers) -> Credentials:
    """Credentials that are not ours, hidden in reports like ours."""
    for _, value in headers:
        if len(value) >= 8:
            peer.session.redactor.learn(value)
    return Credentials(headers)


def rejected_asking(peer: Peer, credentials: Credentials, call: Call | None = None) -> Exchange:
    """The status check by somebody who is not authentic, about a live call or an unknown one."""
    if call is None:
        return peer.ask(fresh(), fresh("thread"), credentials=credentials)
    return peer.ask(call.id, call.thread, credentials=credentials)


@scenario("TCS011", overlap=True)
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


def rejections(peer: Peer) -> list[tuple[str, list[Exchange], list[Exchange]]]:
    """For each kind of rejected caller: rejections about a live call, and about unknown ones around them.

    So a header that changes with time alone changes for the unknown ones as well.
    """
    kinds = [("no credentials", NOBODY)]
    wrong = [(name, f"{value.partition(' ')[0]} rapc-wrong-credential") for name, value in need_headers(peer)]
    kinds.append(("wrong credentials", Credentials(tuple(wrong))))
    questions = []
    for title, who in kinds:
        for number in range(3):
            questions.append((f"{title}/unknown/{number}", lambda _, w=who: rejected_asking(peer, w)))
            questions.append((f"{title}/live/{number}", lambda call, w=who: rejected_asking(peer, w, call)))
        questions.append((f"{title}/unknown/last", lambda _, w=who: rejected_asking(peer, w)))
    answers: list[Labelled] = peer.while_pending(questions)[1]
    return [
        (
            title,
            [e for case, e in answers if case.startswith(f"{title}/live")],
            [e for case, e in answers if case.startswith(f"{title}/unknown")],
        )
        for title, _ in kinds
    ]


def features(exchange: Exchange) -> dict[str, object]:
    """What an observer of a rejection sees, by name; without the ids that were asked about."""
    import json

    try:
        asked = [str(value) for value in json.loads(exchange.request_body).values()]
    except ValueError:
        asked = []
    status, media, body = essence(exchange, *asked)
    seen: dict[str, object] = {
        "status": status,
        "media type": media,
        "body": body,
        "failure": exchange.failure,
    }
    for name, value in exchange.response_headers:
        if name.lower() not in VOLATILE_HEADERS:
            seen[f"header {name.lower()}"] = value
    return seen


@scenario("TCS012", overlap=True)
def test_no_existence_oracle(peer: Peer) -> None:
    """A rejection about a live call is like one about an unknown call."""
    need_headers(peer)
    need_answer(peer)
    seen = rejections(peer)
    if list(telling(seen)):
        # What differs by chance, as between the machines behind one address, hardly does so twice.
        again = rejections(peer)
        seen = [(t, a + more[1], u + more[2]) for (t, a, u), more in zip(seen, again, strict=True)]
    for violation in telling(seen):
        peer.report(violation)


def telling(seen: list[tuple[str, list[Exchange], list[Exchange]]]) -> Iterator[Violation]:
    """Whatever all rejections about unknown calls have in common and those about a live call have not."""
    for title, alive, unknown in seen:
        ours, theirs = [features(e) for e in alive], [features(e) for e in unknown]
        names = {name for seen in (*ours, *theirs) for name in seen}
        for name in sorted(names):
            mine, other = ({repr(seen.get(name)) for seen in group} for group in (ours, theirs))
            if len(other) == 1 and mine != other:
                yield Violation(
                    f"the {name} of a rejection about an unknown call: {next(iter(other))[:80]}",
                    ", ".join(sorted(value[:80] for value in mine)),
                    next(e for e in alive if repr(features(e).get(name)) not in other),
                    unknown[0],
                    case=f"{title}: another {name.split()[0]} for a live call",
                )


@scenario("TCS024", overlap=True)
def test_even_timing(peer: Peer) -> None:
    """A rejection about a live call takes as long as one about an unknown call."""
    need_headers(peer)
    need_answer(peer)
    questions = []
    for _ in range(PAIRS):
        questions.append(("live", lambda call: rejected_asking(peer, NOBODY, call)))
        questions.append(("unknown", lambda _: rejected_asking(peer, NOBODY)))
    answers = peer.while_pending(questions)[1]
    alive = [exchange for case, exchange in answers if case == "live"]
    unknown = [exchange for case, exchange in answers if case == "unknown"]
    differences = [one.elapsed - two.elapsed for one, two in zip(alive, unknown, strict=True)]
    usual = median(differences)
    one_sided = sum((d > 0) == (usual > 0) for d in differences)
    chance = 2 * sum(comb(PAIRS, k) for k in range(one_sided, PAIRS + 1)) / 2**PAIRS
    if abs(usual) > WORTH_TELLING and chance < IMPROBABLE:
        raise Violation(
            "the same response time for live and unknown calls",
            f"{abs(usual) * 1000:.0f} ms {'more' if usual > 0 else 'less'} for a live call "
            f"(median of {PAIRS} pairs)",
            alive[-1],
            unknown[-1],
            case="response time of a rejection",
        )


@scenario("TCS034", overlap=True)
def test_rejected_as_such(peer: Peer) -> None:
    """Missing or wrong credentials get 401 with WWW-Authenticate, or 403."""
    wrong = [
        each for each in forgeries(need_headers(peer)) if each[0] in {"no credentials", "a wrong credential"}
    ]
    need_answer(peer)
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


@scenario("TCS035", overlap=True)
def test_strict_credentials(peer: Peer) -> None:
    """The right secret in the wrong place, or beside a wrong one, is rejected."""
    path = urlsplit(peer.session.facts.status_url).path
    ours = need_headers(peer)
    need_answer(peer)

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


@scenario("TCS037", overlap=True)
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
    known = seen_alive(peer, call, lambda: call.results)
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
        need_alive(known, "the call, asked about by its own identity,")
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
