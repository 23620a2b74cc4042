"""Targets that misbehave on the wire: a finding or an error within the deadline, never a hang of ours."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
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


@pytest.mark.long
def test_an_endpoint_on_another_origin_gets_no_credentials(tmp_path: Path) -> None:
    seen: list[tuple[str, str | None]] = []

    class Thief(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            seen.append((self.path, self.headers.get("Authorization")))
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    class Target(Thief):
        def do_GET(self) -> None:
            body = json.dumps(
                {
                    **MANIFEST,
                    "endpoint": elsewhere,
                    "tools": [{**MANIFEST["tools"][0], "annotations": {"readOnly": True}}],
                }
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

    thief, target = (ThreadingHTTPServer(("127.0.0.1", 0), handler) for handler in (Thief, Target))
    elsewhere = f"http://127.0.0.1:{thief.server_port}/invoke"
    for server in (thief, target):
        threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        (tmp_path / "c.toml").write_text("[timing]\ngrace = 1.0\n")
        outcome = run(
            tmp_path,
            "check",
            "--config",
            "c.toml",
            "--server-url",
            f"http://127.0.0.1:{target.server_port}",
            "--auth-header",
            "Authorization: Bearer very-secret-token",
            "--requirement",
            "DSC*",
        )
    finally:
        for server in (thief, target):
            server.shutdown()
            server.server_close()
    assert seen, "the control: invocations do reach the endpoint"
    assert all(authorization is None for _, authorization in seen)
    assert "very-secret-token" not in outcome.out + outcome.err
    for name in ("report.json", "report.html", "junit.xml"):
        assert "very-secret-token" not in (tmp_path / "reports" / name).read_text("utf-8")
