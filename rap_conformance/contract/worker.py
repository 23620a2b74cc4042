"""What the child of `bounded.run` does: one task from standard input, its result to standard output."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Mapping

from rap_conformance.contract import arguments, untrusted

TASKS: Mapping[str, Callable[..., object]] = {"arguments": arguments.build, "judge": untrusted.judge}


def serve() -> None:
    """Do the task that was asked for."""
    task, seconds, given = json.loads(sys.stdin.buffer.read())
    if hasattr(signal, "setitimer"):  # should the parent be killed, nobody else ends this process
        signal.setitimer(signal.ITIMER_REAL, 2 * seconds)
    result = TASKS[task](*given)
    sys.stdout.write(json.dumps(result))
