"""The status check's answers: their form, and what they say of calls that are not live.

Specification: "Tool Call Status Check", sections "Response" and "Query Semantics".
"""

from __future__ import annotations

from rap_conformance.controls import need_alive, need_answer
from rap_conformance.corpus import (
    GENERATED,
    Check,
    ask_id,
    judge_answers,
    live,
    near_misses,
    once_alive,
    ordinary,
    smallest_of,
    subscribed,
)
from rap_conformance.evidence import Exchange
from rap_conformance.leaks import reveals
from rap_conformance.peer import Call, Peer, Question, encode, fresh, query
from rap_conformance.presence import State
from rap_conformance.scenario import NotApplicable, Untested, Violation, scenario
from rap_conformance.wire import DuplicateKey, lenient_json, means_alive, strict_json

CHARSET = (("Content-Type", "application/json; charset=utf-8"),)


def judge_form(peer: Peer, check: Check, *, whole: bool = True) -> None:
    """Judge answers about unknown ids and, where there are such tools, a live call and a subscription."""
    for title, made in (("a live call", live), ("a subscription", subscribed), ("unknown ids", ordinary)):
        with peer.part(title):
            answers = made(peer)
            if whole and not any(answered(exchange) for _, exchange in answers):
                raise Untested("no answer with a 2xx status, whose form could be judged")
            judge_answers(peer, answers, check)


def answered(exchange: Exchange) -> bool:
    """Whether there is a whole answer with a 2xx status, whose form can be judged."""
    return exchange.failure is None and exchange.status is not None and 200 <= exchange.status < 300


@scenario("TCS001", overlap=True)
def test_ok_json(peer: Peer) -> None:
    """Exactly 200, and JSON in the body."""

    def check(exchange: Exchange) -> tuple[str, str] | None:
        if exchange.failure is not None:
            return "status 200 with a JSON body", str(exchange.failure)
        if exchange.status != 200:
            return "status 200", f"status {exchange.status}"
        if exchange.truncated:
            return "a JSON body", "a body of more than 1 MiB"
        if lenient_json(exchange.response_body) is None and exchange.response_body.strip() != b"null":
            return "a JSON body", f"{exchange.response_body[:80]!r}"
        return None

    judge_form(peer, check, whole=False)


@scenario("TCS002", overlap=True)
def test_media_type(peer: Peer) -> None:
    """Declared as application/json, in UTF-8, without a byte order mark."""

    def check(exchange: Exchange) -> tuple[str, str] | None:
        if not answered(exchange):
            return None
        declared = exchange.header("content-type")
        if (declared or "").split(";")[0].strip().lower() != "application/json":
            return (
                "Content-Type: application/json",
                f"Content-Type: {declared}" if declared else "no Content-Type",
            )
        if exchange.response_body.startswith(b"\xef\xbb\xbf"):
            return "no byte order mark", "a body that starts with one"
        try:
            exchange.response_body.decode("utf-8")
        except UnicodeDecodeError as error:
            return "UTF-8", f"a byte that is not UTF-8 at position {error.start}"
        return None

    judge_form(peer, check)


@scenario("TCS003", overlap=True)
def test_alive_boolean(peer: Peer) -> None:
    """One JSON object whose `alive` is true or false."""

    def check(exchange: Exchange) -> tuple[str, str] | None:
        if not answered(exchange):
            return None
        body = exchange.response_body.removeprefix(b"\xef\xbb\xbf")
        try:
            value = strict_json(body)
        except (DuplicateKey, UnicodeDecodeError):
            value = lenient_json(body)  # these two are TCS036's and TCS002's
        except ValueError:
            return "one JSON object and nothing else", f"{body[:80]!r}"
        if not isinstance(value, dict):
            return "a JSON object", f"{body[:80]!r}"
        if "alive" not in value:
            return "a member `alive`", f"{body[:80]!r}"
        if not isinstance(value["alive"], bool):
            return "`alive` is true or false", f"`alive` is {value['alive']!a:.60}"
        return None

    judge_form(peer, check)


