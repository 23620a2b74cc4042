"""Tool servers that play what they are told, for runs against a runtime: exact bytes, silence, resets, death.

Any number of them live in one thread, each with a port of its own on the loopback address. What each answers
and was asked is in toolserver.py, what it does on the wire in acts.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from rap_conformance.network.acts import Gate
from rap_conformance.network.patience import Bell, Patience
from rap_conformance.network.receiver import free_socket
from rap_conformance.network.requests import read_request
from rap_conformance.network.toolserver import Query, ToolServer
from rap_conformance.protocol.messages import lenient_json

T = TypeVar("T")
Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter
_BACKLOG = 2048
_HANDSHAKE = 2.0
"""Seconds in which a client has to begin its TLS handshake."""


class ScriptedServers:
    """All tool servers of a run against a runtime, in one thread; safe to use from many."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scripted", daemon=True)
        self._sockets: list[socket.socket] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        self.bell = Bell(patience)
        self.all: list[ToolServer] = []

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def stop(self) -> None:
        """Stop every server and drop what is open."""
        if self._thread.is_alive():
            with contextlib.suppress(TimeoutError):
                self._run(self._shut(), within=5.0)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(5.0)
        for bound in self._sockets:
            bound.close()
        if not self._thread.is_alive():
            self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T], within: float = 10.0) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(within)

    def server(self, *, prefix: str = "", slash: bool = False, tls: bytes | None = None) -> ToolServer:
        """A new server. `slash` ends its base URL with one, `tls` makes it break the TLS handshake off."""
        bound = free_socket("127.0.0.1", 0)
        scheme = "http" if tls is None else "https"
        base = f"{scheme}://127.0.0.1:{bound.getsockname()[1]}{prefix}" + ("/" if slash else "")
        server = ToolServer(f"s{len(self.all)}", base, self.bell, prefix, tls)
        self.all.append(server)
        self._run(self._open(server, bound))
        return server

    def beside(self, other: ToolServer, prefix: str) -> ToolServer:
        """A server of its own at another one's port, under another prefix."""
        base = other.base.removesuffix("/").removesuffix(other.prefix) + prefix
        server = ToolServer(f"s{len(self.all)}", base, self.bell, prefix, listener=other.listener)
        other.neighbours.append(server)
        self.all.append(server)
        return server

    def nobody(self) -> ToolServer:
        """A server whose port refuses connections; the port stays ours, so that nobody else takes it."""
        bound = free_socket("127.0.0.1", 0)
        self._sockets.append(bound)
        server = ToolServer(f"s{len(self.all)}", f"http://127.0.0.1:{bound.getsockname()[1]}", self.bell)
        self.all.append(server)
        return server

    def nowhere(self) -> ToolServer:
        """A server whose name does not resolve (RFC 6761, 6.4)."""
        server = ToolServer(f"s{len(self.all)}", "http://rapc-nowhere.invalid:3001", self.bell)
        self.all.append(server)
        return server

    def close(self, server: ToolServer) -> None:
        """Let a server die: from now on its port refuses connections."""
        self._run(self._close(server))

    def until(self, condition: Callable[[], T], within: float) -> T | None:
        """The first true value of `condition`, asked when requests come and end; None after `within` s."""
        return self.bell.until(condition, within)

    async def _open(self, server: ToolServer, bound: socket.socket) -> None:
        async def serve(reader: Reader, writer: Writer) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            with contextlib.suppress(OSError, asyncio.CancelledError):
                talk = self._talk if server.tls is None else self._refuse
                await talk(server, reader, writer)
            writer.transport.abort()

        server.listener = await asyncio.start_server(serve, sock=bound, backlog=_BACKLOG)

    async def _close(self, server: ToolServer) -> None:
        if server.listener is not None:
            # The socket is kept bound but deaf, so that the port refuses and is nobody else's.
            address = server.listener.sockets[0].getsockname()
            server.listener.close()
            server.listener = None
            with contextlib.suppress(OSError):
                self._sockets.append(free_socket(*address))

    async def _shut(self) -> None:
        for server in self.all:
            if server.listener is not None:
                server.listener.close()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=2.0)

    async def _refuse(self, server: ToolServer, reader: Reader, writer: Writer) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(reader.read(4096), _HANDSHAKE)
        server.handshakes += 1
        writer.write(server.tls or b"")
        writer.close()
        await writer.wait_closed()
        self.bell.ring()

    async def _talk(self, server: ToolServer, reader: Reader, writer: Writer) -> None:
        request = await read_request(reader, writer)
        if request is None:
            return
        server = server.whose(request.path)
        query = Query(server, request, lenient_json(request.body), self._patience.now())
        query.act = act = server.route(query)
        server.note(query)
        self.bell.ring()
        try:
            if act.gate is not None and not await self._held(query, reader, act.gate):
                return
            writer.write(act.written)
            await writer.drain()
            if act.dies:
                await self._close(server)
            if act.ending == "hold":
                await self._held(query, reader, act.gate or Gate(3600.0))
            elif act.ending == "reset":
                _reset(writer)
            else:
                writer.close()
                await writer.wait_closed()
        finally:
            query.ended = self._patience.now()
            server.ended += 1
            self.bell.ring()

    async def _held(self, query: Query, reader: Reader, gate: Gate) -> bool:
        """Whether the gate opened before the client gave up; the gate's limit counts as opened."""
        left = asyncio.ensure_future(_end(reader))
        try:
            await self._patience.hold_back(gate.limit, until=lambda: gate.opened or left.done())
            query.given_up = left.done() and not gate.opened
        finally:
            left.cancel()
        return not query.given_up


async def _end(reader: Reader) -> None:
    """Wait until the client says no more; what it still says belongs to no request that is answered."""
    while await reader.read(4096):
        pass


def _reset(writer: Writer) -> None:
    """End the connection with a reset."""
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
