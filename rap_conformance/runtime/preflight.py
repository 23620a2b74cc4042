"""Does the adapter keep its contract? Found out before anything is judged, so that no verdict comes of it."""

from __future__ import annotations

from rap_conformance.catalogue import Requirement
from rap_conformance.peers.acts import alive
from rap_conformance.runtime.peer import RuntimePeer, fresh
from rap_conformance.runtime.session import RuntimeSession
from rap_conformance.scenario import Record


def preflight(session: RuntimeSession, any_requirement: Requirement) -> None:
    """Use every part of the contract once. Raises AdapterTrouble with one sentence."""
    runtime = RuntimePeer(session, Record(any_requirement))
    server, free = runtime.server(), fresh("thread")
    calls = runtime.both(server, alive(True))
    runtime.boot(calls, threads=[free])
    runtime.state()
    session.adapter.callback_url(calls[0].thread, calls[0].id)
    runtime.say(free)
    runtime.boot_again([server])
    runtime.state()
