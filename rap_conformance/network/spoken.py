"""Requests that the probe's own client would not make: in another manner, on one connection, unfinished.

The credentials and the patience are the probe's.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from rap_conformance.engine.evidence import Exchange, Headers
from rap_conformance.network import raw
from rap_conformance.network.answers import slowed_down
from rap_conformance.network.credentials import Credentials
from rap_conformance.network.line import Heard, Line, Manner
from rap_conformance.network.pace import PATIENT, slowly
from rap_conformance.network.probe import BODY_CAP, Probe
from rap_conformance.network.recipes import Recipe, whole
from rap_conformance.network.recording import Answer, Question, recorded
from rap_conformance.network.transport import new_number
from rap_conformance.protocol.messages import JSON

PLAIN = Manner()
CHUNKED: Headers = (*JSON, ("Transfer-Encoding", "chunked"))


@dataclass(frozen=True, slots=True)
class Asked:
    """One of several requests on one connection; `credentials` as for `Probe.send`."""

    body: bytes
    credentials: Credentials | None = None
    chunked: bool = False


@dataclass(frozen=True, slots=True)
class Spoken:
    """An exchange in another manner; the HTTP version of the answer, and whether its connection was new."""

    exchange: Exchange
    version: str
    fresh: bool


def speak(probe: Probe, url: str, bodies: Sequence[bytes], headers: Headers, manner: Manner) -> list[Spoken]:
    """POSTs of ours in another manner, one after the other on one connection as long as it is kept.

    None follows one that is left without an answer.
    Where one is refused for the pace, all are made again, more slowly each time. Raises NoAnswer.
    """
    made: list[Spoken] = []

    def once() -> Exchange:
        made[:] = _spoken(probe, url, bodies, headers, manner)
        exchanges = [each.exchange for each in made]
        return next(filter(slowed_down, exchanges), exchanges[-1])

    if slowed_down(once()):
        until = probe.patience.now() + PATIENT
        slowly(probe.patience, once, f"POST {url}", probe.referees.get(url), until)
    return made


def converse(probe: Probe, url: str, asked: Sequence[Asked]) -> list[Exchange]:
    """POSTs on one connection, each after the answer to the one before; ends where the server hangs up.

    What is left in the connection is taken for the next answer, as whoever keeps connections for others
    takes it. It is ours: where a client certificate identifies us, it is presented.
    """
    made: list[Exchange] = []
    connection = new_number()
    with _line(probe, url) as line:
        for each in asked:
            manner = Manner(chunk=len(each.body)) if each.chunked else PLAIN
            exchange, heard = _said(probe, url, line, each, JSON, manner)
            if made and heard.fresh:
                break
            made.append(exchange)
            body, headers = ((each.body,), CHUNKED) if each.chunked else (each.body, JSON)
            recipe = Recipe("POST", url, body, headers, each.credentials, None, BODY_CAP)
            recipe = replace(recipe, by_hand=True)
            probe.remember(exchange, recipe, connection)
    return made


def repeated(probe: Probe, numbers: Sequence[int]) -> list[Exchange]:
    """Exchanges made again, in this order and as before, on one fresh connection; fewer if it does not last.

    Raises LookupError for one that is no longer known.
    """
    last = probe.recipe(numbers[-1])
    if last is None or not last.by_hand:
        return probe.again(numbers)
    asked = [
        Asked(body, recipe.credentials, chunked=isinstance(recipe.body, tuple))
        for number in numbers
        if (recipe := probe.recipe(number)) and (body := whole(recipe.body)) is not None
    ]
    if len(asked) < len(numbers):
        raise LookupError("it is no longer known how that was asked")
    return converse(probe, last.url, asked)


def unfinished(probe: Probe, url: str, start: bytes, *, announced: int, within: float) -> Exchange:
    """A POST of ours whose body stops short of the announced length, abandoned after `within` seconds."""
    headers = probe.headers_of("POST", url, start, JSON, None)
    began = probe.patience.now()
    probe.count()
    said = raw.head("POST", url, (*headers, ("Content-Length", str(announced)))) + start
    context = probe.context_of(url, None)
    received, failure = raw.begin(urlsplit(url), said, probe.timeout, within, context)
    status = int(received[9:12]) if received[:5] == b"HTTP/" and received[9:12].isdigit() else None
    answer = Answer(
        status=status,
        body=bytearray(received.partition(b"\r\n\r\n")[2]),
        failure=failure if status is None else None,
        detail=f"the body stopped after {len(start)} of {announced} bytes",
    )
    question = Question("POST", url, headers, start)
    return recorded(probe.redactor, question, answer, (began, probe.patience.now()), BODY_CAP)


def _spoken(
    probe: Probe, url: str, bodies: Sequence[bytes], headers: Headers, manner: Manner
) -> list[Spoken]:
    made = []
    with _line(probe, url) as line:
        for body in bodies:
            exchange, heard = _said(probe, url, line, Asked(body), headers, manner)
            made.append(Spoken(exchange, heard.version, heard.fresh))
            if exchange.failure is not None:
                break
    return made


def _line(probe: Probe, url: str) -> AbstractContextManager[Line]:
    context = probe.context_of(url, None)
    return closing(Line(urlsplit(url), probe.patience, probe.timeout, context, BODY_CAP))


def _said(
    probe: Probe, url: str, line: Line, asked: Asked, headers: Headers, manner: Manner
) -> tuple[Exchange, Heard]:
    """One request on a line, as it was said, and what was heard."""
    plain = probe.headers_of("POST", url, asked.body, headers, asked.credentials)
    sent = manner.headers((("Host", urlsplit(url).netloc), *plain), len(asked.body))
    began = probe.patience.now()
    number = probe.count()
    heard = line.say(sent, asked.body, manner)
    answer = Answer(heard.status, heard.headers, bytearray(heard.body), heard.failure, heard.detail)
    question = Question("POST", url, sent, asked.body)
    made = recorded(probe.redactor, question, answer, (began, probe.patience.now()), BODY_CAP)
    return probe.provenance(made, question, asked.credentials, number), heard
