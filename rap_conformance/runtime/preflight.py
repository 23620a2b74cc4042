"""Does the adapter keep its contract? Found out before anything is judged, so that no verdict comes of it."""

from __future__ import annotations

from rap_conformance.engine.record import Record
from rap_conformance.network.acts import alive
from rap_conformance.protocol.messages import fresh
from rap_conformance.protocol.specification import catalogue
from rap_conformance.runtime.peer import RuntimePeer
from rap_conformance.runtime.session import RuntimeSession


def begin(session: RuntimeSession) -> None:
    """Start servers and adapter, and use every part of the contract once. Raises Refused, one sentence."""
    session.servers.start()
    session.start_adapter()
    runtime = RuntimePeer(session, Record(next(iter(catalogue()))))
    server, free = runtime.server(), fresh("thread")
    calls = runtime.both(server, alive(True))
    runtime.boot(calls, threads=[free])
    runtime.state()
    session.adapter.callback_url(calls[0].thread, calls[0].id)
    runtime.say(free)
    runtime.boot_again([server])
    runtime.state()
