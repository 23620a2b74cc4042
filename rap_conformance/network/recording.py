"""What is kept of an exchange: bytes as they went over the wire, without a secret of ours in them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from rap_conformance.engine.evidence import Exchange, Failure, Headers
from rap_conformance.network.answers import decoded
from rap_conformance.network.recipes import whole
from rap_conformance.network.redaction import Redactor

_RECORDED = 64 * 1024
"""Bytes of a request's body that are kept."""


@dataclass(slots=True)
class Answer:
    """As much of an answer as has come, and why not more."""

    status: int | None = None
    headers: Headers = ()
    body: bytearray = field(default_factory=bytearray)
    failure: Failure | None = None
    detail: str = ""
    connection: int = 0


@dataclass(frozen=True, slots=True)
class Question:
    """A request as it was sent; `target` is what stood on its first line, if that is not the URL's own."""

    method: str
    url: str
    headers: Headers
    body: bytes | Iterable[bytes]
    target: str | None = None

    @property
    def shown(self) -> str:
        """The URL that was asked for."""
        parts = urlsplit(self.url)
        return self.url if self.target is None else f"{parts.scheme}://{parts.netloc}{self.target}"


def recorded(
    redactor: Redactor, question: Question, answer: Answer, span: tuple[float, float], cap: int
) -> Exchange:
    """The exchange without secrets; `span` is when it began and ended, `cap` the bytes of the body kept."""
    content, how = decoded(bytes(answer.body[:cap]), answer.headers, cap)
    sent = whole(question.body)
    kept = b"(sent in pieces)" if sent is None else sent[:_RECORDED]
    return Exchange(
        method=question.method,
        url=redactor.text(question.shown),
        request_headers=redactor.headers(question.headers),
        request_body=redactor.data(kept),
        status=answer.status,
        response_headers=redactor.headers(answer.headers),
        response_body=redactor.data(content),
        started=span[0],
        ended=span[1],
        failure=answer.failure,
        detail=redactor.text(answer.detail or how),
        truncated=len(answer.body) > cap,
        betrays=redactor.betrayed(answer.headers, content),
    )
