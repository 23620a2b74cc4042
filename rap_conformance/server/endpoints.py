"""Asks for an endpoint, and twice for a path that cannot exist, what shows whether the endpoint is there."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial

from rap_conformance.engine.evidence import Exchange, Headers
from rap_conformance.protocol.messages import JSON
from rap_conformance.protocol.presence import Asked, Presence, decide

Send = Callable[[str, str, bytes, Headers], Exchange]
"""Makes one exchange of method, URL, body and headers."""
Together = Callable[[Sequence[Callable[[], Exchange]]], list[Exchange]]
"""Makes several exchanges; gives them in their order."""


def _in_turn(exchanges: Sequence[Callable[[], Exchange]]) -> list[Exchange]:
    return [make() for make in exchanges]


class Inquiry:
    """What is asked to find out whether an endpoint is there.

    `send` makes the exchanges, `together` those of one question: by itself one after the other.
    """

    def __init__(self, send: Send, base: str, path: str, together: Together | None = None) -> None:
        self._send, self._base = send, base
        self._together = together or _in_turn
        self._paths = path, f"/rapc-no-such-path-{os.urandom(6).hex()}"
        self.asked: list[Asked] = []
        self._ids: list[str] = []

    def ask(self, method: str, body: bytes = b"", *ids: str) -> Asked:
        """The same request to the endpoint and twice to a path that cannot exist; `ids` are named in it."""
        headers = JSON if method == "POST" else ()
        mine, impossible = (self._base + path for path in self._paths)
        answers = self._together(
            [partial(self._send, method, url, body, headers) for url in (impossible, mine, impossible)]
        )
        self._ids += ids
        self.asked.append((answers[1], answers[0], answers[2]))
        return self.asked[-1]

    def shown(self) -> Presence:
        """What all that was asked shows."""
        return decide(self.asked, self._paths, self._ids)
