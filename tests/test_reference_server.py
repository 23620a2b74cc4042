"""The reference server keeps the protocol: real HTTP, a real receiver, deadlines instead of sleeps.

Long because one server, every message.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from fixtures.servers.reference import Options, ReferenceServer, serve
from fixtures.servers.reference.serving import Runner, bind
from fixtures.servers.reference.toolset import TOOLS, accepts

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parent.parent
DEADLINE = 8.0
NUMBERS = count(1)
SERVE = """
import sys, pathlib
from fixtures.servers.reference import *
serve(ReferenceServer(Options(port=int(sys.argv[1]), state=pathlib.Path(sys.argv[2]))))
"""


def until(condition: Callable[[], Any], what: str) -> Any:
    """What `condition` gives once it is true; fails at the deadline."""
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.005)
    pytest.fail(f"within {DEADLINE} s: {what}")


class Receiver:
    """Takes callbacks. `script` gives the answers to one path, in order; 0 is never an answer; then 200."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, Json]] = []
        self.script: dict[str, list[int]] = {}
        self.released = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                assert self.headers["content-type"] == "application/json"
                receiver.messages.append((self.path, json.loads(body.decode("utf-8"))))
                answers = receiver.script.get(self.path)
                status = answers.pop(0) if answers else 200
                if not status:
                    receiver.released.wait(DEADLINE)
                    return
                self.send_response(status)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        class Http(ThreadingHTTPServer):
            request_queue_size = 512  # a connection that does not fit costs its sender a second

        self._http = Http(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=lambda: self._http.serve_forever(0.02))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def at(self, path: str) -> list[Json]:
        return [message for where, message in list(self.messages) if where == path]

    def close(self) -> None:
        self.released.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class Peer:
    """A server under test, as one identity sees it."""

    def __init__(self, base: str, receiver: Receiver, token: str) -> None:
        self.base, self.receiver = base, receiver
        self.http = httpx.Client(trust_env=False, base_url=base, timeout=DEADLINE)
        self.http.headers["Authorization"] = f"Bearer {token}"

    def post(self, path: str, body: object, **headers: str) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.http.post(path, content=content, headers={"Content-Type": "application/json", **headers})

    def about(self, call: Json, path: str = "/tool_call_status") -> httpx.Response:
        return self.post(path, {"thread_id": call["group_id"], "tool_call_id": call["id"]})

    def alive(self, call: Json) -> bool:
        answer = self.about(call)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
        assert answer.content in (b'{"alive":true}', b'{"alive":false}')
        return answer.content == b'{"alive":true}'

    def call(self, operation: str, arguments: object, **more: Any) -> Json:
        name = f"call-{next(NUMBERS)}"
        call = {"operation": operation, "arguments": arguments, "id": name, "group_id": "thread"} | more
        call = {"callback_url": f"{self.receiver.url}/{name}"} | call
        answer = self.post("/invoke", call)
        assert (answer.status_code, answer.content) == (200, b"")
        return call

    def got(self, call: Json, number: int = 1) -> list[Json]:
        path = call["callback_url"].removeprefix(self.receiver.url)
        until(lambda: len(self.receiver.at(path)) >= number, f"{number} messages for {call['id'][:20]!a}")
        return self.receiver.at(path)

    def settled(self, call: Json) -> None:
        until(lambda: not self.alive(call), f"{call['id'][:20]!a} is no longer alive")


@contextmanager
def running(server: ReferenceServer, receiver: Receiver) -> Iterator[Peer]:
    sockets = bind(server.options.host, server.options.port)
    server.port = sockets[0].getsockname()[1]
    runner = Runner(server)
    thread = threading.Thread(target=lambda: runner.run(sockets=sockets))
    thread.start()
    until(lambda: runner.started, "the server is up")
    peer = Peer(server.base_url(), receiver, "one")
    try:
        yield peer
    finally:
        peer.http.close()
        runner.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture(scope="module")
