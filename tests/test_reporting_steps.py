"""What is printed to be pasted works: secrets from their variables, several requests, a receiver, crowds."""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from rap_conformance.engine.evidence import Exchange, Finding, Headers, Hidden, Piece, Steps
from rap_conformance.engine.inputs import Secret
from rap_conformance.engine.requirement import Level
from rap_conformance.network.redaction import Redactor
from rap_conformance.network.sources import Sources, made_of
from rap_conformance.protocol.forgeries import forged, forgeries, loose
from rap_conformance.protocol.secrets import pieces
from rap_conformance.reporting.curl import chained, curl
from rap_conformance.reporting.steps import reproduce
from tests import runs
from tests.support import unused_port

SECRETS = {
    "RAP_TOKEN": ("Authorization", "Bearer Tok-5F1c7A93e0B24d68"),
    "SHORT": ("Authorization", "Bearer a7"),
    "BASIC": ("Authorization", f"Basic {base64.b64encode(b'somebody:who Knows 4711').decode()}"),
    "KEY": ("X-Api-Key", "k-99aaBBcc7766"),
    "CRUMB": ("Cookie", "session=Crumb77aa02ee91bc; theme=dark"),
}


@contextmanager
def listening() -> Iterator[tuple[str, list[Any]]]:
    """A server that keeps what arrives: connection, path, headers, body."""
    seen: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            seen.append((self.client_address[1], self.path, dict(self.headers.items()), body))
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", seen
        server.shutdown()


def sh(command: str, **environment: str) -> str:
    """What a command prints."""
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.decode("utf-8", "replace")


def sent(url: str, headers: tuple[tuple[str, str], ...], sources: Sources, **more: Any) -> Exchange:
    """An exchange as a probe records it."""
    redactor = Redactor()
    for _, value in (*headers, *SECRETS.values()):
        for part in Secret(value).parts():
            redactor.learn(part)
    shown = redactor.headers(headers)
    hidden = sources.hidden(headers, shown, url, redactor.text(url))
    return replace(
        runs.exchange(url=redactor.text(url)), request_headers=shown, hidden=hidden, number=1, **more
    )


def known() -> Sources:
    sources = Sources()
    for variable, (name, value) in SECRETS.items():
        sources.learn(name, value, variable)
    return sources


def callers(ours: Headers) -> Iterator[tuple[str, Headers, str]]:
    """Who asks: we, and every stranger that is made of us; title, headers, query string."""
    yield "itself", ours, ""
    for piece in pieces(ours):
        for title, _ in forgeries(piece):
            yield title, forged(ours, piece, title), ""
        for title, change, search in loose(piece):
            yield title, change(ours), search


@pytest.mark.parametrize("variable", SECRETS)
def test_every_forgery_is_made_of_the_right_credential_again(variable: str) -> None:
    name, value = SECRETS[variable]
    sources = Sources()
    sources.learn(name, value, variable)
    cases = list(callers(((name, value),)))
    with listening() as (url, seen):
        for title, headers, search in cases:
            seen.clear()
            command = curl(sent(f"{url}/x?{search}" if search else f"{url}/x", headers, sources))
            if "RAP_FORGED" in command and variable == "BASIC":
                continue  # what was encoded anew cannot be made by cutting
            assert "RAP_FORGED" not in command, title
            sh(command, **{variable: value})
            [(_, path, got, _)] = seen
            expected = dict(headers)
            assert {k: v for k, v in got.items() if k in expected} == expected, title
            assert path.partition("?")[2] == search, title
            # Of the secret no four characters in a row stand in the command.
            secret = value.partition(" ")[2] if name == "Authorization" else value
            told = [secret[n : n + 4] for n in range(len(secret) - 3) if secret[n : n + 4] in command]
            assert not told, title


def test_what_would_tell_too_much_of_a_secret_is_left_to_a_placeholder() -> None:
    sources = known()
    odd = (("Authorization", "Bearer 68d42B0e39A7c1F5-koT-and-7A93e0B2"),)
    command = curl(sent("http://127.0.0.1:1/x", odd, sources))
    assert '-H "Authorization: $RAP_FORGED_AUTHORIZATION"' in command
    assert command.startswith("# RAP_FORGED_AUTHORIZATION has to hold the value that the header Author")
    assert made_of("Bearer abcdefgh", "Bearer efghabcd", "V", True) is None
    assert made_of("Bearer abcdefgh", "Abcdefg x", "V", True) is None


def test_a_literal_credential_becomes_a_placeholder_that_is_explained() -> None:
    sources = Sources()
    for name, value in SECRETS.values():
        sources.learn(name, value)
    headers = (SECRETS["BASIC"], SECRETS["CRUMB"])
    command = curl(sent("http://127.0.0.1:1/x", headers, sources))
    assert '-H "Authorization: $RAP_TOKEN_3"' in command
    assert '-H "Cookie: $RAP_COOKIE"' in command
    assert "# RAP_COOKIE has to hold the whole value of the header Cookie.\n" in command


