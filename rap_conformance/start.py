"""The command's first moment: signals are kept before anything slow is imported, so that none is lost."""

from __future__ import annotations

import signal
import sys

from rap_conformance.engine.signals import SIGNALS

RUNS = ("check", "runtime")
"""The commands whose reports are written also when they are interrupted at once."""


def main() -> None:
    """Run the command line. A signal that comes before a run is made ready ends it like any later one."""
    if not any(argument in RUNS for argument in sys.argv[1:2]):
        if hasattr(signal, "SIGPIPE"):  # whoever reads has enough, as in `list | head`: end without a word
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        _command()
        return
    SIGNALS.defer()
    try:
        _command()
    finally:
        SIGNALS.restore()


def _command() -> None:
    from rap_conformance.cli import main as command

    command()
