"""Scripted tool servers: what a runtime sends is kept, also where it is no HTTP."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from rap_conformance.network.patience import Patience
from rap_conformance.network.scripted import ScriptedServers
from rap_conformance.network.toolserver import ToolServer

BODY = b'{"thread_id": "t", "tool_call_id": "c"}'
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
POST = b"POST /tool_call_status HTTP/1.1\r\nHost: h\r\n"


@pytest.fixture(scope="module")
def servers() -> Iterator[ScriptedServers]:
    made = ScriptedServers(Patience())
    made.start()
    yield made
    made.stop()


@pytest.fixture
def server(servers: ScriptedServers) -> ToolServer:
    return servers.server()


def said(server: ToolServer, *pieces: bytes) -> bytes:
    """What the server answers to these bytes, sent one piece after the other."""
    port = urlsplit(server.base).port
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=5.0) as client, suppress(ConnectionError):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            client.sendall(piece)
            if b"100-continue" in piece:
                answer += client.recv(65536)
        while data := client.recv(65536):
            answer += data
    return answer


@pytest.mark.parametrize(
    "pieces",
    [
        (POST + LENGTH + b"\r\n" + BODY,),
        (POST[:9], POST[9:] + LENGTH, b"\r\n", BODY[:5], BODY[5:]),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(BODY), BODY + b"\r\n0\r\n\r\n"),
        (POST.replace(b"\r\n", b"\n") + LENGTH.replace(b"\r\n", b"\n\n") + BODY,),
        (b"POST /tool_call_status HTTP/1.0\r\n" + LENGTH + b"\r\n" + BODY,),
        (POST + LENGTH + b"\r\n" + BODY + b"GET /more HTTP/1.1\r\n\r\n",),
    ],
    ids=["at once", "in pieces", "chunked", "bare line feeds", "HTTP/1.0", "with another behind it"],
)
def test_a_request_is_heard_and_answered(server: ToolServer, pieces: tuple[bytes, ...]) -> None:
    assert said(server, *pieces).endswith(b'{"alive": false}')
    (query,) = server.queries
    assert (query.request.method, query.request.path, query.request.body) == (
        "POST",
        "/tool_call_status",
        BODY,
    )
    assert query.is_status
    assert not query.request.refused


def test_headers_are_kept_as_they_were_sent(server: ToolServer) -> None:
    said(server, b"GET /x?y=%2F HTTP/1.1\r\nhOST: h\r\nX-Odd:  \xe9 b \r\nX-Odd: 2\r\n\r\n")
    assert server.queries[0].exchange.request_headers == (("hOST", "h"), ("X-Odd", "é b"), ("X-Odd", "2"))
    assert server.queries[0].exchange.url == f"{server.base}/x?y=%2F"


def test_a_client_that_waits_for_100_gets_it(server: ToolServer) -> None:
    answer = said(server, POST + LENGTH + b"Expect: 100-continue\r\n\r\n", BODY)
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200")
    assert server.queries[0].request.body == BODY


@pytest.mark.parametrize(
    ("pieces", "method", "path"),
    [
        ((b"POST /tool_call_status HTTP/1.1\r\n" + LENGTH + b"\r\n", BODY), "POST", "/tool_call_status"),
        ((POST + b"bad header: x\r\n" + LENGTH + b"\r\n" + BODY,), "POST", "/tool_call_status"),
        ((POST + b"no colon\r\n" + LENGTH + b"\r\n" + BODY[:3], BODY[3:]), "POST", "/tool_call_status"),
        ((b"POST  /tool_call_status HTTP/1.1\r\n" + LENGTH + b"\r\n" + BODY,), "POST", ""),
        ((b"PRI * HTTP/2.0\r\n\r\n" + BODY,), "PRI", "*"),
        ((POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + BODY,), "POST", "/tool_call_status"),
    ],
    ids=[
        "no Host",
        "a blank in a name",
        "a line without a colon",
        "two blanks",
        "HTTP/2",
        "a coding nobody knows",
    ],
)
def test_what_is_no_http_is_refused_and_kept(
    server: ToolServer, pieces: tuple[bytes, ...], method: str, path: str
) -> None:
    assert said(server, *pieces).startswith(b"HTTP/1.1 400 ")
    (query,) = server.queries
    assert (query.request.method, query.request.path, query.request.body) == (method, path, BODY)
    assert query.names("c"), "what it asked about can be told all the same"
    assert query.exchange.status == 400
    assert query.request.refused in query.exchange.response_body.decode()


@pytest.mark.parametrize("start", [b"", b"POST /tool", POST + LENGTH + b"\r\n" + BODY[:-1]])
def test_who_hangs_up_first_asked_nothing(server: ToolServer, start: bytes) -> None:
    port = urlsplit(server.base).port
    with socket.create_connection(("127.0.0.1", port), timeout=5.0) as client:
        client.sendall(start)
        client.shutdown(socket.SHUT_WR)
        assert client.recv(100) == b""
    assert not server.queries


@pytest.mark.parametrize(
    "start",
    [POST + b"X: " + b"a" * 70_000, POST + b"Content-Length: 2000000\r\n\r\n" + b"a" * 1_100_000],
    ids=["head", "body"],
)
def test_who_says_too_much_is_refused(server: ToolServer, start: bytes) -> None:
    said(server, start)
    assert server.queries[0].request.refused
    assert len(server.queries[0].request.body) <= 2**20


def test_two_servers_share_a_port_by_their_paths(servers: ScriptedServers) -> None:
    short = servers.server(prefix="/a")
    long = servers.beside(short, "/a/b")
    for prefix in (b"/a/b", b"/a", b"/ab"):
        said(short, POST.replace(b"/tool", prefix + b"/tool") + LENGTH + b"\r\n" + BODY)
    assert [query.request.path for query in long.queries] == ["/a/b/tool_call_status"]
    assert [query.request.path for query in short.queries] == ["/a/tool_call_status", "/ab/tool_call_status"]
    assert long.toolset["endpoint"] == f"{short.base}/b/invoke"


def test_a_server_that_falls_silent_hears_and_says_nothing(server: ToolServer) -> None:
    server.play("t", "c", server.otherwise)
    server.fall_silent()
    port = urlsplit(server.base).port
    for request in (
        POST + LENGTH + b"\r\n" + BODY,
        b"GET /.well-known/rap-toolset HTTP/1.1\r\nHost: h\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", port), timeout=0.3) as client, suppress(TimeoutError):
            client.sendall(request)
            raise AssertionError(client.recv(100))
    assert len(server.queries) == 2