@scenario("TCS004", overlap=True)
def test_unknown_not_alive(peer: Peer) -> None:
    """Ids nobody ever invoked are not alive, however much they resemble one that is."""

    def claims(exchange: Exchange) -> bool:
        return means_alive(exchange) is True

    def check(case: str, exchange: Exchange) -> None:
        if claims(exchange):
            peer.report(Violation("`alive: false`", "`alive: true`", exchange, case=case))

    need_answer(peer)
    with peer.part("near misses of a live id"):
        call_id = fresh()
        questions: list[Question] = [("the live call itself", once_alive(peer))]
        questions += [
            (f"a live call's id {title}", ask_id(peer, variant)) for title, variant in near_misses(call_id)
        ]
        questions.append(("an unknown id in a thread with a live call", ask_id(peer, fresh())))
        questions.append(
            ("a live call's thread id as the call's", lambda call: peer.ask(call.thread, call.thread))
        )
        (_, control), *answers = peer.while_pending(questions, id=call_id)[1]
        for case, exchange in answers:
            check(case, exchange)
        if not claims(control):
            raise Untested("the live call itself is not alive, which TCS005 is about")
    with peer.part("beside a subscription"):
        subscription = peer.invoke("subscription")
        peer.need_result(subscription)
        for title, unknown in (
            ("an unknown id", fresh()),
            ("its id cut by one character", subscription.id[:-1]),
        ):
            check(f"{title} in a thread with a subscription", peer.ask(unknown, subscription.thread))
        known = claims(peer.ask_about(subscription))
        peer.cancel(subscription)
        need_alive(known, "the subscription")
    with peer.part("unknown ids"):
        asked = ordinary(peer)
        if all(means_alive(exchange) is None for _, exchange in asked):
            raise Untested("no answer about an unknown id could be read")
        for case, exchange in asked:
            if case != GENERATED:
                check(case, exchange)
        wrong = next((e for case, e in asked if case == GENERATED and claims(e)), None)
        if wrong is not None:
            check(GENERATED, smallest_of(peer, "ordinary", claims, wrong))


@scenario("TCS017")
def test_beside_discovery(peer: Peer) -> None:
    """Where discovery is below a path prefix, so is the status endpoint."""
    facts = peer.session.facts
    prefix = facts.base.split("://", 1)[1].partition("/")[2]
    if not prefix:
        raise NotApplicable("the base URL has no path prefix")
    if facts.status_at_root_only:
        raise Violation(
            f"an answer at {facts.base}/tool_call_status",
            "an answer at the host's root only",
            peer.ask(fresh(), fresh("thread")),
            peer.send("POST", f"{facts.base}/tool_call_status", encode(query(fresh(), fresh("thread")))),
            case="status at the host's root",
        )
    if facts.status.state is not State.PRESENT:
        raise NotApplicable("the server has no /tool_call_status")


@scenario("TCS018")
def test_implemented(peer: Peer) -> None:
    """A server that works asynchronously has the endpoint."""
    presence = peer.session.facts.status
    if presence.state is State.PRESENT:
        return
    if presence.state is not State.ABSENT:
        raise Untested(f"/tool_call_status: {presence.reason}")
    if peer.config.features.get("status") is False:
        raise NotApplicable("the configuration declares that there is none (features.status = false)")
    exchange = peer.ask(fresh(), fresh("thread"))
    raise Violation(
        "a server that answers POST /tool_call_status",
        f"none: {presence.reason}; a restarted runtime gives up every call that is pending here",
        exchange,
        case="no status endpoint",
    )


@scenario("TCS020", overlap=True)
def test_thread_scoped(peer: Peer) -> None:
    """A live id under another thread's id is not that call."""
    other = fresh("thread")
    questions: list[Question] = [
        ("the live call itself", once_alive(peer)),
        ("a live id under an unknown thread", lambda call: peer.ask(call.id, other)),
        ("a live id with its own id as the thread", lambda call: peer.ask(call.id, call.id)),
        ("a live id with a near miss of its thread", lambda call: peer.ask(call.id, call.thread[:-1])),
    ]
    (_, control), *answers = peer.while_pending(questions)[1]
    for case, exchange in answers:
        if means_alive(exchange):
            peer.report(Violation("`alive: false`", "`alive: true`", exchange, case=case))
    need_alive(means_alive(control))


