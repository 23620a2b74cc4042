"""No credential reaches a file or the terminal, also when the server gives it back and all is logged."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support import environment

ROOT = Path(__file__).resolve().parent.parent
TOKEN = "tok-5f1c7a93e0b24d68"
COOKIE = "crumb-77aa02ee91bc"
CANARY = (TOKEN, TOKEN[:-1], COOKIE)


class Parrot(BaseHTTPRequestHandler):
    """Answers every request with the request itself, credentials included."""

    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        said = dict(self.headers.items())
        port = self.connection.getsockname()[1]
        answer = {
            "name": f"parrot {said.get('Authorization')}",
            "endpoint": f"http://127.0.0.1:{port}/invoke",
            "tools": [
                {
                    "name": f"t {said.get('Authorization')}",
                    "description": json.dumps(said),
                    "inputSchema": {"type": "object"},
                    "annotations": {"readOnly": True},
                }
            ],
            "alive": None,
            "you_said": said,
            "body": body.decode("utf-8", "replace"),
        }
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Echo", said.get("Authorization", ""))
        self.send_header("Set-Cookie", said.get("Cookie", "a=b"))
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = _answer

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def parrot() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Parrot)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def leaks(text: str) -> list[str]:
    """The secrets that a text holds."""
    return [secret for secret in CANARY if secret in text]


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        ["-m", "rap_conformance", "check", "-v", "--auth-header"],
        ["-m", "pytest", "-p", "no:cacheprovider", "-l", "-vv", "--log-cli-level=DEBUG", "--rap-auth-header"],
    ],
    ids=["check", "pytest-with-locals-and-debug-logs"],
)
def test_no_secret_in_any_artefact(words: list[str], parrot: str, tmp_path: Path) -> None:
    plain = words[1] == "pytest"
    dash = "--rap-" if plain else "--"
    option = words.pop()
    config = tmp_path / "c.toml"
    config.write_text("[timing]\ngrace = 0.5\nrace_window = 0.5\n")
    done = subprocess.run(
        [
            sys.executable,
            *words,
            *(["conformance"] if plain else []),
            f"--server-url={parrot}",
            f"{option}=Authorization: env:RAPC_TEST_TOKEN",
            f"{option}=Cookie: session={COOKIE}",
            f"{dash}profile=quick",
            f"{dash}config={config}",
            f"{dash}report-dir={tmp_path / 'reports'}",
        ],
        cwd=ROOT if plain else tmp_path,
        env=environment(RAPC_TEST_TOKEN=f"Bearer {TOKEN}", PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=240,
        check=False,
    )
    assert done.returncode == 1, done.stdout[-3000:] + done.stderr[-3000:]
    assert not leaks(done.stdout)
    assert not leaks(done.stderr)
    names = {path.name for path in (tmp_path / "reports").iterdir()}
    assert {"report.html", "report.json", "junit.xml", "summary.md"} <= names
    for path in (tmp_path / "reports").iterdir():
        assert not leaks(path.read_text("utf-8")), path.name
    # The control: the parrot did say something, and what hides the token is the mask.
    assert "&lt;redacted&gt;" in (tmp_path / "reports" / "report.html").read_text("utf-8")


def test_the_token_of_a_command_line_is_no_secret_of_the_report(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "rap_conformance",
                "check",
                "--auth-header",
                f"Authorization: Bearer {TOKEN}",
            ),
            *("--server-cmd", f'"{sys.executable}" -m rap_conformance serve --port {{port}} --token {TOKEN}'),
            *("--requirement", "DSC*", "--profile", "quick"),
        ],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for path in (tmp_path / "reports").iterdir():
        assert not leaks(path.read_text("utf-8")), path.name
