"""What is asked before anything is judged: is anybody there, who are we to them, what do they offer?

Every finding of the preflight is kept in the session's facts. A server that
dies here is named dead with the input that did it.
"""

from __future__ import annotations

import os
from urllib.parse import urljoin, urlsplit

from rap_conformance.engine.evidence import Exchange, Failure
from rap_conformance.engine.record import Record
from rap_conformance.engine.scenario import Halted, PeerDied, Refused, Trouble, Untested
from rap_conformance.engine.verdict import EXIT_BAD_INPUT, EXIT_NOBODY
from rap_conformance.network.probe import NoAnswer
from rap_conformance.network.supervisor import CommandFailed
from rap_conformance.protocol.messages import encode, fresh, query
from rap_conformance.protocol.presence import Pair, Presence, State, decide
from rap_conformance.protocol.reading import carries_alive
from rap_conformance.protocol.specification import catalogue
from rap_conformance.server.facts import parse_manifest
from rap_conformance.server.peer import Peer
from rap_conformance.server.session import ServerSession

NOBODY_HOME = frozenset({Failure.REFUSED, Failure.NAME, Failure.TLS, Failure.OTHER})
CALLBACK_PATIENCE = 15.0
"""Seconds the first callback may take before we say that none arrives."""


def begin(session: ServerSession) -> None:
    """Start receiver and server and look the server over. Raises Refused, PeerDied, Halted."""
    session.receiver.start()
    if session.supervisor is not None:
        try:
            session.supervisor.start(session.answers)
        except CommandFailed as failed:
            raise Refused(f"--server-cmd: the command {failed}", EXIT_BAD_INPUT) from None
    try:
        preflight(session, Peer(session, Record(next(iter(catalogue())))))
    except PeerDied as death:
        session.dead = f"{death}, in the preflight"
        session.causes.append(session.dead)
    except Halted:
        session.dead = session.dead or "the run ended in the preflight"


def preflight(session: ServerSession, peer: Peer) -> None:
    """Fill in the session's facts. Raises Refused if nobody answers, PeerDied."""
    _discover(session)
    if session.facts.manifest is None:
        session.facts.no_calls = "discovery gave no manifest, so no tool is known"
        if session.facts.discovery is not None and session.facts.discovery.status is None:
            return
    _status(session, peer)
    _callback(session, peer)
    _credentials(session)


def _discover(session: ServerSession) -> None:
    facts = session.facts
    try:
        exchange = session.probe.send("GET", facts.discovery_url)
    except NoAnswer as trouble:
        raise Refused(str(trouble), EXIT_NOBODY) from trouble
    if exchange.failure in NOBODY_HOME and exchange.status is None:
        detail = f" ({exchange.detail})" if exchange.detail else ""
        said = f"nobody answers at {facts.base}: {exchange.failure.value}{detail}"
        raise Refused(said, EXIT_NOBODY)
    facts.discovery = exchange
    facts.manifest = parse_manifest(exchange) if exchange.status is not None else None
    if facts.manifest is None:
        what = (
            exchange.failure.value if exchange.failure else f"status {exchange.status} without a JSON object"
        )
        session.causes.append(f"discovery at {facts.discovery_url} gave no manifest: {what}")
        return
    endpoint = facts.manifest.get("endpoint")
    if not isinstance(endpoint, str) or not endpoint:
        facts.no_calls = "the manifest has no endpoint, so no tool can be called"
        return
    facts.endpoint = urljoin(f"{facts.base}/", endpoint)
    parts = urlsplit(facts.endpoint)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        facts.no_calls = f"the manifest's endpoint {endpoint[:100]!a} is no URL that can be called"
    elif session.probe.credentials and not session.probe.trusts(facts.endpoint):
        session.causes.append(
            f"the manifest's endpoint is on another origin ({parts.scheme}://{parts.netloc}), which gets no "
            "credentials; list it in auth.origins if it is yours"
        )


def _ask_both(session: ServerSession, peer: Peer, method: str, body: bytes, paths: tuple[str, str]) -> Pair:
    """The same request to the endpoint and to a path that cannot exist; does the server survive it?"""
    answers: list[Exchange] = []
    for path in paths:
        headers = (("Content-Type", "application/json"),) if method == "POST" else ()
        exchange = peer.send(method, session.facts.base + path, body, headers=headers)
        answers.append(exchange)
        survive(session, peer, exchange)
    return answers[0], answers[1]