def peer(receiver: Receiver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    class Hasty(ReferenceServer):
        BODY_SECONDS = 1.0
        FIRST_PAUSE = 0.7

    state = tmp_path_factory.mktemp("state") / "calls.db"
    with running(Hasty(Options(port=0, tokens=("one", "two"), state=state)), receiver) as peer:
        yield peer


def test_discovery(peer: Peer) -> None:
    answer = httpx.get(peer.base + "/.well-known/rap-toolset", headers={"Host": "evil.test"}, trust_env=False)
    manifest = answer.json()
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert manifest["endpoint"] == peer.base + "/invoke"
    assert [tool["name"] for tool in manifest["tools"]] == ["echo", "wait", "watch", "time"]
    for tool in manifest["tools"]:
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        assert tool["inputSchema"]["additionalProperties"] is False
    assert peer.http.head("/.well-known/rap-toolset").status_code == 200


ARGUMENTS = """
{} {"text": "a"} {"text": 1} {"text": "a", "x": 1} {"seconds": 0} {"seconds": true} {"seconds": 3601}
{"seconds": -1} {"seconds": 0.5, "text": "a"} {"seconds": 1, "text": null} {"seconds": 1e999}
{"interval": 0.05} {"interval": 0.04} {"interval": "1"} {"interval": 1, "count": 1}
{"interval": 1, "count": 2.0} {"interval": 1, "count": 0} {"interval": 1, "count": 1.5}
{"interval": 1, "count": true} {"interval": 1, "count": 10000000000000000000} {"interval": 1, "count": "1"}
"""


@pytest.mark.parametrize("given", [json.loads(given) for given in re.findall(r"{.*?}", ARGUMENTS)])
def test_arguments_are_read_as_the_schema_says(given: Json) -> None:
    for tool in TOOLS:
        valid = jsonschema.Draft202012Validator(tool["inputSchema"]).is_valid(given)
        assert accepts(tool["name"], given) == valid, tool["name"]


def test_authentication(peer: Peer) -> None:
    live = peer.call("wait", {"seconds": 60})
    url = peer.base + "/tool_call_status"
    seen = set()
    wrong = "|one|Bearer|Bearer x y|Bearer on|Bearer onee|Bearer One|Basic one|Bearer one,"
    for value in wrong.split("|"):
        for name in (live["id"], "unknown"):
            answer = httpx.post(
                url,
                content=json.dumps({"thread_id": live["group_id"], "tool_call_id": name}),
                headers={"Content-Type": "application/json"} | ({"Authorization": value} if value else {}),
                trust_env=False,
            )
            challenge = answer.headers["www-authenticate"]
            seen.add((answer.status_code, answer.content, challenge, len(answer.headers)))
    assert len(seen) == 1
    assert seen.pop()[0] == 401
    both = [("Authorization", "Bearer one"), ("Authorization", "Bearer one")]
    assert httpx.post(url, headers=both, trust_env=False).status_code == 401
    for path in ("/invoke", "/cancel_tool_call", "/close_thread"):
        assert peer.post(path, live, Authorization="Bearer no").status_code == 401
    assert peer.about(live).json() == {"alive": True}
    other = Peer(peer.base, peer.receiver, "two")
    other.http.headers["Authorization"] = "bEARER   two"
    assert not other.alive(live)
    assert other.about(live, "/cancel_tool_call").status_code == 200
    assert other.post("/close_thread", {"thread_id": live["group_id"]}).status_code == 200
    assert peer.alive(live)
    other.http.close()
    peer.about(live, "/cancel_tool_call")


def test_echo(peer: Peer) -> None:
    call = peer.call("echo", {"text": "hé \ud800"}, call_id="mine", user_id=None, thread_ancestors=["a"])
    message = {
        "type": "tool_result",
        "group_id": "thread",
        "id": call["id"],
        "text": "hé \ud800",
        "call_id": "mine",
    }
    assert peer.got(call) == [message]
    peer.settled(call)


def test_time(peer: Peer) -> None:
    told = datetime.fromisoformat(peer.got(peer.call("time", {}))[0]["text"])
    assert abs((datetime.now(UTC) - told).total_seconds()) < 60
    refused = peer.got(peer.call("time", {"zone": "UTC"}))[0]["text"]
    assert refused.startswith("Error: ")


def test_wait_is_alive_until_it_is_delivered(peer: Peer) -> None:
    call = peer.call("wait", {"seconds": 0.5, "text": "over"})
    assert peer.alive(call)
    assert not peer.alive(call | {"id": call["id"] + " "})
    assert not peer.alive(call | {"group_id": "other thread"})
    assert [message["text"] for message in peer.got(call)] == ["over"]
    peer.settled(call)


def test_watch_ends_with_its_final_event(peer: Peer) -> None:
    call, twin = (peer.call("watch", {"interval": 0.1, "count": 2}) for _ in "ab")
    assert peer.alive(call)
    first, *events = peer.got(call, 3)
    assert (first["type"], first["id"], first["subscription"]) == ("tool_result", call["id"], True)
    assert [event["type"] for event in events] == ["subscription_event"] * 2
    assert [event["tool_call_id"] for event in events] == [call["id"]] * 2
    assert [event.get("final") for event in events] == [None, True]
    assert first["text"] != peer.got(twin, 3)[0]["text"]
    peer.settled(call)
    assert len(peer.got(call)) == 3


@pytest.mark.parametrize("by", ["cancel", "close"])
def test_what_is_stopped_sends_nothing(peer: Peer, by: str) -> None:
    mine, other = f"{by}-mine", f"{by}-other"
    wait = peer.call("wait", {"seconds": 0.7}, group_id=mine)
    watch = peer.call("watch", {"interval": 0.6}, group_id=mine)
    same_id = peer.call("wait", {"seconds": 0.7}, group_id=other, id=wait["id"])
    peer.got(watch)
    for _ in "twice":
        if by == "cancel":
            answers = [peer.about(call, "/cancel_tool_call") for call in (wait, watch)]
        else:
            answers = [peer.post("/close_thread", {"thread_id": mine})]
        assert {(answer.status_code, answer.content) for answer in answers} == {(200, b"")}
    assert [peer.alive(call) for call in (wait, watch, same_id)] == [False, False, True]
    seen = len(peer.got(watch))
    peer.got(same_id)
    peer.got(peer.call("wait", {"seconds": 0.3}, group_id=mine))
    assert (peer.receiver.at(f"/{wait['id']}"), len(peer.got(watch))) == ([], seen)


@pytest.mark.parametrize("status", [503, 302])
def test_a_failed_delivery_is_tried_again_and_the_call_is_alive_meanwhile(peer: Peer, status: int) -> None:
    path = f"/retried-{status}?a=%2F"
    peer.receiver.script[path] = [status]
    call = peer.call("echo", {"text": "a"}, callback_url=peer.receiver.url + path)
    peer.got(call)
    peer.about(call, "/cancel_tool_call")
    assert peer.alive(call)
    first, second = peer.got(call, 2)
    assert first == second
    peer.settled(call)
    assert (len(peer.got(call)), peer.receiver.at("/elsewhere")) == (2, [])


def test_a_refused_delivery_is_not_tried_again(peer: Peer) -> None:
    peer.receiver.script["/refused"] = [400]
    call = peer.call("echo", {"text": "a"}, callback_url=peer.receiver.url + "/refused")
    peer.got(call)
    peer.settled(call)
    assert len(peer.got(call)) == 1


def test_a_silent_receiver_holds_up_nobody(peer: Peer) -> None:
    peer.receiver.script["/silent"] = [0] * 200
    url = peer.receiver.url + "/silent"
    silent = [peer.call("echo", {"text": "a"}, callback_url=url) for _ in range(120)]
    peer.got(peer.call("echo", {"text": "b"}))
    assert peer.alive(silent[0])
    del peer.receiver.script["/silent"]
    peer.receiver.released.set()


def test_callback_url_is_used_verbatim(peer: Peer) -> None:
    path = "/%7Ea/../b//c;d?x=%2f&y=a+b|c&z"
    call = peer.call("echo", {"text": "a"}, callback_url=peer.receiver.url + path + "#fragment")
    peer.got(call | {"callback_url": path})


DEEP = json.loads("[" * 300 + "]" * 300)
IMPOSSIBLE = [
    ("Echo", {"text": "a"}),
    ("run", {}),
    (None, {}),
    ("echo", None),
    ("echo", {"text": DEEP}),
    ("watch", {"x": 1}),
]


@pytest.mark.parametrize(("operation", "arguments"), IMPOSSIBLE)
def test_what_cannot_run_ends_in_an_error_result(peer: Peer, operation: Any, arguments: Any) -> None:
    call = peer.call(operation, arguments)
    (message,) = peer.got(call)
    assert message["text"].startswith("Error: ")
    assert "subscription" not in message
    peer.settled(call)


def test_repeated_ids_leave_the_first_call_alone(peer: Peer) -> None:
    call = peer.call("wait", {"seconds": 0.6})
    assert peer.post("/invoke", call).status_code == 200
    clash = call | {"operation": "run", "callback_url": peer.receiver.url + "/clash"}
    assert peer.post("/invoke", clash).status_code == 200
    assert peer.got(clash)[0]["text"].startswith("Error: ")
    assert peer.alive(call)
    peer.got(call)
    peer.settled(call)
    assert [message["text"] for message in peer.got(call)] == ["done"]


HOSTILE = ["", " ", "\0", "../../etc/passwd", "' OR 1=1 --", "%", "*", "\ud800", "\U0001f600\u202e"]


@pytest.mark.parametrize("hostile", [*HOSTILE, "é" * 300, "x" * 30000], ids=lambda text: ascii(text[:20]))
def test_any_string_is_an_id(peer: Peer, hostile: str) -> None:
    assert not peer.alive({"group_id": "h", "id": hostile})
    call = peer.call("watch", {"interval": 60}, id=hostile, group_id=hostile)
    assert peer.alive(call)
    for near in (hostile + "a", hostile + "\u0301", hostile[1:] + "b"):
        assert not peer.alive(call | {"id": near})
    assert (peer.got(call)[0]["id"], peer.got(call)[0]["group_id"]) == (hostile, hostile)
    assert peer.about(call, "/cancel_tool_call").status_code == 200
    assert not peer.alive(call)


GOOD = b'{"thread_id":"t","tool_call_id":"c"}'


@pytest.mark.parametrize("path", ["/tool_call_status", "/cancel_tool_call", "/close_thread", "/invoke"])
def test_malformed_bodies_are_refused(peer: Peer, path: str) -> None:
    bodies = [b"", b"{", b"[]", b"null", b"{}", b"\xff", b"\xef\xbb\xbf" + GOOD, GOOD + b"x", b'{"a":NaN}']
    bodies += [GOOD.replace(b'"t"', bad) for bad in (b"1", b"null", b"[]", b"{}", b"true", b"9" * 5000)]
    bodies += [
        b'{"thread_id":"t","thread_id":"u","tool_call_id":"c"}',
        b'{"a":' * 9000 + b"1" + b"}" * 9000,
        b"[" * 60000,
    ]
    for body in bodies:
        assert peer.post(path, body).status_code == 400, body[:40]
    for media_type in ("", "text/plain", "application/jsonx", "application/x-www-form-urlencoded"):
        assert peer.post(path, GOOD, **{"Content-Type": media_type}).status_code == 415
    assert peer.post(path, GOOD, **{"Content-Encoding": "gzip"}).status_code == 415
    answer = peer.post(path, b'{"a":"' + b"x" * 2**20 + b'"}', Connection="close")
    assert (answer.status_code, answer.headers["content-type"]) == (413, "application/json")
    answer = peer.http.get(path)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    "url", [None, "", "/a", "ftp://a/", "http://", "http://[::1", "http://a:99999/", "http://a\n/"]
)
def test_an_invocation_without_a_usable_callback_url_is_refused(peer: Peer, url: str | None) -> None:
    call = {"operation": "echo", "arguments": {"text": "a"}, "id": "a", "group_id": "b", "callback_url": url}
    assert peer.post("/invoke", call).status_code == 400


