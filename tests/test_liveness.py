"""The liveness vectors: well-formed, complete, read right by wire.py, played right by scripted servers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from rap_conformance.engine.evidence import Exchange
from rap_conformance.network.patience import Patience
from rap_conformance.network.probe import Probe
from rap_conformance.network.redaction import Redactor
from rap_conformance.network.scripted import ScriptedServers
from rap_conformance.network.toolserver import ToolServer
from rap_conformance.places import place
from rap_conformance.protocol.messages import JSON, encode, query
from rap_conformance.protocol.payloads import PayloadError
from rap_conformance.protocol.reading import Liveness, means_alive, read_liveness, runtime_reading
from rap_conformance.runtime.vectors import BASES, FAILURES, Vector, load, vectors

FILE = place("fixtures") / "payloads" / "liveness.json"
SAMPLE = {"name": "a", "status": 200, "liveness": "gone", "allowed": ["gone"], "basis": "stated", "why": "so"}
by_name = pytest.mark.parametrize("vector", vectors(), ids=lambda vector: vector.name)


def test_the_file_is_ascii_and_small_and_its_names_are_plain() -> None:
    data = FILE.read_bytes()
    assert data.isascii()
    assert len(data) < 100_000
    for entry in json.loads(data):
        assert entry["name"].replace("-", "").isalnum()
        assert entry["name"] == entry["name"].lower()
        assert entry["why"].strip()


def test_there_are_many_of_every_kind() -> None:
    found = vectors()
    assert len(found) >= 80
    assert set(Counter(vector.basis for vector in found)) == set(BASES)
    assert {vector.liveness for vector in found if not vector.silent} == set(Liveness)
    assert {vector.failure for vector in found} == {"", *FAILURES}
    statuses = {vector.status for vector in found}
    assert {200, 201, 202, 204, 206, 301, 302, 303, 307, 308, 400, 401, 404, 429, 500, 502, 503} <= statuses
    bodies = {vector.body for vector in found if vector.status == 200}
    assert {b"[true]", b'{"alive": "true"}', b'{"alive": 1}', b"", b"{}", b"null"} <= bodies


@by_name
def test_silent_vectors_allow_both_outcomes_and_others_accuse_by_one(vector: Vector) -> None:
    assert vector.liveness in vector.allowed
    if vector.silent:
        assert Liveness.GONE in vector.allowed
        assert len(vector.allowed) > 1
        assert vector.may_be_kept
        assert vector.may_be_pruned
    elif "heuristics" not in vector.why:
        assert vector.may_be_kept != vector.may_be_pruned


@by_name
def test_wire_reads_it_right(vector: Vector) -> None:
    reading = read_liveness(vector.exchange)
    assert reading in vector.allowed
    assert reading is vector.liveness or vector.silent, "the file says what the suite itself makes of it"
    assert runtime_reading(vector.exchange).startswith(str(reading))


@by_name
def test_the_lenient_reading_calls_nothing_alive_that_is_surely_gone(vector: Vector) -> None:
    if vector.liveness is Liveness.ALIVE and vector.basis == "stated":
        assert means_alive(vector.exchange) is True
    if vector.name.startswith("alive-false"):
        assert means_alive(vector.exchange) is False


@pytest.fixture(scope="module")
def stage() -> Iterator[tuple[ScriptedServers, Probe]]:
    patience = Patience()
    servers = ScriptedServers(patience)
    servers.start()
    probe = Probe(patience, Redactor(), timeout=0.6)
    yield servers, probe
    probe.close()
    patience.halt()
    servers.stop()


def home(servers: ScriptedServers, vector: Vector) -> ToolServer:
    match vector.failure:
        case "refused":
            return servers.nobody()
        case "name":
            return servers.nowhere()
        case "tls":
            return servers.server(tls=vector.partial)
    return servers.server()


@by_name
def test_a_scripted_server_plays_it(stage: tuple[ScriptedServers, Probe], vector: Vector) -> None:
    servers, probe = stage
    server = home(servers, vector)
    server.play("thread", "call", vector.act())
    body = encode(query("call", "thread"))
    url = f"{server.base}/tool_call_status"
    exchange: Exchange = probe.send("POST", url, body, headers=JSON, patient=False)
    assert read_liveness(exchange) in vector.allowed
    assert exchange.status == vector.status
    assert exchange.failure == vector.exchange.failure, exchange.detail
    if not vector.failure:
        assert exchange.response_body == vector.body or exchange.detail.startswith("decoded from")
    if server.queries:
        asked = server.queries[0]
        assert asked.is_status
        assert asked.names("call")
        assert not asked.names("other")
        assert asked.exchange.inbound
        assert asked.exchange.request_body == body


@pytest.mark.parametrize(
    "text",
    [
        "[",
        "{}",
        "[]",
        "[1]",
        json.dumps([SAMPLE, SAMPLE]),
        json.dumps([{**SAMPLE, "liveness": "dead"}]),
        json.dumps([{**SAMPLE, "liveness": "alive"}]),
        json.dumps([{**SAMPLE, "basis": "felt"}]),
        json.dumps([{**SAMPLE, "failure": "bad luck"}]),
        json.dumps([{**SAMPLE, "body_base64": "?"}]),
        json.dumps([{key: value for key, value in SAMPLE.items() if key != "why"}]),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "liveness.json").write_text(text)
    with pytest.raises(PayloadError, match=r"liveness\.json"):
        load(tmp_path / "liveness.json")


READERS = {
    "node": ["node", "--test", "liveness.test.mjs"],
    "go": ["go", "test", "-count=1", "./..."],
}


@pytest.mark.parametrize("language", READERS)
def test_other_languages_read_the_file(language: str, tmp_path: Path) -> None:
    if shutil.which(language) is None:
        pytest.skip(f"there is no {language} here")
    done = subprocess.run(
        READERS[language],
        cwd=Path(__file__).resolve().parent.parent / "examples" / "vectors",
        env={**os.environ, "LIVENESS": str(FILE), "GOFLAGS": "-mod=mod", "GOCACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
