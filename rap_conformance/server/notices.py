"""Optional endpoints that are told of ends, and how a server is left as it was found.

Specification: "Tool Cancellation", "Thread Closure".
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.once import Once
from rap_conformance.engine.scenario import Halted, Trouble
from rap_conformance.network.credentials import Credentials
from rap_conformance.network.probe import Probe
from rap_conformance.protocol.messages import JSON, closure, encode, query
from rap_conformance.protocol.presence import Presence, State
from rap_conformance.server.call import Call
from rap_conformance.server.endpoints import Inquiry, Together
from rap_conformance.server.facts import Facts


class Notices:
    """Cancellations and closures for a server that takes them."""

    def __init__(self, probe: Probe, facts: Facts, once: Once, together: Together) -> None:
        self._probe, self._facts, self._once, self._together = probe, facts, once, together

    def exists(self, path: str) -> Presence:
        """Whether an optional endpoint such as "close_thread" is there, asked once a run, harmlessly."""

        def look() -> Presence:
            thread, call = "rapc-thread-nobody", "rapc-call-nobody"
            body = closure(thread) if path == "close_thread" else query(call, thread)
            inquiry = Inquiry(
                lambda method, url, data, headers: self._probe.send(method, url, data, headers=headers),
                self._facts.base,
                f"/{path}",
                self._together,
            )
            inquiry.ask("POST", encode(body), thread, call)
            inquiry.ask("GET")
            return inquiry.shown()

        return self._once.get(f"exists {path}", look)

    def notify(self, path: str, body: dict[str, Any], who: Credentials | None = None) -> Exchange | None:
        """Send a notification if the server has the endpoint; None if it has not."""
        if self.exists(path).state is not State.PRESENT:
            return None
        url = f"{self._facts.base}/{path}"
        return self._probe.send("POST", url, encode(body), headers=JSON, credentials=who, within=10.0)

    def ends_of(self, calls: Sequence[Call], other: Credentials) -> list[Callable[[], None]]:
        """What leaves a server as it was found: ends every call that may still run, and every thread of ours.

        None of it raises anything; `other` is the second identity.
        """
        threads: dict[str, Credentials | None] = {}
        ends: list[Callable[[], None]] = []
        for call in calls:
            who = other if call.other else None
            threads.setdefault(call.thread, who)
            over = call.final if call.kind in {"subscription", "final"} else call.result
            if not over and not call.cancelled:
                ends.append(partial(self._end, "cancel_tool_call", query(call.id, call.thread), who))
        ends += [partial(self._end, "close_thread", closure(thread), who) for thread, who in threads.items()]
        return ends

    def _end(self, path: str, body: dict[str, Any], who: Credentials | None) -> None:
        """Send a notification as long as there is time for it; never raises."""
        if not self._probe.patience.time_is_up:
            with contextlib.suppress(Trouble, Halted):
                self.notify(path, body, who)