def test_parameters_and_further_fields_are_ignored(peer: Peer) -> None:
    call = peer.call("wait", {"seconds": 60})
    body = {"thread_id": "thread", "tool_call_id": call["id"], "operation": "echo", "x": [{}]}
    answer = peer.post("/tool_call_status", body, **{"Content-Type": "Application/JSON ; charset=utf-8"})
    assert answer.json() == {"alive": True}
    peer.about(call, "/cancel_tool_call")


def test_slow_bodies_hold_up_nobody(peer: Peer) -> None:
    host = peer.base.removeprefix("http://")
    head = f"POST /tool_call_status HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer one\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(GOOD)}\r\n\r\n"
    name, port = host.split(":")
    with (
        socket.create_connection((name, int(port)), DEADLINE) as never,
        socket.create_connection((name, int(port)), DEADLINE) as slow,
    ):
        never.sendall(head.encode() + GOOD[:5])
        for part in (head.encode(), GOOD[:9], GOOD[9:20], GOOD[20:]):
            slow.sendall(part)
            assert not peer.alive({"group_id": "t", "id": "c"})
        assert slow.recv(4096).startswith(b"HTTP/1.1 200 ")
        assert never.recv(4096).startswith(b"HTTP/1.1 408 ")


def test_rate_limit(receiver: Receiver) -> None:
    with running(ReferenceServer(Options(port=0, tokens=("one", "two"), rate_limit=3)), receiver) as peer:
        unknown = {"group_id": "t", "id": "c"}
        assert [peer.about(unknown).status_code for _ in range(5)] == [200] * 3 + [429] * 2
        assert 1 <= int(peer.about(unknown).headers["retry-after"]) <= 5
        assert peer.about(unknown, "/cancel_tool_call").status_code == 200
        for token, expected in (("two", [200] * 3 + [429]), ("no", [401] * 3 + [429])):
            peer.http.headers["Authorization"] = f"Bearer {token}"
            assert [peer.about(unknown).status_code for _ in range(4)] == expected


