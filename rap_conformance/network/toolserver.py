"""One scripted tool server: where it is, what it answers, what it was asked. No I/O.

It answers discovery and the notifications as a proper server does, and status queries by script.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from rap_conformance.engine.evidence import Exchange, Failure
from rap_conformance.network.acts import Act, alive, answer
from rap_conformance.network.patience import Bell
from rap_conformance.network.requests import Request
from rap_conformance.protocol.messages import JSON, MANIFEST_PATH, encode
from rap_conformance.protocol.messages import STATUS_PATH as STATUS_PATH


@dataclass(slots=True)
class Query:
    """One request to a scripted server, with times in seconds since the run began.

    `ended` is None while the connection is open; `given_up`: the client left before the answer.
    """

    server: ToolServer
    request: Request
    message: Any
    arrived: float
    act: Act | None = None
    ended: float | None = None
    given_up: bool = False

    @property
    def is_status(self) -> bool:
        """Whether it came to the status endpoint, by whatever method."""
        return self.request.path == self.server.prefix + STATUS_PATH

    def names(self, text: str) -> bool:
        """Whether some member of its JSON body is this text, whatever the member is called."""
        return text in self.texts

    @property
    def texts(self) -> set[str]:
        """Every text in the members of its body: of a JSON object or list, or of a form."""
        if self.message is None:
            return {value for _, value in parse_qsl(self.request.body.decode("latin-1"))}
        return _texts(self.message)

    @property
    def exchange(self) -> Exchange:
        """The request and what the suite answered, for reports."""
        act = self.act or Act()
        parts = urlsplit(self.server.base)
        return Exchange(
            method=self.request.method,
            url=f"{parts.scheme}://{parts.netloc}{self.request.target}",
            request_headers=self.request.headers,
            request_body=self.request.body,
            status=act.status,
            response_headers=act.headers,
            response_body=act.body,
            started=self.arrived,
            ended=self.ended if self.ended is not None else self.arrived,
            failure=Failure.TIMEOUT if self.given_up else act.failure,
            detail="as the script has it" if act.failure else "",
            inbound=True,
        )


def _texts(value: Any) -> set[str]:
    if isinstance(value, str):
        return {value}
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {member for member in members if isinstance(member, str)}


@dataclass(slots=True, eq=False)
class ToolServer:
    """One tool server as a runtime sees it. Its tools are called `<name>_job` and `<name>_feed`.

    `tls` makes it fail the TLS handshake: the bytes it writes before it hangs up. `about` holds its requests
    by the texts in their bodies. `neighbours` share its port, each under a prefix of its own.
    """

    name: str
    base: str
    bell: Bell
    prefix: str = ""
    tls: bytes | None = None
    script: dict[tuple[str, ...], Act] = field(default_factory=dict)
    otherwise: Act = field(default_factory=lambda: alive(False))
    elsewhere: dict[str, Act] = field(default_factory=dict)
    queries: list[Query] = field(default_factory=list)
    about: dict[str, list[Query]] = field(default_factory=dict)
    ended: int = 0
    handshakes: int = 0
    listener: asyncio.Server | None = None
    neighbours: list[ToolServer] = field(default_factory=list)

    @property
    def listening(self) -> bool:
        """Whether its port accepts connections."""
        return self.listener is not None

    @property
    def open(self) -> bool:
        """Whether a status check waits for its answer."""
        return any(query.ended is None and query.is_status for query in self.queries)

    @property
    def job(self) -> str:
        """Its tool for calls."""
        return f"{self.name}_job"

    @property
    def feed(self) -> str:
        """Its tool for subscriptions."""
        return f"{self.name}_feed"

    def whose(self, path: str) -> ToolServer:
        """Which of those at this port a path belongs to: the one with the longest prefix; else this one."""
        found = [s for s in (self, *self.neighbours) if f"{path}/".startswith(f"{s.prefix}/")]
        return max(found, key=lambda server: len(server.prefix), default=self)

    def fall_silent(self) -> None:
        """From now on every request is heard and none is answered, discovery included."""
        silence = Act(ending="hold", failure=Failure.TIMEOUT)
        self.elsewhere[self.prefix + MANIFEST_PATH] = self.otherwise = silence
        self.script.clear()

    def act(self, query: Query) -> Act:
        """What the script says to a status query: by thread and call, by either, else no such call."""
        texts = query.texts
        pairs = ((one, two) for one in texts for two in texts)
        for key in (*pairs, *((text,) for text in texts)):
            if key in self.script:
                return self.script[key]
        return self.otherwise

    def note(self, query: Query) -> None:
        """Keep a request."""
        self.queries.append(query)
        for text in query.texts:
            self.about.setdefault(text, []).append(query)

    def play(self, thread: str, call: str, act: Act) -> None:
        """Script the answer about one call; a query that names only one of the two gets it too."""
        self.script[thread, call] = act
        self.script.setdefault((call,), act)
        self.script.setdefault((thread,), act)

    @property
    def toolset(self) -> dict[str, Any]:
        """Its toolset."""
        closed = {"type": "object", "additionalProperties": False}
        tools = [
            {"name": name, "description": "For tests.", "inputSchema": closed}
            for name in (self.job, self.feed)
        ]
        return {"name": self.name, "endpoint": f"{self.base.rstrip('/')}/invoke", "tools": tools}

    def route(self, query: Query) -> Act:
        """The answer to any request; status checks by another method are read leniently."""
        if why := query.request.refused:
            return answer(400, f"no HTTP/1.1: {why}\n".encode(), (("Content-Type", "text/plain"),))
        method, path = query.request.method, query.request.path
        if path in self.elsewhere:
            return self.elsewhere[path]
        if query.is_status:
            return self.act(query)
        known = {f"{self.prefix}/{name}" for name in ("invoke", "close_thread", "cancel_tool_call")}
        if method == "GET" and path == self.prefix + MANIFEST_PATH:
            return answer(200, encode(self.toolset), JSON)
        return answer(200) if method == "POST" and path in known else answer(404)
