"""A command that repeats a request sends what was sent."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from rap_conformance.engine.evidence import Exchange
from rap_conformance.reporting.curl import curl
from tests import runs


@dataclass
class Received:
    method: str = ""
    path: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, list[Received]]]:
    seen: list[Received] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            seen.append(Received(self.command, self.path, headers, body))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = answer

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}", seen
        listening.shutdown()
        thread.join()


def repeat(exchange: Exchange, seen: list[Received], folder: Path) -> Received:
    seen.clear()
    command = curl(exchange)
    assert command.isascii()
    assert all(char.isprintable() or char == "\n" for char in command)
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "RAP_TOKEN": "s3 cret"},
        check=False,
        capture_output=True,
        timeout=15,
    )
    assert done.returncode == 0, done.stderr
    assert not list(folder.iterdir())
    assert len(seen) == 1
    return seen[0]


BODIES = {
    "empty": b"",
    "json": b'{"id":"it\'s \\"quoted\\" $HOME `id` $(touch x) %s \\n ##[x] !"}',
    "lines": b"a\nb\r\n\n",
    "nul": b"\x00a\x00\x001\x007",
    "not utf-8": b"\xff\xfe\x80",
    "every byte": bytes(range(256)),
    "hyphen": b"-n\n",
    "at sign": b"@/etc/passwd",
    "octal": b"\x019\x0012%%\\\\n\\033",
    "emoji": '{"id":"🎉\u202e\ud800"}'.encode("utf-8", "surrogatepass"),
    "long but repeated": b'{"id":"' + b"'" * 70_000 + b"\n" + b"\xc3\xa9" * 9 + b"\x00" * 300_000 + b'"}',
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_curl_sends_the_same_bytes(body: bytes, server: tuple[str, list[Received]], tmp_path: Path) -> None:
    base, seen = server
    got = repeat(runs.exchange(body, url=f"{base}/tool_call_status"), seen, tmp_path)
    assert got.body == body
    assert (got.method, got.path) == ("POST", "/tool_call_status")
    assert got.headers["authorization"] == "Bearer s3 cret"
    assert got.headers["content-type"] == "application/json"
    assert "accept" not in got.headers


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
def test_curl_keeps_method_path_and_headers(
    method: str, server: tuple[str, list[Received]], tmp_path: Path
) -> None:
    base, seen = server
    sent = replace(
        runs.exchange(b"", url=f"{base}/a/../b//%2e%2e/{{x}}[1-3]?q='$(touch x)'&r=%00"),
        method=method,
        request_headers=(("X-Odd", "'; touch x; \""), ("X-Empty", ""), ("Host", "evil.example")),
    )
    got = repeat(sent, seen, tmp_path)
    assert (got.method, got.path) == (method, "/a/../b//%2e%2e/{x}[1-3]?q='$(touch%20x)'&r=%00")
    assert got.headers["x-odd"] == "'; touch x; \""
    assert got.headers["x-empty"] == ""
    assert got.headers["host"] == "evil.example"
    assert "content-type" not in got.headers


def test_a_body_that_is_too_long_is_cut_and_the_command_says_so() -> None:
    command = curl(runs.exchange(bytes(range(256)) * 40))
    assert command.startswith("# The body is cut: the first 4,096 of 10,240 bytes.\n")
    assert len(command) < 20_000


def test_an_inbound_exchange_says_that_it_was_the_servers() -> None:
    assert curl(runs.CALLBACK).startswith("# The peer under test sent this request")
