"""Calls that are pending while strange inputs arrive: whoever loses them has died, however soon it is back.

Specification: "Tool Call Status Check", section "Security Considerations".
"""

from __future__ import annotations

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import NotApplicable, Trouble, Untested
from rap_conformance.protocol.reading import means_alive
from rap_conformance.server.call import Call
from rap_conformance.server.peer import Peer


class Onlookers:
    """One pending call after the other, as long as inputs are sent. Without such a tool there are none."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.call: Call | None = None
        self.last: Exchange | None = None
        self.lost: Exchange | None = None
        self._next()

    def saw(self, exchange: Exchange) -> None:
        """An input was sent. A call that ended makes room for the next."""
        self.last = exchange
        if self.call is None or self.lost is not None:
            return
        if self.call.results:
            self._next()
        elif self.peer.patience.now() > self.call.acknowledged + self._patience(self.call):
            self.lost = exchange

    def judge(self, inputs: str) -> None:
        """No call was lost. Raises NotApplicable where none can be made."""
        if self.call is None or self.last is None:
            raise NotApplicable("no call can be made that stays pending")
        if self.lost is None and not means_alive(self.peer.ask_about(self.call)):
            # Over, or lost: only the latter brings no result.
            if self.peer.result_of(self.call, self._patience(self.call)) is None:
                self.lost = self.last
        self.peer.cancel(self.call)
        self.peer.expect(
            self.lost is None,
            "the result of a call that was pending meanwhile",
            "none: it was lost, though the server answers",
            *filter(None, (self.lost,)),
            case=f"a call that was pending while {inputs} were sent",
            depends=f"a call is pending while many {inputs} are sent",
            absence=True,
        )

    def _next(self) -> None:
        try:
            self.call = self.peer.invoke("pending")
        except (Untested, Trouble):
            self.call = None

    def _patience(self, call: Call) -> float:
        return self.peer.session.tools.patience("pending", call.seconds, self.peer.grace)
