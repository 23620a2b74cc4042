"""The form of the status check's answers: 200, JSON, one object, `alive` true or false and nothing else.

Specification: "Tool Call Status Check", section "Response".
"""

from __future__ import annotations

from rap_conformance.engine.controls import Positive
from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.requirement import Level
from rap_conformance.engine.scenario import Untested, scenario
from rap_conformance.protocol.reading import DuplicateKey, lenient_json, strict_json, unasked_encoding
from rap_conformance.server.beside import beside
from rap_conformance.server.corpus import Check, judge_answers, ordinary
from rap_conformance.server.manners import judge_manners
from rap_conformance.server.peer import Peer
from rap_conformance.server.states import states

WHOLE = Positive("a whole answer with a 2xx status has to be there")


def judge_form(peer: Peer, check: Check, *, whole: bool = True) -> None:
    """Judge answers about unknown ids and, where there are such tools, calls in every state.

    With `whole` only those that are whole and have a 2xx status; Untested where there is none.
    """

    def looked_at(exchange: Exchange) -> bool:
        return not whole or answered(exchange)

    for title, made in states(peer).items():
        with peer.part(title):
            answers = [(case, exchange) for case, exchange in made.result() if looked_at(exchange)]
            if not answers:
                raise Untested("no answer with a 2xx status, whose form could be judged")
            judge_answers(peer, answers, lambda exchange: check(exchange) if looked_at(exchange) else None)


def answered(exchange: Exchange) -> bool:
    """Whether there is a whole answer with a 2xx status, whose form can be judged."""
    return exchange.failure is None and exchange.status is not None and 200 <= exchange.status < 300


@scenario("TCS001", control=Positive("an answer with 200 and JSON has to be there"), overlap=True)
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

    def manners() -> Peer:
        apart = peer.apart()
        with apart.part("HTTP as clients speak it"):
            judge_manners(apart, check)
        return apart

    apart, _ = beside(manners, lambda: judge_form(peer, check, whole=False))
    peer.record.join(apart.record)


@scenario("TCS002", control=WHOLE, overlap=True)
def test_media_type(peer: Peer) -> None:
    """Declared as application/json, in UTF-8, without a byte order mark."""

    def check(exchange: Exchange) -> tuple[str, str] | None:
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
    with peer.part("its encoding"):
        judge_encoding(peer, [exchange for _, exchange in ordinary(peer) if answered(exchange)])


def judge_encoding(peer: Peer, answers: list[Exchange]) -> None:
    """Nothing is compressed that was wanted as it is: allowed by HTTP, and not every client reads it."""
    if not answers:
        raise Untested("no answer with a 2xx status, whose encoding could be judged")
    encoded = next((exchange for exchange in answers if unasked_encoding(exchange)), answers[0])
    peer.expect(
        not unasked_encoding(encoded),
        "no Content-Encoding, as `identity` was asked for",
        f"Content-Encoding: {unasked_encoding(encoded)}",
        encoded,
        case="an encoding that nobody asked for",
        level=Level.ADVICE,
    )


@scenario("TCS003", control=WHOLE, overlap=True)
def test_alive_boolean(peer: Peer) -> None:
    """One JSON object whose `alive` is true or false."""

    def check(exchange: Exchange) -> tuple[str, str] | None:
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


@scenario("TCS032", control=WHOLE, overlap=True)
def test_alive_alone(peer: Peer) -> None:
    """No member but `alive`."""

    def check(exchange: Exchange) -> tuple[str, str] | None:
        value = lenient_json(exchange.response_body)
        if not isinstance(value, dict) or not set(value) - {"alive"}:
            return None
        names = ", ".join(ascii(key)[:40] for key in list(value)[:5] if key != "alive")
        return "`alive` alone", f"also {names}"

    judge_form(peer, check)


@scenario("TCS036", control=WHOLE, overlap=True)
def test_unique_keys(peer: Peer) -> None:
    """No key twice."""

    def check(exchange: Exchange) -> tuple[str, str] | None:
        try:
            strict_json(exchange.response_body.removeprefix(b"\xef\xbb\xbf"))
        except DuplicateKey as error:
            return "each key once", f"twice: {str(error)[:60]}"
        except ValueError:
            return None
        return None

    judge_form(peer, check)
