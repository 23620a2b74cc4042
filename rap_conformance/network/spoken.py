"""Queries of ours in another manner than the probe's own: the same credentials, the same patience."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from rap_conformance.engine.evidence import Exchange, Headers
from rap_conformance.network.answers import decoded, slowed_down
from rap_conformance.network.line import Heard, Line, Manner
from rap_conformance.network.pace import PATIENT, slowly
from rap_conformance.network.probe import BODY_CAP, Probe

_RECORDED = 64 * 1024
"""Bytes of a request's body that are kept."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """An exchange in another manner; the HTTP version of the answer, and whether its connection was new."""

    exchange: Exchange
    version: str
    fresh: bool


def speak(probe: Probe, url: str, bodies: Sequence[bytes], headers: Headers, manner: Manner) -> list[Spoken]:
    """POSTs of ours in another manner, one after the other on one connection as long as it is kept.

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


def _spoken(
    probe: Probe, url: str, bodies: Sequence[bytes], headers: Headers, manner: Manner
) -> list[Spoken]:
    made = []
    parts = urlsplit(url)
    line = Line(parts, probe.patience, probe.timeout, probe.context, BODY_CAP)
    try:
        for body in bodies:
            plain = (("Host", parts.netloc), *probe.headers_of("POST", url, body, headers, None))
            sent = manner.headers(plain, len(body))
            began = probe.patience.now()
            probe.count()
            heard = line.say(sent, body, manner)
            made.append(Spoken(_recorded(probe, url, sent, body, heard, began), heard.version, heard.fresh))
    finally:
        line.close()
    return made


def _recorded(probe: Probe, url: str, sent: Headers, body: bytes, heard: Heard, began: float) -> Exchange:
    content, how = decoded(heard.body[:BODY_CAP], heard.headers, BODY_CAP)
    return Exchange(
        method="POST",
        url=probe.redactor.text(url),
        request_headers=probe.redactor.headers(sent),
        request_body=probe.redactor.data(body[:_RECORDED]),
        status=heard.status,
        response_headers=probe.redactor.headers(heard.headers),
        response_body=probe.redactor.data(content),
        started=began,
        ended=probe.patience.now(),
        failure=heard.failure,
        detail=probe.redactor.text(heard.detail or how),
        truncated=len(heard.body) > BODY_CAP,
    )
