"""Who the probe is to whom: certificates, connections, cookies; and who gives secrets back."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fixtures.servers.ways.certificates import issue
from rap_conformance.engine.evidence import Exchange, Failure
from rap_conformance.network.certificates import self_made
from rap_conformance.network.credentials import NOBODY, Credentials
from rap_conformance.network.patience import Patience
from rap_conformance.network.probe import Probe
from rap_conformance.network.redaction import Redactor
from rap_conformance.network.spoken import Asked, converse, unfinished
from rap_conformance.server.config import Auth
from rap_conformance.server.identity import credentials_of, secrets_of
from tests.support import listening, read_request

OURS = Credentials((("Authorization", "Bearer our-own-secret-4711"),))
Behaviour = Callable[[socket.socket], None]


def answer(body: bytes = b"{}", *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def read_whole(connection: socket.socket) -> bytes:
    """A request with its body, as long as it says it is."""
    request = read_request(connection)
    head, _, body = request.partition(b"\r\n\r\n")
    found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    while found and len(body) < int(found[1]) and (more := connection.recv(65536)):
        body += more
        request += more
    return request


def always(*answers: bytes) -> tuple[Behaviour, list[bytes]]:
    """Gives these answers on each connection, one a request, and keeps what was asked."""
    asked: list[bytes] = []

    def behave(connection: socket.socket) -> None:
        for each in answers:
            if not (request := read_whole(connection)):
                return
            asked.append(request)
            connection.sendall(each)

    return behave, asked


@contextlib.contextmanager
def probing(behave: Behaviour, **how: object) -> Iterator[tuple[Probe, str]]:
    with listening(behave) as url:
        redactor = Redactor()
        probe = Probe(
            Patience(),
            redactor,
            timeout=3.0,
            credentials=OURS,
            origins=[url],
            **how,  # type: ignore[arg-type]
        )
        for secret, name in secrets_of(OURS):
            redactor.own(secret, name)
        try:
            yield probe, url
        finally:
            probe.close()


def test_a_cookie_that_an_answer_sets_is_not_sent_again() -> None:
    behave, asked = always(*[answer(b"{}", "Set-Cookie: session=somebody; Path=/")] * 4)
    with probing(behave) as (probe, url):
        for who in (None, NOBODY, None, NOBODY):
            probe.send("POST", url, b"{}", credentials=who)
    assert len(asked) == 4
    assert not any(b"cookie:" in request.lower() for request in asked)


def test_strangers_share_no_connection_with_anybody() -> None:
    connections: list[int] = []

    def behave(connection: socket.socket) -> None:
        while request := read_whole(connection):
            connections.append(connection.fileno() if b"Bearer" in request else -connection.fileno())
            connection.sendall(answer())

    with probing(behave) as (probe, url):
        for who in (None, NOBODY, None, NOBODY, None):
            probe.send("GET", url, credentials=who)
    assert len({each for each in connections if each > 0}) == 1, "ours are kept"
    assert len(connections) == 5


def test_headers_for_everybody_go_with_every_request() -> None:
    behave, asked = always(answer(), answer())
    with probing(behave, headers=(("X-Api-Version", "2"),)) as (probe, url):
        shown = [probe.send("POST", url, b"{}", credentials=who) for who in (None, NOBODY)]
        unfinished(probe, url, b"{", announced=9, within=0.1)
        shown += converse(probe, url, [Asked(b"{}")])
    assert len(asked) == 4
    assert all(b"X-Api-Version: 2" in request for request in asked)
    assert all(("X-Api-Version", "2") in exchange.request_headers for exchange in shown)


@pytest.mark.parametrize(
    ("headers", "body", "given_back"),
    [
        ((), b'{"token": "our-own-secret-4711"}', True),
        ((), b'{"token": "b3VyLW93bi1zZWNyZXQtNDcxMQ=="}', True),
        (('WWW-Authenticate: Bearer error_description="our-own-secret-47110?"',), b"{}", True),
        (("Set-Cookie: t=our-own-secret-4711",), b"{}", False),
        ((), b'{"token": "our-own"}', False),
    ],
)
def test_who_gives_our_secret_back_is_seen(headers: tuple[str, ...], body: bytes, given_back: bool) -> None:
    behave, _ = always(answer(body, *headers))
    with probing(behave) as (probe, url):
        exchange = probe.send("POST", url, b"{}")
    assert bool(exchange.betrays) is given_back
    assert "our-own-secret-4711" not in repr(exchange)


def exchanges(*answers: bytes, asked: int = 2) -> list[Exchange]:
    behave, _ = always(*answers)
    with probing(behave) as (probe, url):
        return converse(probe, url, [Asked(b"{}", NOBODY), *[Asked(b"[]")] * (asked - 1)])


def test_two_requests_on_one_connection() -> None:
    first, second = exchanges(answer(status="401 Unauthorized"), answer(b'{"alive": false}'))
    assert (first.status, second.status) == (401, 200)
    assert second.response_body == b'{"alive": false}'
    assert "Authorization" not in dict(first.request_headers)
    assert "Authorization" in dict(second.request_headers)


def test_an_answer_to_what_was_left_is_taken_for_the_next() -> None:
    left = answer(status="401 Unauthorized") + answer(b"no request", status="400 Bad Request")
    _, second = exchanges(left)
    assert second.status == 400


@pytest.mark.parametrize(
    "last",
    [answer(b"", "Connection: close", status="401 Unauthorized"), answer(status="401 Unauthorized")],
    ids=["announced", "simply"],
)
def test_a_connection_that_is_hung_up_shows_one_answer(last: bytes) -> None:
    assert [exchange.status for exchange in exchanges(last)] == [401]


def test_silence_after_a_first_answer_is_seen() -> None:
    def behave(connection: socket.socket) -> None:
        read_whole(connection)
        connection.sendall(answer(status="401 Unauthorized"))
        read_whole(connection)
        read_whole(connection)

    with probing(behave) as (probe, url):
        probe.timeout = 0.3
        first, second = converse(probe, url, [Asked(b"{}", NOBODY), Asked(b"{}")])
    assert first.status == 401
    assert second.failure is Failure.TIMEOUT


# --- certificates


@contextlib.contextmanager
def behind_tls(folder: Path, authority: Path, seen: list[object]) -> Iterator[str]:
    """A target that lets in those whom `authority` vouches for, and keeps what their certificates say."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(folder / "server.pem")

    def behave(plain: socket.socket) -> None:
        with context.wrap_socket(plain, server_side=True) as connection:
            seen.append(connection.getpeercert())
            read_whole(connection)
            connection.sendall(answer(b"{}", "Connection: close"))

    with listening(behave) as url:
        yield url.replace("http://", "https://")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    issue(tmp_path)
    return tmp_path


