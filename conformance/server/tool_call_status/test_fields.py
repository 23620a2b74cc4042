"""The status check's answers: their form, and what they say of calls that are not live.

Specification: "Tool Call Status Check", sections "Response" and "Query Semantics".
"""

from __future__ import annotations

from unicodedata import normalize

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Trouble, Untested, Violation, scenario
from rap_conformance.protocol.leaks import reveals
from rap_conformance.protocol.messages import encode, fresh, query
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import POLL, attempts_of, known_alone
from rap_conformance.server.call import Call
from rap_conformance.server.corpus import (
    ask_id,
    once_alive,
)
from rap_conformance.server.peer import Peer, Question

CHARSET = (("Content-Type", "application/json; charset=utf-8"),)


@scenario("TCS020", control=Control("the live id under its own thread's id is alive"), overlap=True)
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
    peer.controlled(
        means_alive(control), "the live call itself is never alive, which TCS005 and TCS007 are about"
    )


@scenario(
    "TCS028",
    control=Control("to the plain query the live call is alive; an invocation runs the tool"),
    overlap=True,
)
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
        peer.controlled(
            means_alive(plain), "the live call itself is never alive, which TCS005 and TCS007 are about"
        )
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


@scenario(
    "TCS021",
    control=Control("two calls with different ids, made and ended alike, are told apart"),
    overlap=True,
)
def test_same_id_two_threads(peer: Peer) -> None:
    """One id in two threads is two calls. Judged beside calls of other ids: only the namesakes count."""
    for _ in range(3):
        if namesakes(peer):
            return
    raise Untested("the pending call ended before its namesake; let scenario.pending last longer")


def namesakes(peer: Peer) -> bool:
    """Let one of two calls with one id end; false if the other ended before that could be told."""
    twin, pending = (peer.invoke("pending") for _ in range(2))  # what comes with age befalls the twin first
    peer.patience.pace(peer.slack)
    began = peer.patience.now()
    if not known_alone(peer, pending):
        if pending.results and pending.results[0].arrived < began + peer.slack:
            return False
        raise Untested("the pending call was never alive")
    quick, other = peer.invoke("quick", id=pending.id), peer.invoke("quick")
    for call in (quick, other):
        if not call.mailbox.until(attempts_of(call, 1), peer.grace):
            raise Untested("the quick call brought no result")
    pairs: list[tuple[Exchange, Exchange]] = []
    end = peer.patience.now() + 0.6
    while not pending.results and peer.patience.now() < end:
        pairs.append((peer.ask_about(pending), peer.ask_about(twin)))
        peer.patience.pace(POLL)
    ended, control = peer.ask_about(quick), peer.ask_about(other)
    try:
        over = min(peer.need_result(call).arrived for call in (pending, twin)) - peer.slack
    except Untested as missing:
        raise Untested(f"{missing}, after a call of the same id in another thread had ended") from None
    sure = [(mine, theirs) for mine, theirs in pairs if theirs.ended < over and means_alive(theirs)]
    if not sure:
        return False
    denied = [mine for mine, _ in sure if means_alive(mine) is not True]
    if len(denied) > 1:
        peer.report(
            Violation(
                "`alive: true` for the pending call, as for one of another id",
                "not alive, after a call of the same id in another thread ended",
                denied[0],
                case="the pending one of two calls with one id",
            )
        )
    if means_alive(ended) and not means_alive(control) and ended.ended < over:
        peer.report(
            Violation(
                "`alive: false` for the call that ended, as for one of another id",
                "`alive: true`, as for its namesake in another thread",
                ended,
                case="the ended one of two calls with one id",
            )
        )
    return True


@scenario("TCS030", control=Control("the live id, exactly, is alive"), overlap=True)
def test_exact_match(peer: Peer) -> None:
    """A live id padded with white space, or in another Unicode form, is another id."""
    call_id = f"{fresh()}-\u00e9\u212b\ufb01"
    try:
        _, answers = peer.while_pending(_disguised(peer, call_id), id=call_id)
    except Trouble:
        peer.note("not exercised: Unicode forms (the server takes no invocation whose id is not ASCII)")
        call_id = fresh()
        _, answers = peer.while_pending(_disguised(peer, call_id), id=call_id)
    (_, control), *others = answers
    for case, exchange in others:
        if means_alive(exchange):
            peer.report(Violation("`alive: false`", "`alive: true`", exchange, case=case))
    peer.controlled(
        means_alive(control), "the live call itself is never alive, which TCS005 and TCS007 are about"
    )


def _disguised(peer: Peer, call_id: str) -> list[Question]:
    """Questions about a live id itself, and about what looks like it and is another one."""
    variants = {
        "with a space before": f" {call_id}",
        "with a space after": f"{call_id} ",
        "with a line feed after": f"{call_id}\n",
        "with a tab before": f"\t{call_id}",
        "with a NUL after": f"{call_id}\0",
        "with a zero-width space after": f"{call_id}\u200b",
        "with a no-break space after": f"{call_id}\u00a0",
        **{f"in Unicode form {form}": normalize(form, call_id) for form in ("NFC", "NFD", "NFKC", "NFKD")},
    }
    others = [(how, other) for how, other in variants.items() if other != call_id]
    control: Question = ("the live call itself", once_alive(peer))
    return [control, *((f"a live id {how}", ask_id(peer, other)) for how, other in others)]
