"""The receiver: our callback endpoint, one unguessable path a call.

Takes whatever the server under test posts, keeps it with the time it arrived,
and answers as a scenario asks: 200, an error, a redirect, silence or a reset.
Serves "Transport", section "Tool to Runtime".
"""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from rap_conformance.engine.evidence import Exchange, Headers
from rap_conformance.network.patience import Bell, Patience
from rap_conformance.network.redaction import Redactor
from rap_conformance.protocol.messages import lenient_json

T = TypeVar("T")
_CAP = 256 * 1024
"""Bytes of a callback's body that are kept."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How the receiver answers one delivery. `silence` is how long it says nothing first, in seconds."""

    status: int = 200
    headers: Headers = ()
    silence: float = 0.0
    reset: bool = False


OK = Answer()


@dataclass(frozen=True, slots=True)
class Delivery:
    """One attempt of the server to deliver something to a callback URL."""

    exchange: Exchange
    message: Any

    @property
    def type(self) -> str:
        """The message's type, or "" if it has none."""
        value = self.message.get("type") if isinstance(self.message, dict) else None
        return value if isinstance(value, str) else ""

    @property
    def arrived(self) -> float:
        """When the whole message was here, in seconds since the run began."""
        return self.exchange.started

    @property
    def acknowledged(self) -> bool:
        """Whether the receiver answered 2xx."""
        return self.exchange.status is not None and 200 <= self.exchange.status < 300

    @property
    def final(self) -> bool:
        """Whether this is a subscription's last event."""
        return isinstance(self.message, dict) and self.message.get("final") is True


@dataclass(slots=True)
class Mailbox:
    """Where one call's callbacks arrive."""

    url: str
    token: str
    bell: Bell
    script: Callable[[int], Answer] = field(default=lambda _: OK)
    _deliveries: list[Delivery] = field(default_factory=list)

    @property
    def deliveries(self) -> tuple[Delivery, ...]:
        """Everything that arrived so far, in order of arrival."""
        return tuple(self._deliveries)

    def until(self, condition: Callable[[tuple[Delivery, ...]], T], within: float) -> T | None:
        """The first true value of `condition` over the deliveries, or None after `within` seconds."""
        return self.bell.until(lambda: condition(self.deliveries), within)


def free_socket(host: str, port: int) -> socket.socket:
    """A bound, not yet listening socket. Raises OSError if the address is in use or not ours."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Without the protocol's number asyncio leaves Nagle's algorithm on, which costs 40 ms an answer.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


class Receiver:
    """The callback endpoint of one run.

    Raises OSError when `host:port` cannot be bound. `public_url` is how the
    server under test reaches it, if that differs.
    """

    def __init__(
        self,
        patience: Patience,
        redactor: Redactor,
        host: str = "127.0.0.1",
        port: int = 0,
        public_url: str | None = None,
    ) -> None:
        self._patience = patience
        self._redactor = redactor
        self._socket = free_socket(host, port)
        bound = self._socket.getsockname()[1]
        name = f"[{host}]" if ":" in host else host
        self.address = host, bound
        """Where it listens."""
        self.url = (public_url or f"http://{name}:{bound}").rstrip("/")
        self._boxes: dict[str, Mailbox] = {}
        config = uvicorn.Config(
            Starlette(routes=[Mount("/", app=self._take)]),
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="receiver", daemon=True
        )

    def start(self) -> None:
        """Listen. Raises RuntimeError if that does not succeed within 10 seconds."""
        self._thread.start()
        if not self._patience.until(lambda: self._server.started, within=10.0):
            raise RuntimeError("the receiver did not start")

    def stop(self) -> None:
        """Stop listening and drop what is open."""
        self._server.should_exit = True
        self._server.force_exit = True
        if self._thread.is_alive():
            self._thread.join(5.0)
        self._socket.close()

    def mailbox(self, script: Callable[[int], Answer] | None = None, suffix: str = "") -> Mailbox:
        """A new mailbox; `script` gives the answer to attempt 0, 1, …"""
        token = secrets.token_hex(12)
        box = Mailbox(f"{self.url}/cb/{token}{quote(suffix, safe='/?&=')}", token, Bell(self._patience))
        if script is not None:
            box.script = script
        self._boxes[token] = box
        return box

    async def _take(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        body = bytearray()
        whole = True
        try:
            async for chunk in request.stream():
                if len(body) < _CAP:
                    body += chunk
        except ClientDisconnect:
            whole = False
        arrived = self._patience.now()
        parts = scope["path"].split("/")
        token = next((part for part in parts if part in self._boxes), "")
        box = self._boxes.get(token)
        if box is None or not whole:
            await Response(status_code=404)(scope, receive, send)
            return
        answer = box.script(len(box._deliveries))
        delivery = Delivery(
            self._record(request, bytes(body), None if answer.reset else answer.status, arrived),
            lenient_json(bytes(body)),
        )
        box._deliveries.append(delivery)
        box.bell.ring()
        await self._patience.hold_back(answer.silence, until=lambda: self._server.should_exit)
        if answer.reset:
            _reset(receive)
        else:
            headers: MutableMapping[str, str] = dict(answer.headers)
            await Response(status_code=answer.status, headers=headers)(scope, receive, send)
        box.bell.ring()

    def _record(self, request: Request, body: bytes, status: int | None, arrived: float) -> Exchange:
        headers = tuple((k.decode("latin-1"), v.decode("latin-1")) for k, v in request.headers.raw)
        query = request.scope.get("query_string", b"").decode("latin-1")
        raw_path = request.scope.get("raw_path", b"").decode("latin-1").split("?", 1)[0]
        return Exchange(
            method=request.method,
            url=self._redactor.text(f"{self.url}{raw_path}" + (f"?{query}" if query else "")),
            request_headers=self._redactor.headers(headers),
            request_body=self._redactor.data(body[:_CAP]),
            status=status,
            response_headers=(),
            response_body=b"",
            started=arrived,
            ended=self._patience.now(),
            inbound=True,
        )


def _reset(receive: Receive) -> None:
    """Close the connection with a reset instead of an answer (uvicorn keeps the transport in its cycle).

    Starlette wraps `send`, and `receive` it leaves alone.
    """
    transport = getattr(getattr(receive, "__self__", None), "transport", None)
    if transport is None:
        raise RuntimeError("this version of uvicorn does not let the receiver reset a connection")
    raw = transport.get_extra_info("socket")
    if raw is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    transport.abort()
