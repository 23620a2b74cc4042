"""The probe's client: one request, and as much of its answer as comes in time."""

from __future__ import annotations

import ssl
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from rap_conformance.network.answers import classify
from rap_conformance.network.recording import Answer, Question
from rap_conformance.network.transport import Transport, connection_of, deadline


def new_client(context: ssl.SSLContext | None, timeout: float, *, keep: bool) -> httpx.Client:
    """A client that keeps its connections, or has each one for one request."""
    transport = Transport(context, keep=keep)
    return httpx.Client(transport=transport, trust_env=False, timeout=timeout, cookies=_no_cookies())


def _no_cookies() -> CookieJar:
    """A jar that keeps nothing: who asks is what we say, never what an answer to somebody else set."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))


def answer_of(
    client: httpx.Client, question: Question, timeout: float, cap: int, opened: list[str]
) -> Answer:
    """What comes back; `opened` is told of each connection that is opened for it."""
    answer = Answer()
    extensions: dict[str, object] = {
        "trace": lambda event, _: opened.append(event) if event.startswith("connection.connect") else None
    }
    if question.target is not None:
        extensions["target"] = question.target.encode("latin-1", "replace")
    try:
        encoded = [
            (name.encode("ascii"), value.encode("utf-8", "surrogateescape"))
            for name, value in question.headers
        ]
        request = client.build_request(
            question.method, question.url, content=question.body, headers=encoded, extensions=extensions
        )
        with deadline(timeout):
            _receive(client, request, answer, cap)
    except Exception as error:
        answer.failure = classify(error, answered=answer.status is not None)
        if answer.failure is None:
            raise
        answer.detail = str(error)[:200]
    return answer


def _receive(client: httpx.Client, request: httpx.Request, answer: Answer, cap: int) -> None:
    """Send a request and read its answer, no further than just beyond `cap` bytes."""
    response = client.send(request, stream=True, follow_redirects=False)
    try:
        answer.status, answer.connection = response.status_code, connection_of(response)
        answer.headers = tuple((k.decode("latin-1"), v.decode("latin-1")) for k, v in response.headers.raw)
        for chunk in response.iter_raw():
            answer.body += chunk
            if len(answer.body) > cap:
                break
    finally:
        response.close()