def test_certificates_and_signatures_are_named_and_no_secret() -> None:
    proof = (("cert", "my client.pem"), ("key", "client.key"), ("cacert", "ca.pem"))
    command = curl(replace(runs.exchange(), proof=proof))
    assert "--cert 'my client.pem' \\\n  --key client.key \\\n  --cacert ca.pem" in command
    signed = replace(
        runs.exchange(),
        proof=(("aws-sigv4", "aws:amz:eu-central-1:lambda"),),
        request_headers=(("Authorization", "<redacted>"), ("X-Amz-Date", "20261201T000000Z")),
    )
    command = curl(signed)
    assert "--aws-sigv4 aws:amz:eu-central-1:lambda" in command
    assert '--user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"' in command
    assert "Authorization" not in command
    assert "X-Amz-Date" not in command


def test_a_chain_is_one_command_on_one_connection() -> None:
    bodies = (b'{"it\'s": "$HOME \\\\ %s"}', b"\xff\x80 odd", b"\x00\n")
    with listening() as (url, seen):
        exchanges = [
            replace(runs.exchange(body, url=f"{url}/{n}"), number=1) for n, body in enumerate(bodies)
        ]
        command = chained(exchanges)
        assert command.count("curl ") == 1
        assert command.count("--next") == 2
        sh(command, RAP_TOKEN="t")
        assert [body for _, _, _, body in seen] == list(bodies)
        assert len({connection for connection, *_ in seen}) == 1


def finding(*exchanges: Exchange, **more: Any) -> Finding:
    return Finding("TCS004", Level.MUST, "a case", "this", "that", exchanges, **more)


def test_steps_are_paced_listened_for_and_commented(tmp_path: Path) -> None:
    port = unused_port()
    with listening() as (url, seen):
        first = replace(runs.exchange(b"call", url=f"{url}/call"), started=1.0, ended=1.1)
        asked = replace(runs.exchange(b"ask", url=f"{url}/ask"), started=1.5, ended=1.6)
        callback = replace(runs.CALLBACK, started=1.7, ended=1.7, status=503)
        steps = Steps((first, asked, callback, replace(callback, status=200)), listen=("127.0.0.1", port))
        command = reproduce(finding(asked, steps=steps, depends="a call that\nis live"))
        assert command.startswith("# It depends on a call that?is live.\n")
        assert "\nsleep 0.4\n# This is what it is about:\ncurl" in command
        assert f"127.0.0.1 {port} 503 &" in command
        post = f"curl -sS -o /dev/null -w 'got %{{http_code}}\n' --data-raw hello http://127.0.0.1:{port}/x\n"
        said = sh(command.replace("# This is what", f"{post}{post}# This is what"), RAP_TOKEN="t")
        assert [body for *_, body in seen] == [b"call", b"ask"]
    assert [line for line in said.splitlines() if line.startswith("got ")] == ["got 503", "got 200"]
    assert said.count("received: b'hello'") == 2


def test_what_listens_understands_chunks() -> None:
    port = unused_port()
    one = replace(runs.exchange(b"x", url="http://127.0.0.1:9/"), started=1.0, ended=1.0)
    command = reproduce(finding(one, steps=Steps((one,), listen=("127.0.0.1", port))))
    post = (
        f"printf 'a b' | curl -sS -H 'Transfer-Encoding: chunked' --data-binary @- http://127.0.0.1:{port}/"
    )
    said = sh(f"{command.partition('curl')[0]}\n{post}\nkill $receiver")
    assert "received: b'a b'" in said


def test_a_crowd_counts_its_answers() -> None:
    with listening() as (url, seen):
        one, other = (replace(runs.exchange(b"x", url=f"{url}/{n}"), started=float(n)) for n in range(2))
        command = reproduce(finding(one, other, crowd=40, steps=Steps((one, other), crowd=40)))
        assert "40 ok 200" in sh(command, RAP_TOKEN="t")
        assert sorted({path for _, path, *_ in seen}) == ["/0", "/1"]
        assert len(seen) == 40


def test_a_restart_is_waited_for() -> None:
    one, two = (replace(runs.exchange(), started=float(n), ended=n + 0.1) for n in (1, 5))
    command = reproduce(finding(two, steps=Steps((one, two), restarts=(3.0,))))
    assert "then press Enter: '; read -r _\n# This is what it is about:" in command
    assert "sleep" not in command


def test_no_text_of_a_server_gets_out_of_its_quotes() -> None:
    for each in runs.hostile().results[0].findings[0].exchanges:
        odd = replace(each, hidden=(Hidden(0, ("'; touch x; \"$(x)", Piece("V"))),))
        command = reproduce(finding(odd, steps=Steps((odd,), listen=("127.0.0.1; touch x", 1))))
        assert command.isascii()
        done = subprocess.run(["/bin/sh", "-n", "-c", command], capture_output=True, timeout=30, check=False)
        assert done.returncode == 0, done.stderr
        assert "'127.0.0.1; touch x' 1" in command
