"""What our own inputs provoke is waited out: a lock-out after wrong credentials, a limit after a flood.

None of it is held against the server. If it does not pass, nothing that comes later can be judged.
"""

from __future__ import annotations

from collections.abc import Callable

from rap_conformance.engine.evidence import Exchange
from rap_conformance.network.answers import retry_after
from rap_conformance.network.patience import Patience

RECOVERY = 120.0
"""Seconds in which a server forgets what our own inputs provoked."""
MOST_RECOVERY = 300.0
"""Seconds that all those waits of a run may take together."""
_FIRST, _GROWTH, _LONGEST = 0.5, 1.5, 15.0
"""Seconds between two looks: some lock-outs begin anew with every request."""


class Recovery:
    """Asks an ordinary question until it is answered as it was at first.

    `ask` asks it, `right` tells whether an answer is as at first, `gone` whether waiting is of no use.
    """

    def __init__(
        self,
        patience: Patience,
        ask: Callable[[], Exchange],
        right: Callable[[Exchange], bool],
        gone: Callable[[], bool],
    ) -> None:
        self._patience, self._ask, self._right, self._gone = patience, ask, right, gone
        self._waited = 0.0
        self.locks_out = False
        """Whether wrong credentials were seen to shut out right ones."""
        self.failed = ""
        """Why nothing that comes later can be judged."""

    def is_over(self) -> bool:
        """Whether an ordinary question is answered now."""
        return self._right(self._ask())

    def wait(self, within: float = RECOVERY) -> bool:
        """Wait until an ordinary question is answered again; whether it is. Raises Halted."""
        if self.failed:
            return False
        began, pause = self._patience.now(), _FIRST
        until = began + min(within, MOST_RECOVERY - self._waited)
        try:
            while not self._right(exchange := self._ask()):
                if self._gone() or self._patience.now() + pause > until:
                    self.failed = self._said(exchange, self._patience.now() - began)
                    return False
                self._patience.pace(max(pause, min(retry_after(exchange), until - self._patience.now())))
                pause = min(pause * _GROWTH, _LONGEST)
        finally:
            self._waited += self._patience.now() - began
        return True

    def _said(self, exchange: Exchange, seconds: float) -> str:
        got = exchange.failure.value if exchange.failure else f"status {exchange.status}"
        return (
            "after inputs of ours that are to be refused the server answers no ordinary question either "
            f"({got}, {seconds:.0f} s later), so what comes later cannot be judged"
        )
