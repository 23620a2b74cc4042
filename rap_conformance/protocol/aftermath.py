"""What answers after a crash mean, held against what was delivered then. No I/O.

Serves "Tool Call Status Check", section "Recovery After Runtime Restart": alive is what will still deliver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rap_conformance.engine.evidence import Exchange
from rap_conformance.protocol.reading import means_alive

LOAD = 3.0
"""Seconds after a start in which a server may still be reading what it had written down."""


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What was answered and delivered for one call after a restart, in order of time.

    `restarted`: when the server was up; `edge`: for how long a delivery may be under way before it arrives;
    `work`: how long the call's work lasts, 0 for what delivers again and again. In seconds, times since the
    run began.
    """

    answers: Sequence[Exchange]
    arrived: Sequence[float]
    restarted: float
    edge: float
    work: float

    def lie(self) -> tuple[Exchange, float] | None:
        """A "not alive" that a delivery followed, with the time of that; None if there is none.

        While state loads nobody knows better. It has loaded after `LOAD` seconds, once something was
        delivered, or if the work that was delivered had been begun: that takes its time.
        """
        for answer in self.answers:
            later = [each for each in self.arrived if each > answer.ended + self.edge]
            if means_alive(answer) is not False or not later:
                continue
            loaded = answer.started > min(self.restarted + LOAD, self.arrived[0] + self.edge)
            if loaded or (self.work and answer.ended > later[0] - self.work / 2):
                return answer, later[0]
        return None

    def claim(self) -> Exchange | None:
        """The last answer, if it says alive and nothing ever came."""
        last = self.told()
        return last if last is not None and means_alive(last) and not self.arrived else None

    def told(self) -> Exchange | None:
        """The last answer that says alive or not; None if none does."""
        return next((each for each in reversed(self.answers) if means_alive(each) is not None), None)

    def mute(self) -> Exchange | None:
        """The last answer, if neither it nor any other since state had time to load can be read."""
        late = [each for each in self.answers if each.started > self.restarted + LOAD]
        if self.arrived or not late or any(means_alive(each) is not None for each in late):
            return None
        return late[-1]
