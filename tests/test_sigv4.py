"""Requests signed for AWS, as a server sees them."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from rap_conformance.network.credentials import NOBODY, Credentials
from rap_conformance.network.patience import Patience
from rap_conformance.network.probe import Probe
from rap_conformance.network.redaction import Redactor

pytest.importorskip("botocore", reason="the extra `sigv4` is not installed")


def test_each_request_is_signed_for_its_own_body_and_nothing_of_it_is_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from rap_conformance.network.sigv4 import signer

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret-access-key-of-nobody")
    seen: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(dict(self.headers.items()))
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/tool_call_status"
    credentials = Credentials(signer=signer("lambda", "eu-central-1"))
    probe = Probe(Patience(), Redactor(), timeout=5, credentials=credentials, origins=[url])
    try:
        exchanges = [probe.send("POST", url, body) for body in (b"{}", b'{"a": 1}')]
        probe.send("POST", url, b"{}", credentials=NOBODY)
    finally:
        probe.close()
        server.shutdown()
        server.server_close()
    one, two, nobody = seen
    assert one["Authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-central-1/lambda/aws4_request" in one["Authorization"]
    assert one["Authorization"] != two["Authorization"]
    assert "Authorization" not in nobody
    for exchange in exchanges:
        assert "Signature=" not in repr(exchange)
