"""What identifies a call: its two ids, exactly, and nothing else that a query carries.

Specification: "Tool Call Status Check", section "Request", "Fields".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from unicodedata import normalize

from rap_conformance.engine.controls import Control
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Trouble, Untested, Violation, scenario
from rap_conformance.protocol.leaks import reveals
from rap_conformance.protocol.messages import encode, fresh, invocation, query
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.asking import (
    ITSELF,
    POLL,
    Question,
    attempts_of,
    certainly_live,
    in_its_thread,
    itself,
    until_alive,
    while_live,
)
from rap_conformance.server.call import Call
from rap_conformance.server.controls import judge_resembling, need_alive
from rap_conformance.server.peer import Peer

CHARSET = (("Content-Type", "application/json; charset=utf-8"),)


@scenario("TCS020", control=Control("the live id under its own thread's id is alive"), overlap=True)
def test_thread_scoped(peer: Peer) -> None:
    """A live id under another thread's id is not that call."""
    other = fresh("thread")
    questions = (
        itself(peer),
        ("a live id under an unknown thread", lambda call: peer.ask(call.id, other)),
        ("a live id with its own id as the thread", lambda call: peer.ask(call.id, call.id)),
        ("a live id with a near miss of its thread", lambda call: peer.ask(call.id, call.thread[:-1])),
    )
    judge_resembling(peer, while_live(peer, questions))


@scenario(
    "TCS028",
    control=Control("to the plain query the live call is alive; an invocation runs the tool"),
    overlap=True,
)
def test_unknown_fields_ignored(peer: Peer) -> None:
    """What a status check carries beyond its two ids changes nothing and runs nothing."""
    with peer.part("a live call"):
        judge_additions(peer)
    with peer.part("an invocation's fields"):
        judge_invocation_fields(peer)


def judge_additions(peer: Peer) -> None:
    """More members, or a parameter of the media type, leave the answer about a live call as it is."""

    def extended(call: Call) -> Exchange:
        more = {"x-rapc": {"nested": [1, None]}, "alive": False}
        return peer.post_status(encode({**query(call.id, call.thread), **more}))

    questions = (
        itself(peer),
        ("additional members", extended),
        ("a charset parameter", lambda call: peer.ask(call.id, call.thread, headers=CHARSET)),
    )
    (_, plain), *answers = while_live(peer, questions)
    for case, exchange in answers:
        peer.expect(
            means_alive(exchange) is means_alive(plain),
            "the answer to the plain query",
            f"another one: status {exchange.status}, {exchange.response_body[:60]!r}",
            exchange,
            plain,
            case=case,
        )
    need_alive(peer, plain, ITSELF)


def judge_invocation_fields(peer: Peer) -> None:
    """A status check that carries an invocation's fields runs no tool, and makes nothing alive."""
    tool = peer.session.tool("quick")
    control = peer.invoke("quick")
    took = peer.need_result(control).arrived - control.sent
    box = peer.session.receiver.mailbox()
    call_id, thread = fresh(), fresh("thread")
    fields = invocation(tool.operation, dict(tool.arguments), call_id, thread, box.url)
    plain = peer.ask(fresh(), fresh("thread"))
    exchange = peer.post_status(encode({**fields, **query(call_id, thread)}))
    ran = box.until(lambda arrived: arrived, max(1.0, 4 * took))
    peer.expect(
        not ran,
        "a status check and nothing more",
        "the tool ran and called back",
        exchange,
        *(delivery.exchange for delivery in (ran or ())[:1]),
        case="an invocation's fields in a status check",
    )
    if not ran and not means_alive(plain):
        peer.expect(
            not means_alive(exchange),
            "`alive: false`",
            "`alive: true`",
            exchange,
            case="an unknown id with an invocation's fields",
        )
    peer.controlled(reveals(plain), f"the plain query gets no status answer (status {plain.status})")


LEAST_ASKED = 4
"""Questions about a call without which nobody can say that it was never alive."""


@scenario(
    "TCS021",
    control=Control("two calls with different ids, made and ended alike, are told apart"),
    overlap=True,
)
def test_same_id_two_threads(peer: Peer) -> None:
    """One id in two threads is two calls. Judged beside calls of other ids: only the namesakes count."""
    for _ in range(1 if peer.session.slow() else 3):  # what is late is as late the next time
        if namesakes(peer):
            return
    raise Untested("the pending call ended before its namesake; let scenario.pending last longer")