@scenario("TCS023")
def test_post_only(peer: Peer) -> None:
    """Other methods are refused as such."""
    need_answer(peer)
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        exchange = peer.send(method, peer.session.facts.status_url)
        case = f"{method} instead of POST"
        if exchange.status == 404 or (exchange.status == 405 and exchange.header("allow")):
            continue
        got = exchange.failure or f"status {exchange.status}"
        if exchange.status == 405:
            got = "405 without Allow"
        peer.report(Violation("405 with Allow, or 404", str(got), exchange, case=case))


@scenario("TCS028", overlap=True)
def test_unknown_fields_ignored(peer: Peer) -> None:
    """What a status check carries beyond its two ids changes nothing and runs nothing."""

    def extended(call: Call) -> bytes:
        return encode({**query(call.id, call.thread), "x-rapc": {"nested": [1, None]}, "alive": False})

    with peer.part("a live call"):
        questions = [
            ("the plain query", once_alive(peer)),
            ("additional members", lambda call: peer.post_status(extended(call))),
            ("a charset parameter", lambda call: peer.ask(call.id, call.thread, headers=CHARSET)),
        ]
        answers = dict(peer.while_pending(questions)[1])
        plain = answers.pop("the plain query")
        for case, exchange in answers.items():
            if means_alive(exchange) is not means_alive(plain):
                peer.report(
                    Violation(
                        "the answer to the plain query",
                        f"another one: status {exchange.status}, {exchange.response_body[:60]!r}",
                        plain,
                        exchange,
                        case=case,
                    )
                )
        need_alive(means_alive(plain))
    with peer.part("an invocation's fields"):
        tool = peer.session.tool("quick")
        control = peer.invoke("quick")
        took = peer.need_result(control).arrived - control.sent
        box = peer.session.receiver.mailbox()
        call_id, thread = fresh(), fresh("thread")
        body = {
            **query(call_id, thread),
            "operation": tool.operation,
            "arguments": dict(tool.arguments),
            "id": call_id,
            "group_id": thread,
            "callback_url": box.url,
        }
        plain = peer.ask(fresh(), fresh("thread"))
        exchange = peer.post_status(encode(body))
        ran = box.until(lambda arrived: arrived, max(1.0, 4 * took))
        if ran:
            raise Violation(
                "a status check and nothing more",
                "the tool ran and called back",
                exchange,
                ran[0].exchange,
                case="an invocation's fields in a status check",
            )
        if means_alive(exchange) and not means_alive(plain):
            raise Violation(
                "`alive: false`", "`alive: true`", exchange, case="an unknown id with an invocation's fields"
            )
        if not reveals(plain):
            raise Untested(f"the control, the plain query, gets no status answer (status {plain.status})")


@scenario("TCS032", overlap=True)
def test_alive_alone(peer: Peer) -> None:
    """No member but `alive`."""

    def check(exchange: Exchange) -> tuple[str, str] | None:
        value = lenient_json(exchange.response_body)
        if not answered(exchange) or not isinstance(value, dict) or not set(value) - {"alive"}:
            return None
        names = ", ".join(ascii(key)[:40] for key in list(value)[:5] if key != "alive")
        return "`alive` alone", f"also {names}"

    judge_form(peer, check)


@scenario("TCS036", overlap=True)
def test_unique_keys(peer: Peer) -> None:
    """No key twice."""

    def check(exchange: Exchange) -> tuple[str, str] | None:
        if not answered(exchange):
            return None
        try:
            strict_json(exchange.response_body.removeprefix(b"\xef\xbb\xbf"))
        except DuplicateKey as error:
            return "each key once", f"twice: {str(error)[:60]}"
        except ValueError:
            return None
        return None

    judge_form(peer, check)