def test_a_certificate_is_a_credential_and_goes_to_our_server_only(folder: Path) -> None:
    auth = Auth(client_cert=folder / "client.pem", ca_bundle=folder / "authority.pem")
    ours, seen = credentials_of(auth), list[object]()
    assert ours
    with behind_tls(folder, folder / "authority.pem", seen) as url:
        for origins, who, status in (([url], None, 200), ([url], NOBODY, None), ([], None, None)):
            probe = Probe(
                Patience(),
                Redactor(),
                timeout=3.0,
                credentials=ours,
                origins=origins,
                context=auth.tls(certificate=False),
            )
            exchange = probe.send("POST", url, b"{}", credentials=who)
            assert exchange.status == status, exchange
            assert (exchange.failure in {Failure.TLS, Failure.RESET}) == (status is None)
            probe.close()
    assert len(seen) == 1


def test_a_self_made_certificate_bears_our_names_and_is_refused(folder: Path) -> None:
    context = Auth(ca_bundle=folder / "authority.pem").tls(certificate=False)
    assert context is not None
    self_made(folder / "client.pem", context)
    auth = Auth(client_cert=folder / "client.pem", ca_bundle=folder / "authority.pem")
    seen: list[object] = []
    for vouching, certificate in (("authority.pem", context), ("authority.pem", auth.tls(certificate=True))):
        with behind_tls(folder, folder / vouching, seen) as url:
            probe = Probe(Patience(), Redactor(), timeout=3.0, origins=[url], context=context)
            exchange = probe.send("POST", url, b"{}", credentials=Credentials(certificate=certificate))
            assert (exchange.status is None) == (certificate is context), exchange
            probe.close()
    assert len(seen) == 1
