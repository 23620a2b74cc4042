"""What is asked before anything is judged: is anybody there, who are we to them, what do they offer?

Every finding of the preflight is kept in the session's facts. A server that
dies here is named dead with the input that did it.
"""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

from rap_conformance.engine.evidence import Exchange, Failure, Headers
from rap_conformance.engine.record import Record
from rap_conformance.engine.scenario import Halted, NotApplicable, PeerDied, Refused, Trouble, Untested
from rap_conformance.engine.verdict import EXIT_BAD_INPUT, EXIT_NOBODY
from rap_conformance.network.pace import NoAnswer
from rap_conformance.network.supervisor import CommandFailed
from rap_conformance.protocol.messages import JSON, STATUS_PATH, encode, fresh, query
from rap_conformance.protocol.presence import Presence, State
from rap_conformance.protocol.reading import carries_alive
from rap_conformance.protocol.specification import catalogue
from rap_conformance.server.endpoints import Inquiry
from rap_conformance.server.facts import MANIFEST_CAP, is_wildcard, parse_manifest
from rap_conformance.server.peer import Peer
from rap_conformance.server.rehearsal import rehearse, survive
from rap_conformance.server.session import ServerSession
from rap_conformance.server.tempo import CROWD, Tempo

NOBODY_HOME = frozenset({Failure.REFUSED, Failure.NAME, Failure.TLS, Failure.OTHER})


def start(session: ServerSession) -> None:
    """Start a server that is ours to start. Raises Refused."""
    if session.supervisor is not None:
        try:
            session.supervisor.start(session.answers)
        except CommandFailed as failed:
            raise Refused(f"--server-cmd: the command {failed}", EXIT_BAD_INPUT) from None


def begin(session: ServerSession) -> None:
    """Start receiver and server and look the server over. Raises Refused, PeerDied, Halted."""
    session.receiver.start()
    start(session)
    try:
        preflight(session, Peer(session, Record(next(iter(catalogue())))))
    except PeerDied as death:
        session.dead = f"{death}, in the preflight"
        session.causes.append(session.dead)
    except Halted:
        session.dead = session.dead or "the run ended in the preflight"


def preflight(session: ServerSession, peer: Peer) -> None:
    """Fill in the session's facts. Raises Refused if nobody answers, PeerDied."""
    discover(session)
    if session.facts.manifest is None:
        return
    try:
        _status(session, peer)
    except NoAnswer as trouble:
        facts = session.facts
        facts.status = Presence(State.ERROR, str(trouble))
    _tempo(session)
    rehearse(session, peer)
    _credentials(session)


def discover(session: ServerSession) -> None:
    """Ask for the manifest, and where calls go. Raises Refused if nobody answers."""
    facts = session.facts
    try:
        exchange = _first(session)
    except NoAnswer as trouble:
        raise Refused(str(trouble), EXIT_NOBODY) from trouble
    if exchange.failure in NOBODY_HOME and exchange.status is None:
        detail = f" ({exchange.detail})" if exchange.detail else ""
        said = f"nobody answers at {facts.base}: {exchange.failure.value}{detail}"
        raise Refused(said, EXIT_NOBODY)
    facts.discovery = exchange
    session.tempo = Tempo([exchange.elapsed])
    facts.manifest = parse_manifest(exchange) if exchange.status is not None else None
    if facts.manifest is None:
        facts.no_calls = _no_manifest(session, exchange)
        session.causes.append(facts.no_calls)
        return
    endpoint = facts.manifest.get("endpoint")
    if not isinstance(endpoint, str) or not endpoint:
        facts.no_calls = "the manifest has no endpoint, so no tool can be called"
        return
    facts.endpoint = urljoin(f"{facts.base}/", endpoint)
    if is_wildcard(facts.endpoint):
        facts.endpoint = _at_home(facts.endpoint, facts.base)
        session.causes.append(
            f"the manifest's endpoint {endpoint[:100]!a} is a wildcard address, which nobody else can use; "
            f"invocations went to {facts.endpoint}"
        )
    parts = urlsplit(facts.endpoint)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        facts.no_calls = f"the manifest's endpoint {endpoint[:100]!a} is no URL that can be called"
    elif session.probe.credentials and not session.probe.trusts(facts.endpoint):
        session.causes.append(
            f"the manifest's endpoint is on another origin ({parts.scheme}://{parts.netloc}), which gets no "
            "credentials; list it in auth.origins if it is yours"
        )


def _at_home(endpoint: str, base: str) -> str:
    """The endpoint at the target's own host, on the endpoint's port."""
    there, here = urlsplit(endpoint), urlsplit(base).hostname or ""
    host = f"[{here}]" if ":" in here else here
    return there._replace(netloc=f"{host}:{there.port}" if there.port else host).geturl()