LEAST_PAIRS = 2
"""Times that both pending calls are asked about: one answer may come from where the end is not known yet."""


def namesake(peer: Peer, call: Call) -> Call:
    """A quick call that has the id of another, in a thread of its own. Raises Violation if it is refused."""
    try:
        return peer.invoke("quick", id=call.id)
    except Trouble as refused:
        peer.invoke("quick")  # raises Trouble, too, where it is not for the id
        assert call.exchange is not None
        raise Violation(
            "two calls, one in each thread",
            str(refused),
            call.exchange,
            case="a call that has the id of a live one in another thread",
        ) from None


def namesakes(peer: Peer) -> bool:
    """Let one of two calls with one id end; false if the other ended before that could be told."""
    at_once = peer.session.tempo.at_once
    # What comes with age befalls the twin first.
    twin, pending = at_once([partial(peer.invoke, "pending")] * 2)
    peer.patience.pace(peer.slack)
    began, asked = peer.patience.now(), peer.record.exchanges
    if not means_alive(until_alive(peer, pending)):
        # It ended before one could ask, or a limit made us wait until it had.
        hardly = peer.record.exchanges - asked < LEAST_ASKED
        if pending.results and (hardly or pending.results[0].arrived < began + peer.slack):
            return False
        raise Untested("the pending call was never alive")
    quick, other = at_once([partial(namesake, peer, pending), partial(peer.invoke, "quick")])
    for call in (quick, other):
        if not call.mailbox.until(attempts_of(call, 1), peer.grace):
            raise Untested("the quick call brought no result")
    pairs: list[tuple[Exchange, Exchange]] = []
    end = peer.patience.now() + 0.6
    while not pending.results and (peer.patience.now() < end or len(pairs) < LEAST_PAIRS):
        mine, theirs = at_once([partial(peer.ask_about, call) for call in (pending, twin)])
        pairs.append((mine, theirs))
        peer.patience.pace(POLL)
    # In this order whoever asks two replicas in turn asks each about both.
    asks = [partial(peer.ask_about, call) for call in (quick, other, other, quick)]
    ended, control, again, once_more = at_once(asks)
    try:
        for call in (pending, twin):
            peer.need_result(call)
    except Untested as missing:
        raise Untested(f"{missing}, after a call of the same id in another thread had ended") from None

    def certain(exchange: Exchange) -> bool:
        return all(certainly_live(peer, call, exchange) for call in (pending, twin))

    sure = [mine for mine, theirs in pairs if certain(theirs) and means_alive(theirs)]
    if not sure:
        return False
    peer.controlled(sure, "two calls with different ids are told apart")
    denied = [mine for mine in sure if means_alive(mine) is False]
    peer.expect(
        len(denied) < 2,
        "`alive: true` for the pending call, as for one of another id",
        "not alive, after a call of the same id in another thread ended",
        *denied[:1],
        case="the pending one of two calls with one id",
    )
    if certain(once_more) and not means_alive(control) and not means_alive(again):
        peer.expect(
            not (means_alive(ended) and means_alive(once_more)),
            "`alive: false` for the call that ended, as for one of another id",
            "`alive: true`, as for its namesake in another thread",
            ended,
            case="the ended one of two calls with one id",
        )
    return True


@scenario("TCS030", control=Control("the live id, exactly, is alive"), overlap=True)
def test_exact_match(peer: Peer) -> None:
    """A live id padded with white space, or in another Unicode form, is another id."""
    call_id = f"{fresh()}-\u00e9\u212b\ufb01"
    try:
        answers = while_live(peer, disguised(peer, call_id), id=call_id)
    except Trouble:
        peer.note("not exercised: Unicode forms (the server takes no invocation whose id is not ASCII)")
        call_id = fresh()
        answers = while_live(peer, disguised(peer, call_id), id=call_id)
    judge_resembling(peer, answers)


def disguised(peer: Peer, call_id: str) -> Iterator[Question]:
    """The control, then questions about what looks like a live id and is another one."""
    yield itself(peer)
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
    for how, other in variants.items():
        if other != call_id:
            yield in_its_thread(peer, f"a live id {how}", other)
