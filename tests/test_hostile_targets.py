"""Targets that misbehave on the wire: a finding or an error within the deadline, never a hang of ours."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support import listening, read_request, run

MANIFEST: dict[str, Any] = {
    "name": "hostile",
    "endpoint": "http://127.0.0.1:9/invoke",
    "tools": [{"name": "t", "description": "d", "inputSchema": {"type": "object"}}],
}


def hang(connection: socket.socket) -> None:
    read_request(connection)
    connection.settimeout(60)
    connection.recv(1)


def headers_and_stop(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Le")
    connection.settimeout(60)
    connection.recv(1)


def drip(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    over = threading.Event()
    for _ in range(600):
        connection.sendall(b"a")
        over.wait(0.1)


def close_mid_body(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(
        b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"name"'
    )


def speak_no_http(connection: socket.socket) -> None:
    connection.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n")
    read_request(connection)


def ten_megabytes(connection: socket.socket) -> None:
    while read_request(connection):
        body = b'{"name": "' + b"x" * 10_000_000 + b'"}'
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)


def redirect_in_a_circle(connection: socket.socket) -> None:
    while read_request(connection):
        connection.sendall(b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")


def reset(connection: socket.socket) -> None:
    connection.recv(1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")


BEHAVIOURS: list[Callable[[socket.socket], None]] = [
    hang,
    headers_and_stop,
    drip,
    close_mid_body,
    speak_no_http,
    ten_megabytes,
    redirect_in_a_circle,
    reset,
]


@pytest.mark.parametrize("behave", BEHAVIOURS, ids=lambda behave: behave.__name__)
def test_misbehaviour_is_reported_in_time(behave: Callable[[socket.socket], None], tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[server]\nrequest_timeout = 1.0\n")
    began = time.monotonic()
    with listening(behave) as url:
        outcome = run(tmp_path, "check", "--config", "c.toml", "--server-url", url, "--profile", "quick")
    assert time.monotonic() - began < 30
    assert outcome.exit in {1, 7}, outcome.out + outcome.err
    assert outcome.verdicts()["DSC001"] == "fail"
    assert "our own error" not in outcome.out
    assert "Traceback" not in outcome.out + outcome.err
    assert outcome.report["verdict"] == "not-conformant"


def test_a_status_endpoint_that_hangs_is_an_error_in_bounded_time(tmp_path: Path) -> None:
    def behave(connection: socket.socket) -> None:
        while head := read_request(connection):
            if head.startswith(b"POST"):
                connection.settimeout(60)
                while connection.recv(4096):
                    pass
                return
            body = json.dumps(MANIFEST).encode()
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                % (len(body), body)
            )

    (tmp_path / "c.toml").write_text("[server]\nrequest_timeout = 1.0\n")
    with listening(behave) as url:
        outcome = run(tmp_path, "check", "--config", "c.toml", "--server-url", url, "--profile", "quick")
    assert outcome.exit in {1, 7}
    assert "our own error" not in outcome.out
    verdicts = outcome.verdicts()
    assert verdicts["DSC001"] == "pass"
    assert not [code for code, verdict in verdicts.items() if code.startswith("TCS") and verdict == "pass"]


class Silent(BaseHTTPRequestHandler):
    """Answers without a word, and logs nothing."""

    protocol_version = "HTTP/1.1"

    def _answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def thief(seen: list[tuple[str, str | None]]) -> type[Silent]:
    """Takes whatever is sent to it."""

    class Thief(Silent):
        def do_POST(self) -> None:
            seen.append((self.path, self.headers.get("Authorization")))
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._answer(200)

    return Thief


def pointing(elsewhere: str) -> type[Silent]:
    """Has its endpoint on another origin."""
    tool = {**MANIFEST["tools"][0], "annotations": {"readOnly": True}}
    manifest = json.dumps({**MANIFEST, "endpoint": elsewhere, "tools": [tool]}).encode()

    class Target(Silent):
        def do_GET(self) -> None:
            self._answer(200, manifest)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._answer(404)

    return Target


@contextlib.contextmanager
def serving(handler: type[Silent]) -> Iterator[int]:
    """The port on which it serves."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.long
def test_an_endpoint_on_another_origin_gets_no_credentials(tmp_path: Path) -> None:
    seen: list[tuple[str, str | None]] = []
    (tmp_path / "c.toml").write_text("[timing]\ngrace = 1.0\n")
    header = "Authorization: Bearer very-secret-token"
    with (
        serving(thief(seen)) as other,
        serving(pointing(f"http://127.0.0.1:{other}/invoke")) as port,
    ):
        target = ("--config", "c.toml", "--server-url", f"http://127.0.0.1:{port}")
        outcome = run(tmp_path, "check", *target, "--auth-header", header, "--requirement", "DSC*")
    assert seen, "the control: invocations do reach the endpoint"
    assert all(authorization is None for _, authorization in seen)
    assert "very-secret-token" not in outcome.out + outcome.err
    for name in ("report.json", "report.html", "junit.xml"):
        assert "very-secret-token" not in (tmp_path / "reports" / name).read_text("utf-8")


def test_proxies_of_the_environment_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    def proxy(connection: socket.socket) -> None:
        asked.append(read_request(connection))

    with listening(close_mid_body) as url, listening(proxy) as elsewhere:
        for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
            value = "" if name == "no_proxy" else elsewhere
            monkeypatch.setenv(name, value)
            monkeypatch.setenv(name.upper(), value)
        outcome = run(tmp_path, "check", "--server-url", url, "--requirement", "DSC001")
    assert outcome.verdicts() == {"DSC001": "fail"}, "the control: the target itself was asked"
    assert asked == []
