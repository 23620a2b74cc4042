"""Slowing down where a server asks for it: a 429 or 503 is no answer while others are answered."""

from __future__ import annotations

from collections.abc import Callable

from rap_conformance.engine.evidence import Exchange
from rap_conformance.engine.scenario import Trouble
from rap_conformance.network.answers import retry_after, slowed_down
from rap_conformance.network.patience import Patience

PATIENT = 75.0
"""Seconds for which one request is repeated that is answered 429 or 503."""
MOST_PATIENCE = 200.0
"""Seconds that all those waits of a run may take together; what comes later waits for `HASTY` seconds."""
HASTY = 5.0
TRIES = 3
"""Refusals after which somebody else is asked whether it is the pace, or this request."""

Referee = Callable[[], Exchange]
"""Makes another, ordinary request of the same kind, which asks for no patience."""


class NoAnswer(Trouble):
    """The server asked us to slow down until our own deadline: nothing was learnt."""


def slowly(
    patience: Patience, once: Callable[[], Exchange], what: str, referee: Referee | None, until: float
) -> Exchange:
    """Ask ever more slowly. Raises NoAnswer when the time is up."""
    pause, refused, others = 0.25, 0, 0
    while slowed_down(exchange := once()):
        refused += 1
        pause = max(min(pause * 2, 8.0), retry_after(exchange))
        if patience.now() + pause > until:
            raise NoAnswer(f"{what}: still {exchange.status}, however slowly it is asked")
        patience.pace(pause)
        if referee is not None and refused >= TRIES:
            others = 0 if slowed_down(referee()) else others + 1
            if others >= TRIES:
                return exchange
            patience.pace(pause)
    return exchange