def survive(session: ServerSession, peer: Peer, exchange: Exchange) -> None:
    """After an input: is the server still there? One that we started is started again, else PeerDied."""
    try:
        peer.survived(exchange, watch=0.15)
    except PeerDied as death:
        if session.supervisor is None:
            raise
        session.notes.append(f"{death}; it was started again")
        session.restart()


def _status(session: ServerSession, peer: Peer) -> None:
    facts = session.facts
    if session.config.features.get("status") is False:
        facts.status = Presence(
            State.ABSENT, "the configuration declares that there is none (features.status)"
        )
        return
    paths = ("/tool_call_status", f"/rapc-no-such-path-{os.urandom(6).hex()}")
    call_id, thread = fresh(), fresh("thread")
    body = encode(query(call_id, thread))
    pairs = [_ask_both(session, peer, "POST", body, paths)]
    facts.status_plainly = plain = pairs[0][0].status
    ids = [call_id, thread]

    def known() -> bool:
        return decide(pairs, paths, ids).state is State.PRESENT

    if not known():
        pairs.append(_ask_both(session, peer, "GET", b"", paths))
    if not known():
        # A server that answers 404 for ids it does not know looks absent as long as nothing is live.
        facts.status_without_live = plain == 404
        try:
            call = peer.invoke("pending")
        except (Untested, Trouble):
            pass
        else:
            facts.status_without_live = False
            pairs.append(_ask_both(session, peer, "POST", encode(query(call.id, call.thread)), paths))
            ids += [call.id, call.thread]
    if not known() and not session.common.gentle:
        pairs.append(_ask_both(session, peer, "POST", b'{"tool_call_id":', paths))
    facts.status = decide(pairs, paths, ids)
    if facts.status.state is not State.PRESENT:
        _at_root(session, peer, body)


def _at_root(session: ServerSession, peer: Peer, body: bytes) -> None:
    """A server below a prefix may have put the endpoint at the host's root: then it is judged there."""
    facts = session.facts
    parts = urlsplit(facts.base)
    if not parts.path:
        return
    root = f"{parts.scheme}://{parts.netloc}/tool_call_status"
    exchange = peer.send("POST", root, body, headers=(("Content-Type", "application/json"),))
    if carries_alive(exchange):
        facts.status = Presence(State.PRESENT, "it answers at the host's root, not beside discovery")
        facts.status_at_root_only = True
        facts.status_url = root


def _callback(session: ServerSession, peer: Peer) -> None:
    facts = session.facts
    try:
        call = peer.invoke("quick")
    except (Untested, Trouble) as missing:
        if isinstance(missing, Trouble):
            facts.no_calls = str(missing)
            session.causes.append(str(missing))
        return
    assert call.exchange is not None
    limit = min(CALLBACK_PATIENCE, session.config.timing.grace + 5.0)
    if not call.mailbox.until(lambda arrived: arrived, limit):
        survive(session, peer, call.exchange)
        facts.no_calls = f"no callback arrives at {session.receiver.url} (waited {limit:g} s)"
        session.causes.append(
            f"the server acknowledged a call and no callback arrived at {session.receiver.url} "
            f"within {limit:g} s; "
            "if the server cannot reach that address, give --callback-bind and --callback-url"
        )
        return
    first = call.deliveries[0]
    facts.quick_seconds = first.arrived - call.acknowledged


def _credentials(session: ServerSession) -> None:
    """Credentials that are missing or refused are one cause, not a failure of each requirement."""
    facts = session.facts
    if facts.status.state is not State.PRESENT or facts.status_plainly not in {401, 403}:
        return
    if not session.probe.credentials:
        asked = f"the server asks for credentials ({facts.status_plainly})"
        cause = f"{asked} and none are configured: give --auth-header"
    elif facts.invocation_refused in {401, 403}:
        cause = f"the server refuses the configured credentials ({facts.status_plainly})"
    else:
        return
    facts.status = Presence(State.UNSURE, cause)
    session.causes.append(cause)
