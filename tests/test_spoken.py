"""HTTP in other manners than the probe's: the bytes that go out, and what is made of what comes back."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest

from rap_conformance.engine.evidence import Failure
from rap_conformance.network.credentials import Credentials
from rap_conformance.network.line import Line, Manner, byte_by_byte, split
from rap_conformance.network.pace import NoAnswer
from rap_conformance.network.patience import Patience
from rap_conformance.network.probe import Probe
from rap_conformance.network.redaction import Redactor
from rap_conformance.network.spoken import Spoken, speak
from rap_conformance.protocol.messages import JSON
from rap_conformance.server.manners import MANNERS
from tests.support import listening, read_request, unused_port

BODY = b'{"thread_id": "t", "tool_call_id": "c"}'
YES = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n" + b'{"alive":false}'


def spoken(url: str, manner: Manner, times: int = 1, timeout: float = 2.0) -> list[Spoken]:
    secret = Credentials((("Authorization", "Bearer s3cret-4711"),))
    probe = Probe(Patience(), Redactor(), timeout=timeout, credentials=secret, origins=[url])
    try:
        return speak(probe, f"{url}/tool_call_status", [BODY] * times, JSON, manner)
    finally:
        probe.close()


class Ear:
    """A server that hears one request to its end, packet by packet, and then says something."""

    def __init__(self, says: bytes, end: bytes, first: bytes = b"") -> None:
        self.says, self.end, self.first = says, end, first
        self.packets: list[bytes] = []

    @property
    def heard(self) -> bytes:
        return b"".join(self.packets)

    def __call__(self, connection: socket.socket) -> None:
        while not self.heard.endswith(self.end):
            if not (packet := connection.recv(65536)):
                return
            self.packets.append(packet)
            if self.first and self.heard.endswith(b"\r\n\r\n"):
                connection.sendall(self.first)
        connection.sendall(self.says)


@pytest.mark.parametrize(("title", "manner"), MANNERS, ids=[title for title, _ in MANNERS])
def test_every_manner_is_the_same_request(title: str, manner: Manner) -> None:
    ear = Ear(
        YES,
        b"0\r\n\r\n" if manner.chunk else BODY,
        b"HTTP/1.1 100 Continue\r\n\r\n" if manner.expect else b"",
    )
    with listening(ear) as url:
        (made,) = spoken(url, manner)
    assert (made.exchange.status, made.exchange.response_body) == (200, b'{"alive":false}'), title
    head, _, body = ear.heard.partition(b"\r\n\r\n")
    assert b"authorization: bearer s3cret-4711" in head.lower()
    assert b"content-type: application/json" in head.lower()
    assert b"s3cret" not in repr(made.exchange).encode()
    assert made.exchange.request_body == BODY
    if manner.chunk:
        assert b"content-length" not in head.lower()
        assert body.count(b"\r\n") == 2 * (len(BODY) // manner.chunk + 2)
    else:
        assert body == BODY


def test_names_are_written_as_the_manner_says() -> None:
    for names, wanted in ((str.lower, b"\r\ncontent-type:"), (str.upper, b"\r\nCONTENT-TYPE:")):
        ear = Ear(YES, BODY)
        with listening(ear) as url:
            spoken(url, Manner(names=names))
        assert wanted in ear.heard


def test_packets_go_out_one_by_one() -> None:
    ear = Ear(YES, BODY)
    with listening(ear) as url:
        spoken(url, Manner(packets=split, pause=0.1))
    assert [len(packet) for packet in ear.packets[1:]] == [len(BODY) // 2, len(BODY) - len(BODY) // 2]
    ear = Ear(YES, BODY)
    with listening(ear) as url:
        spoken(url, Manner(packets=byte_by_byte, pause=0.002))
    assert len(ear.packets) > len(BODY)


def test_a_body_is_sent_although_no_100_comes() -> None:
    ear = Ear(YES, BODY)
    with listening(ear) as url:
        (made,) = spoken(url, Manner(expect=True))
    assert made.exchange.status == 200


def test_a_refused_expectation_is_the_answer() -> None:
    def refuse(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 2\r\n\r\nno")

    with listening(refuse) as url:
        (made,) = spoken(url, Manner(expect=True))
    assert (made.exchange.status, made.exchange.response_body) == (417, b"no")


def test_one_connection_is_kept_if_the_server_keeps_it() -> None:
    def keep(connection: socket.socket) -> None:
        while read_request(connection):
            connection.sendall(YES)

    with listening(keep) as url:
        assert [made.fresh for made in spoken(url, Manner(), times=3)] == [True, False, False]


@pytest.mark.parametrize("says", [YES, YES.replace(b"200 OK\r\n", b"200 OK\r\nConnection: close\r\n")])
def test_a_connection_that_is_closed_after_an_answer_is_opened_anew(says: bytes) -> None:
    def once(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(says)

    with listening(once) as url:
        made = spoken(url, Manner(), times=2)
    assert [(each.exchange.status, each.fresh) for each in made] == [(200, True), (200, True)]


def cut(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(YES[:-3])


def reset(connection: socket.socket) -> None:
    read_request(connection)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def hang_up(connection: socket.socket) -> None:
    connection.close()


def babble(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"hello, who are you?\r\n\r\n")


def hush(connection: socket.socket) -> None:
    read_request(connection)
    threading.Event().wait(1.0)


@pytest.mark.parametrize(
    ("behave", "failure"),
    [
        (cut, Failure.CUT_SHORT),
        (reset, Failure.RESET),
        (hang_up, Failure.RESET),
        (babble, Failure.NOT_HTTP),
        (hush, Failure.TIMEOUT),
    ],
)
def test_failures_are_told_apart(behave: Callable[[socket.socket], None], failure: Failure) -> None:
    with listening(behave) as url:
        (made,) = spoken(url, Manner(), timeout=0.3)
    assert made.exchange.failure is failure


def test_nobody_there() -> None:
    (made,) = spoken(f"http://127.0.0.1:{unused_port()}", Manner())
    assert made.exchange.failure is Failure.REFUSED


@pytest.mark.parametrize(
    ("says", "version"),
    [
        (b"HTTP/1.0 200 OK\r\n\r\n" + b'{"alive":false}', "1.0"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + YES, "1.1"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            b'f\r\n{"alive":false}\r\n0\r\nX-Check: 1\r\n\r\n',
            "1.1",
        ),
    ],
)
def test_answers_of_every_kind_are_read(says: bytes, version: str) -> None:
    with listening(Ear(says, BODY)) as url:
        (made,) = spoken(url, Manner())
    assert (made.exchange.status, made.exchange.response_body) == (200, b'{"alive":false}')
    assert made.version == version


def test_a_limit_is_waited_out() -> None:
    refused = [b"HTTP/1.1 429 Slow\r\nContent-Length: 0\r\n\r\n"]

    def limit(connection: socket.socket) -> None:
        while read_request(connection):
            connection.sendall(refused.pop() if refused else YES)

    with listening(limit) as url:
        made = spoken(url, Manner(), times=2)
    assert [each.exchange.status for each in made] == [200, 200]


def test_a_limit_for_ever_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rap_conformance.network.spoken.PATIENT", 0.1)

    def limit(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 429 Slow\r\nContent-Length: 0\r\n\r\n")

    with listening(limit) as url, pytest.raises(NoAnswer):
        spoken(url, Manner())


def test_an_endless_answer_is_cut() -> None:
    def endless(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connection.sendall(b"x" * 65536)

    with listening(endless) as url:
        line = Line(urlsplit(f"{url}/"), Patience(), 5.0, None, 1000)
        heard = line.say((("Host", "x"), ("Content-Length", "0")), b"", Manner())
        line.close()
    assert heard.status == 200
    assert 1000 < len(heard.body) < 10**6