def test_prefix(receiver: Receiver) -> None:
    with running(ReferenceServer(Options(port=0, prefix="a/b/")), receiver) as peer:
        assert peer.base.endswith("/a/b")
        peer.got(peer.call("echo", {"text": "a"}))
        root = peer.base.removesuffix("/a/b")
        for path in ("/tool_call_status", "/a/b/tool_call_status/", "/a/b//tool_call_status", "/a/b/x", "/"):
            assert httpx.post(root + path, content=GOOD, trust_env=False).status_code == 404
        assert httpx.get(root + "/.well-known/rap-toolset", trust_env=False).status_code == 404


def test_addresses() -> None:
    assert ReferenceServer(Options(host="::1", port=7)).endpoint() == "http://[::1]:7/invoke"
    assert ReferenceServer(Options(host="::", port=7)).base_url() == "http://[::1]:7"
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        serve(ReferenceServer(Options(port=taken.getsockname()[1])))
    with pytest.raises(OSError, match=str(ROOT)):
        serve(ReferenceServer(Options(port=0, state=ROOT)))


def test_after_a_kill_subscriptions_go_on_and_waits_are_lost(receiver: Receiver, tmp_path: Path) -> None:
    (sock,) = bind("127.0.0.1", 0)
    port = sock.getsockname()[1]
    sock.close()
    peer = Peer(f"http://127.0.0.1:{port}", receiver, "one")

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", SERVE, str(port), str(tmp_path / "calls.db")]
        process = subprocess.Popen(command, cwd=ROOT)
        until(lambda: up(peer), "the server is up")
        return process

    process = start()
    try:
        url = receiver.url + "/w"
        watch = peer.call("watch", {"interval": 0.1, "count": 1000}, id="w\ud800\0", callback_url=url)
        over = peer.call("watch", {"interval": 0.05, "count": 1}, callback_url=receiver.url + "/over")
        wait = peer.call("wait", {"seconds": 3})
        unheard = peer.call("echo", {"text": "a"}, callback_url="http://127.0.0.1:9/")
        peer.got(watch, 3)
        peer.got(over, 2)
        peer.settled(over)
        assert [peer.alive(call) for call in (watch, wait, unheard)] == [True, True, True]
        process.kill()
        process.wait()
        before = len(receiver.at("/w"))
        process = start()
        assert [peer.alive(call) for call in (watch, wait, over, unheard)] == [True, False, False, False]
        messages = peer.got(watch, before + 8)
        assert [message.get("subscription") for message in messages] == [True] + [None] * (len(messages) - 1)
        assert {message.get("tool_call_id", watch["id"]) for message in messages} == {watch["id"]}
        names = [message["text"].split("subscription ")[1] for message in messages]
        assert len(set(names)) == 1
        assert (receiver.at(f"/{wait['id']}"), len(receiver.at("/over"))) == ([], 2)
        process.terminate()
        assert process.wait(DEADLINE) == 0
        process = start()
        assert peer.alive(watch)
        peer.got(watch, len(receiver.at("/w")) + 1)
    finally:
        process.kill()
        process.wait()
        peer.http.close()


def up(peer: Peer) -> bool:
    """Whether discovery answers."""
    try:
        return peer.http.get("/.well-known/rap-toolset").status_code == 200
    except httpx.TransportError:
        return False
