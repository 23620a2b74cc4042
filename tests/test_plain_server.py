"""The plain server: correct in its own odd way. Whether the suite thinks so too: test_references.py.

Long because one server, every message.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from rap_conformance.places import place
from tests.support import environment, unused_port

FILE = place("fixtures") / "servers" / "plain" / "server.py"
TOKENS = ("plain-Token-of-one-4711", "plain-Token-of-two-0815")
OURS = {"Authorization": f"Bearer {TOKENS[0]}", "Content-Type": "application/json"}


# --- the server by hand ----------------------------------------------------------


class Answer:
    """What a server answered, with its head as it came."""

    def __init__(self, raw: bytes) -> None:
        head, _, body = raw.partition(b"\r\n\r\n")
        self.head, self.body = head.decode("latin-1"), body
        self.status = int(self.head.split()[1]) if self.head else 0

    def alive(self) -> object:
        """The value of `alive`."""
        chunks, rest = b"", self.body
        while rest and (size := int(rest.partition(b"\r\n")[0], 16)):
            rest = rest.partition(b"\r\n")[2]
            chunks, rest = chunks + rest[:size], rest[size + 2 :]
        found: dict[str, Any] = json.loads(chunks)
        assert list(found) == ["alive"]
        return found["alive"]


class Plain:
    """A plain server that runs in a process of its own."""

    def __init__(self, *options: str, words: tuple[str, ...] = (str(FILE),), host: str = "127.0.0.1") -> None:
        tokens = [word for token in TOKENS for word in ("--token", token)]
        self.process = subprocess.Popen(
            [sys.executable, *words, "--host", host, *tokens, *options],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().rpartition(" ")[2].strip()
        self.port = urlsplit(self.url).port or 0

    def __enter__(self) -> Plain:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait(10)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def raw(self, *pieces: bytes) -> Answer:
        """Bytes there, and what comes back until the server hangs up."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as wire:
            for piece in pieces:
                wire.sendall(piece)
            received = b""
            with contextlib.suppress(ConnectionResetError):
                while piece := wire.recv(65536):
                    received += piece
        return Answer(received)

    def post(self, path: str, message: Any, headers: dict[str, str] = OURS) -> Answer:
        """One POST."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        lines = [f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return self.raw("\r\n".join([*lines, "", ""]).encode() + body)

    def invoke(self, url: str, operation: str, arguments: Any, id: str = "c", thread: str = "t") -> Answer:
        """One invocation."""
        message = {"operation": operation, "arguments": arguments, "id": id, "group_id": thread}
        return self.post("/rpc/v1", {**message, "callback_url": url, "call_id": "second"})

    def alive(self, id: str = "c", thread: str = "t", token: str = TOKENS[0]) -> object:
        """The status check."""
        headers = {**OURS, "Authorization": f"Bearer {token}"}
        return self.post("/tool_call_status", {"thread_id": thread, "tool_call_id": id}, headers).alive()


class Box(ThreadingHTTPServer):
    """A callback receiver: keeps what arrives, answers as its script says (0: hangs up), then with 200."""

    daemon_threads = True

    def __init__(self, *script: int) -> None:
        super().__init__(("127.0.0.1", 0), Taker)
        self.script, self.messages, self.times = list(script), [], []  # type: ignore[var-annotated]
        self.paths: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/cb%2Fx;y/?q=%20&r=a+b"

    def __enter__(self) -> Box:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """A connection that we cut ourselves is no error."""

    def until(self, count: int, within: float = 10.0) -> list[dict[str, Any]]:
        """The first `count` messages."""
        assert wait(lambda: len(self.messages) >= count, within), self.messages
        return self.messages[:count]


class Taker(BaseHTTPRequestHandler):
    """Takes one callback."""

    server: Box

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = self.server.script.pop(0) if self.server.script else 200
        self.server.times.append(time.monotonic())
        self.server.paths.append(self.path)
        if status:
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()
        self.server.messages.append(message)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def wait(condition: Callable[[], object], within: float = 10.0) -> bool:
    """Whether something comes true in time."""
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture(scope="module")
def plain() -> Iterator[Plain]:
    with Plain("--port", "0", "--rate-limit", "0") as server:
        yield server


@pytest.mark.parametrize("words", [(str(FILE),), ("-m", "fixtures.servers.plain")], ids=["file", "module"])
def test_it_runs_as_file_and_as_module(words: tuple[str, ...]) -> None:
    with Plain("--port", "0", "--prefix", "/p", "--charset", words=words) as server:
        line = HTTPConnection("127.0.0.1", server.port, timeout=5)
        line.request("GET", "/p/.well-known/rap-toolset", headers={"Host": "stranger.invalid"})
        answer = line.getresponse()
        manifest = json.load(answer)
        assert answer.headers["content-type"] == "application/json; charset=utf-8"
        line.close()
    assert set(manifest) == {"name", "endpoint", "tools"}
    assert manifest["endpoint"] == f"{server.url}/rpc/v1"
    assert server.url == f"http://127.0.0.1:{server.port}/p"


def test_it_does_otherwise_what_is_free(plain: Plain) -> None:
    status = plain.post("/tool_call_status", {"thread_id": "t", "tool_call_id": "x"})
    assert status.head.startswith("HTTP/1.1 200 Fine\r\n")
    for line in ("content-TYPE: application/json", "transfer-ENCODING: chunked", "CONNECTION: close"):
        assert f"\r\n{line}" in status.head
    assert b" : false" in status.body.replace(b"\r\n3\r\n", b"")
    assert "set-COOKIE: session=" in status.head
    nothing = plain.raw(b"GET /tool_call_status?<script> HTTP/1.1\r\nHost: x\r\n\r\n")
    assert nothing.status == 404
    assert b"/tool_call_status" in nothing.body
    assert b"&lt;b&gt;" in plain.raw(b"GET /<b> HTTP/1.0\r\n\r\n").body
    closed = plain.post("/close_thread", {"thread_id": "nobody"})
    assert (closed.status, closed.body) == (200, b"")
    assert "content-LENGTH: 0" in closed.head
    assert plain.post("/close_thread", {"thread_id": "t"}, {"Content-Type": "application/json"}).status == 401
    wrong = {**OURS, "Authorization": "Bearer wrong"}
    assert plain.post("/close_thread", {"thread_id": "t"}, wrong).status == 403


def test_results_are_tried_again_until_taken_and_once(plain: Plain) -> None:
    with Box(503, 307, 0) as box:
        assert plain.invoke(box.url, "say", {"phrase": "hi"}).status == 200
        box.until(3)
        assert plain.alive() is True
        messages = box.until(4)
        assert wait(lambda: plain.alive() is False)
    expected = {"type": "tool_result", "group_id": "t", "id": "c", "call_id": "second", "text": "hi"}
    assert messages == [expected] * 4
    assert set(box.paths) == {"/cb%2Fx;y/?q=%20&r=a+b"}
    pauses = [later - earlier for earlier, later in zip(box.times, box.times[1:], strict=False)]
    assert pauses == sorted(pauses)
    assert 0.25 < pauses[0] < 0.9


def test_a_4xx_ends_delivery(plain: Plain) -> None:
    with Box(410) as box:
        plain.invoke(box.url, "what_time", {})
        box.until(1)
        assert wait(lambda: plain.alive() is False)
        assert not wait(lambda: len(box.messages) > 1, 1.0)


def test_errors_are_results(plain: Plain) -> None:
    wrong = [("Say", {"phrase": "x"}), ("say", {}), ("sleep_for", {"secs": True}), ("say", [])]
    for operation, arguments in wrong:
        with Box() as box:
            assert plain.invoke(box.url, operation, arguments).status == 200
            assert box.until(1)[0]["text"].startswith("Error: ")
    assert plain.invoke("ftp://x/", "say", {"phrase": "x"}).status == 422


def test_calls_survive_a_kill_and_their_subscriptions_too(tmp_path: Path) -> None:
    state = ("--state", str(tmp_path / "state"), "--port", str(unused_port()))
    with Box() as box:
        with Plain(*state) as server:
            server.invoke(box.url, "sleep_for", {"secs": 1.0}, "sleep")
            server.invoke(box.url, "ticker", {"every": 0.1}, "tick")
            box.until(3)
        before = len(box.messages)
        with (tmp_path / "state").open("ab") as file:
            file.write(b'["put", {"torn')
        with Plain(*state) as server:
            assert server.alive("sleep") is True
            assert server.alive("sleep", token=TOKENS[1]) is False
            assert wait(lambda: server.alive("sleep") is False)
            assert wait(lambda: len(box.messages) > before + 3)
            slept = [m for m in box.messages if m.get("id") == "sleep"]
            ticks = [json.loads(m["text"])["tick"] for m in box.messages if "tool_call_id" in m]
            assert len(slept) == 1
            assert sorted(set(ticks)) == list(range(1, len(set(ticks)) + 1))
            server.post("/cancel_tool_call", {"thread_id": "t", "tool_call_id": "tick"})
            assert server.alive("tick") is False
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0


def test_cancellation_and_closure(plain: Plain) -> None:
    def tell(path: str, **message: str) -> None:
        assert plain.post(path, message).status == 200

    with Box() as box:
        plain.invoke(box.url, "sleep_for", {"secs": 60}, "a", "closing")
        plain.invoke(box.url, "sleep_for", {"secs": 60}, "a", "closing")
        plain.invoke(box.url, "ticker", {"every": 60}, "b", "closing")
        box.until(1)
        tell("/cancel_tool_call", thread_id="closing", tool_call_id="A")
        tell("/cancel_tool_call", thread_id="other", tool_call_id="a")
        tell("/close_thread", thread_id="closing")
        assert wait(lambda: plain.alive("b", "closing") is False)
        assert plain.alive("a", "closing") is True
        tell("/cancel_tool_call", thread_id="closing", tool_call_id="a")
        results = [m["text"] for m in box.until(3) if m["id"] == "a"]
        assert [text.startswith("Error: ") for text in results] == [True, True], "each of two namesakes ends"
        assert wait(lambda: plain.alive("a", "closing") is False)


IDS = {"surrogate": "\ud800", "nul": "\0", "empty": "", "long": "a" * 300_000, "combining": "x\u0301"}


@pytest.mark.parametrize("name", IDS)
def test_any_text_is_an_id(plain: Plain, name: str) -> None:
    id = IDS[name]
    with Box() as box:
        plain.invoke(box.url, "sleep_for", {"secs": 0.4}, id, id)
        assert plain.alive(id, id) is True
        assert plain.alive(id + "x", id) is False
        assert (box.until(1)[0]["id"], box.messages[0]["group_id"]) == (id, id)


def test_bodies_and_heads_are_bounded_and_no_error_shows_the_inside(plain: Plain) -> None:
    head = f"POST /tool_call_status HTTP/1.1\r\nHost: x\r\nAuthorization: {OURS['Authorization']}\r\n"
    head += "Content-Type: application/json\r\n"
    chunked = f"{head}Transfer-Encoding: chunked\r\n"
    query = b'{"thread_id": "t", "tool_call_id": "nobody"}'
    answers = {
        413: plain.post("/tool_call_status", b" " * (3 << 20)),
        415: plain.post("/tool_call_status", query, {**OURS, "Content-Type": "text/plain"}),
        414: plain.raw(b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n"),
        431: plain.raw((head + "X: y\r\n" * 200 + "\r\n").encode()),
        422: plain.post("/tool_call_status", {"thread_id": "t", "tool_call_id": 7}),
        404: plain.post("/p/tool_call_status", query),
    }
    for status, answer in answers.items():
        assert answer.status == status, answer.head
        assert b"Traceback" not in answer.body
    bad = [
        plain.post("/tool_call_status", b"[" * 200_000),
        plain.post("/tool_call_status", b'{"thread_id": "t", "tool_call_id": "\xff"}'),
        plain.post("/tool_call_status", b'{"tool_call_id": "a", "tool_call_id": "b", "thread_id": "t"}'),
        plain.raw(f"{chunked}Content-Length: 5\r\n\r\n0\r\n\r\n".encode()),
        plain.raw(f"{chunked}\r\nxyz\r\n".encode()),
        plain.raw(b"POST / HTTP/2.7 x\r\n\r\n"),
        plain.raw(f"{head}Content-Length: -1\r\n\r\n".encode()),
    ]
    assert [answer.status for answer in bad] == [400] * len(bad)
    body = b"%X;x=y\r\n%s\r\n0\r\nTrailer: x\r\n\r\n" % (len(query), query)
    assert plain.raw(f"{chunked}\r\n".encode(), body).alive() is False
    waiting = f"{head}Expect: 100-continue\r\nContent-Length: {len(query)}\r\n\r\n".encode()
    assert plain.raw(waiting, query).head.startswith("HTTP/1.1 100 ")


def test_slow_callers_do_not_keep_others_waiting(plain: Plain) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(260):
            wire = stack.enter_context(socket.create_connection(("127.0.0.1", plain.port), timeout=5))
            wire.sendall(b"POST /tool_call_status HTTP/1.1\r\nX: ")
        began = time.monotonic()
        assert plain.alive("nobody") is False
        assert time.monotonic() - began < 3.0


def test_silent_receivers_do_not_hold_up_others(plain: Plain) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent, Box() as box:
        for number in range(30):
            url = f"http://127.0.0.1:{silent.getsockname()[1]}/{number}"
            plain.invoke(url, "say", {"phrase": "x"}, f"silent-{number}")
        began = time.monotonic()
        plain.invoke(box.url, "say", {"phrase": "x"}, "heard")
        box.until(1)
        assert time.monotonic() - began < 3.0
