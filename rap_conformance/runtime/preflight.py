"""Does the adapter keep its contract? Found out before anything is judged, so that no verdict comes of it.

Found out too: what the runtime cannot be booted with, and how soon after a boot it asks.
"""

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
    server = runtime.server()
    call = runtime.call(server, alive(True))
    runtime.boot([call], threads=[fresh("thread")])
    runtime.patience.until(runtime.booted, session.timing.silence)
    began = session.now()
    runtime.state()
    runtime.callback_url(call)
    runtime.say(runtime.given[-1])
    if runtime.servers.until(
        lambda: any(query.is_status for query in server.queries), session.timing.patience
    ):
        session.habits.asking = session.now() - began
    runtime.boot_again([server])
    runtime.state()