def _first(session: ServerSession) -> Exchange:
    """The answer to discovery; the first one of a server may take long."""
    url, timeout = session.facts.discovery_url, session.probe.timeout
    exchange = session.probe.send("GET", url, cap=MANIFEST_CAP)
    if exchange.status is None and exchange.failure is Failure.TIMEOUT:
        exchange = session.probe.send("GET", url, cap=MANIFEST_CAP, timeout=2 * timeout)
    return exchange


def _no_manifest(session: ServerSession, exchange: Exchange) -> str:
    """Why there is no manifest, and what to try."""
    got = exchange.failure.value if exchange.failure else f"status {exchange.status} and no manifest"
    said = f"discovery at {session.facts.discovery_url} gave {got}"
    if exchange.status in {401, 403}:
        if session.probe.credentials:
            session.refused = f"the server refuses the configured credentials ({exchange.status})"
            return f"{said}: {session.refused}"
        return f"{said}: the server asks for credentials and none are configured: give --auth-header"
    if exchange.status is None:
        return said
    return f"{said}: is the base URL right? Nothing else was judged"


def _status(session: ServerSession, peer: Peer) -> None:
    facts = session.facts
    if session.config.features.get("status") is False:
        facts.status = Presence(
            State.ABSENT, "the configuration declares that there is none (features.status)"
        )
        return

    def send(method: str, url: str, body: bytes, headers: Headers) -> Exchange:
        exchange = peer.send(method, url, body, headers=headers)
        # Who takes any path for an invocation may die of it a moment after the answer: found dead by the
        # next question, it would seem to answer that unlike.
        swallows = exchange.status is not None and exchange.status < 300 and not carries_alive(exchange)
        if exchange.status is None or url.endswith(STATUS_PATH) or swallows:
            survive(session, peer, exchange)
        return exchange

    inquiry = Inquiry(send, facts.base, STATUS_PATH, session.tempo.at_once)
    call_id, thread = fresh(), fresh("thread")
    body = encode(query(call_id, thread))
    facts.status_plainly = plain = inquiry.ask("POST", body, call_id, thread)[0].status

    def known() -> bool:
        return inquiry.shown().state is State.PRESENT

    if not known():
        inquiry.ask("GET")
    if not known():
        # A server that answers 404 for ids it does not know looks absent as long as nothing is live.
        facts.status_without_live = plain == 404
        try:
            call = peer.invoke("pending")
        except (Untested, NotApplicable, Trouble):
            pass
        else:
            facts.status_without_live = False
            inquiry.ask("POST", encode(query(call.id, call.thread)), call.id, call.thread)
    if not known() and not session.common.gentle:
        inquiry.ask("POST", b'{"tool_call_id":')
    facts.status = inquiry.shown()
    if facts.status.state is not State.PRESENT:
        _at_root(peer, body)


def _tempo(session: ServerSession) -> None:
    """How late answers are; the first one may have come from a server that was not awake yet."""
    session.tempo = Tempo(session.history.elapsed)
    if session.tempo.late:
        asked = session.tempo.at_once([session.ordinary] * CROWD)
        session.tempo = Tempo(session.history.elapsed, [exchange.elapsed for exchange in asked])
    if said := session.tempo.said(session.common.examples):
        session.notes.append(said)


def _at_root(peer: Peer, body: bytes) -> None:
    """A server below a prefix may have put the endpoint at the host's root: then it is judged there."""
    facts = peer.session.facts
    parts = urlsplit(facts.base)
    if not parts.path:
        return
    root = f"{parts.scheme}://{parts.netloc}/tool_call_status"
    exchange = peer.send("POST", root, body, headers=JSON)
    if carries_alive(exchange):
        facts.status = Presence(State.PRESENT, "it answers at the host's root, not beside discovery")
        facts.status_at_root_only = True
        facts.status_plainly = exchange.status
        facts.status_url = root


def _credentials(session: ServerSession) -> None:
    """Credentials that are missing or refused are one cause, not a failure of each requirement."""
    facts = session.facts
    unsure = facts.status.state is State.UNSURE
    if facts.status_plainly not in {401, 403} or not (unsure or facts.status.state is State.PRESENT):
        return
    if not session.probe.credentials:
        asked = f"the server asks for credentials ({facts.status_plainly})"
        cause = f"{asked} and none are configured: give --auth-header"
    elif unsure or facts.invocation_refused in {401, 403}:
        cause = f"the server refuses the configured credentials ({facts.status_plainly})"
        session.refused = cause
    else:
        return
    facts.status = Presence(State.UNSURE, cause)
    session.causes.append(cause)
