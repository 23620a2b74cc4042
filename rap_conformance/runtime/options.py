"""What the command line decides for a run against a runtime."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """The deadlines of a run against a runtime; all are seconds.

    `status_timeout`: wished of the runtime for one status check. `silence`: how long it may wait for a silent
    server if it does not heed the wish. `idle`: how long after its last request it is thought to ask no more.
    `deadline`: in which a call is pruned after the answer that ends it. `settle`: how long it is watched for
    pruning more than it should. `prompt`: in which a message is answered if nothing blocks it. `answer`: in
    which the adapter answers.
    """

    status_timeout: float = 1.5
    silence: float = 40.0
    idle: float = 6.0
    deadline: float = 8.0
    settle: float = 0.3
    prompt: float = 1.5
    answer: float = 15.0


@dataclass(frozen=True, slots=True)
class RuntimeOptions:
    """The runtime's adapter: `command` starts it and holds `{port}`; `environment` is added to ours for it.

    `embedded`: it is one of the runtimes that this suite carries.
    """

    command: str
    environment: tuple[tuple[str, str], ...] = ()
    embedded: bool = False
    timing: Timing = Timing()
