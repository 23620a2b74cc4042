"""A small tool server of the tests' own, with faults that hide; by hand: `python -m tests.faulty FAULT`.

`header-cache`: a header that came before on the same connection is taken for the same in another letter case.
`folded-ids`: a live call's id is found in any letter case. `always-404`: every question is answered 404.
`crowd`: while several are answered, each is told `true`. `forgets`: no call is ever live.
`nameless`: the manifest has no name. `none`: no fault.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

TOKEN = "Bearer Tok-5F1c7A93e0B24d68"
SECONDS = 2.0
TOOLS = [
    {"name": "echo", "description": "Echoes.", "inputSchema": {"type": "object"}},
    {"name": "wait", "description": "Waits.", "inputSchema": {"type": "object"}},
]
CONFIG = f"""
[server]
url = "{{url}}"
[auth]
headers = {{{{ Authorization = "env:RAP_TOKEN" }}}}
[timing]
grace = 2.0
race_window = 1.0
[scenario.quick]
operation = "echo"
[scenario.pending]
operation = "wait"
seconds = {SECONDS}
"""


class Server(ThreadingHTTPServer):
    """Listens on a free port of loopback."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, fault: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.fault, self.url = fault, f"http://127.0.0.1:{self.server_address[1]}"
        self.live: set[str] = set()
        self.asking, self.lock = 0, threading.Lock()

    def work(self, message: dict[str, Any]) -> None:
        """Do what was asked and bring the result."""
        self.live.add(message["id"])
        time.sleep(SECONDS if message["operation"] == "wait" else 0.05)
        result = {"type": "tool_result", "text": "done", "id": message["id"], "group_id": message["group_id"]}
        parts = urlsplit(message["callback_url"])
        wire = HTTPConnection(parts.netloc, timeout=5)
        try:
            path = f"{parts.path}?{parts.query}"
            wire.request("POST", path, json.dumps(result), {"Content-Type": "application/json"})
            wire.getresponse().read()
        except OSError:
            pass  # nobody listens any more
        finally:
            wire.close()
            self.live.discard(message["id"])

    def alive(self, call_id: str) -> bool:
        """Whether a call is pending."""
        if self.fault == "forgets":
            return False
        if self.fault == "folded-ids":
            return call_id.lower() in {each.lower() for each in self.live}
        return call_id in self.live


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Server

    def setup(self) -> None:
        super().setup()
        self.seen: dict[str, str] = {}

    def authorization(self) -> str:
        """The header as it came, or as something like it came before on this connection."""
        value = self.headers.get("Authorization", "")
        if self.server.fault == "header-cache":
            return self.seen.setdefault(value.lower(), value)
        return value

    def answer(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        if self.path != "/.well-known/rap-toolset":
            self.answer(404, {"error": "not found"})
            return
        name = {} if self.server.fault == "nameless" else {"name": "faulty"}
        self.answer(200, {**name, "endpoint": f"{self.server.url}/invoke", "tools": TOOLS})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        try:
            message = json.loads(body)
        except ValueError:
            message = None
        if self.authorization() != TOKEN:
            self.answer(401, {"error": "who is it?"})
        elif not isinstance(message, dict) or self.path not in {"/invoke", "/tool_call_status"}:
            self.answer(404 if isinstance(message, dict) else 400, {"error": "what is it?"})
        elif self.path == "/invoke":
            threading.Thread(target=self.server.work, args=(message,), daemon=True).start()
            self.answer(200, {})
        else:
            self.status(message)

    def status(self, message: dict[str, Any]) -> None:
        """The status check."""
        call_id, server = message.get("tool_call_id"), self.server
        if server.fault == "always-404" or not isinstance(call_id, str):
            self.answer(404, {"error": "no such call"})
            return
        alive = server.alive(call_id)
        if server.fault == "crowd":
            with server.lock:
                server.asking += 1
            time.sleep(0.03)
            alive = alive or server.asking > 2
            with server.lock:
                server.asking -= 1
        self.answer(200, {"alive": alive})

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(fault: str) -> Iterator[Server]:
    """A server that runs beside the test."""
    with Server(fault) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()


if __name__ == "__main__":
    with Server(sys.argv[1]) as by_hand:
        print(by_hand.url, flush=True)
        by_hand.serve_forever()
