"""What decides over a run against a runtime, from command line and configuration."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """The deadlines of a run against a runtime; all are seconds.

    `status_timeout`: wished of the runtime for one status check. `settle`: how long after its last request it
    is thought to ask no more, and in which an answer or a callback takes effect. `silence`: how long it may
    wait for a silent server if it does not heed the wish. `watch`: how long it is watched for giving up more
    than it should. `prompt`: in which a message is answered if nothing blocks it. `answer`: in which the
    adapter answers.
    """

    status_timeout: float = 1.5
    settle: float = 8.0
    silence: float = 40.0
    watch: float = 0.3
    prompt: float = 1.5
    answer: float = 15.0

    @property
    def patience(self) -> float:
        """Seconds after which an answer that had no effect will have none: `settle` is a guess, and a grace
        period, or a second question before a call is given up, is allowed."""
        return 2.5 * self.settle


@dataclass(frozen=True, slots=True)
class RuntimeOptions:
    """The runtime's adapter: `command` starts it and holds `{port}`; `environment` is added to ours for it.

    `embedded`: it is one of the runtimes that this suite carries.
    """

    command: str
    environment: tuple[tuple[str, str], ...] = ()
    embedded: bool = False
    timing: Timing = Timing()
