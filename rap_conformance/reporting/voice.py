"""What `check` says while it runs and at its end; under plain pytest, pytest's own reporter speaks."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from typing import TextIO

from rap_conformance.engine.events import Begins, Ended, Event, Found, Judged
from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.requirement import Stage
from rap_conformance.engine.run import Result, Run
from rap_conformance.engine.safe import terminal_text
from rap_conformance.reporting import terminal
from rap_conformance.reporting.view import plural

_COLOURS = {
    Verdict.PASS: "32",
    Verdict.FAIL: "31;1",
    Verdict.ERROR: "31",
    Verdict.WARN: "33",
    Verdict.ADVICE: "36",
    Verdict.KNOWN: "35",
}
_TOLD = frozenset({Verdict.FAIL, Verdict.WARN, Verdict.ADVICE, Verdict.KNOWN, Verdict.ERROR})
"""Verdicts that are said at once; what passed, or was not judged, is said with -v."""


_STAGES = {
    Stage.FORGED: "forged credentials",
    Stage.FLOOD: "many questions at once",
    Stage.DEADLY: "hostile and malformed input",
    Stage.RESTART: "restarts",
}
"""What comes after what is harmless, as a pipe is told."""
_WORTH_SAYING = 3.0
"""Seconds of waiting of which a pipe is told."""
_BAR = 20
"""Columns of the bar."""
_outlets: list[TextIO] = []


@contextlib.contextmanager
def outlet() -> Iterator[None]:
    """Let voices speak past pytest, which captures standard output as long as something is judged.

    Where there is no standard output they go on with what Python has in its place.
    """
    try:
        own = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding=sys.stdout.encoding, errors="replace")
    except (OSError, ValueError, AttributeError):
        yield
        return
    _outlets.append(own)
    try:
        yield
    finally:
        _outlets.remove(own)
        with contextlib.suppress(OSError):
            own.close()


class Voice:
    """Speaks to a terminal, a pipe or a log. `verbosity` as pytest counts it: -q is -1, -v is 1."""

    def __init__(self, verbosity: int = 0, stream: TextIO | None = None) -> None:
        self.verbosity = verbosity
        self.stream = stream or next(iter(_outlets), sys.stdout)
        with contextlib.suppress(AttributeError, ValueError, OSError):
            self.stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        dumb = os.environ.get("TERM") == "dumb" or bool(os.environ.get("CI"))
        self.live = self.stream.isatty() and not dumb and verbosity >= 0
        self.colours = self.live and not os.environ.get("NO_COLOR")
        self._line = ""
        self._found: set[str] = set()
        self._told: set[object] = set()
        self._now: Begins | None = None
        self._since = 0.0
        self._lock = threading.RLock()
        self._over = threading.Event()

    @property
    def width(self) -> int:
        """Columns to fill, 40 at least and 100 at most."""
        return max(40, min(shutil.get_terminal_size((88, 24)).columns, 100))

    def say(self, text: str = "") -> None:
        """One line of its own."""
        with self._lock, contextlib.suppress(BrokenPipeError):
            self._clear()
            print(text, file=self.stream, flush=True)

    def status(self, text: str) -> None:
        """A line that the next one overwrites; only where somebody is watching."""
        with self._lock, contextlib.suppress(BrokenPipeError):
            if self.live and not self._over.is_set():
                self._clear()
                self._line = terminal_text(text)[: self.width - 1]
                print(self._line, end="", file=self.stream, flush=True)

    def _clear(self) -> None:
        if self._line:
            print("\r" + " " * len(self._line) + "\r", end="", file=self.stream)
            self._line = ""

    def paint(self, verdict: Verdict, text: str) -> str:
        """The text in the verdict's colour, where there are colours."""
        colour = _COLOURS.get(verdict)
        return f"\x1b[{colour}m{text}\x1b[0m" if self.colours and colour else text

    def begins(self, url: str, planned: int, seed: int, profile: str) -> None:
        """The first line."""
        if self.verbosity >= 0:
            what = f"{plural(planned, 'requirement')} against {terminal_text(url)}"
            self.say(f"{what} (profile {profile}, seed {seed})")
        if self.live:
            self.status("looking the target over")
            threading.Thread(target=self._tick, daemon=True).start()

    def _tick(self) -> None:
        """Show every second how time goes by."""
        while not self._over.wait(1.0):
            self._show()

    def hear(self, event: Event) -> None:
        """Say what happened, if it is worth a word."""
        match event:
            case Begins():
                self.judging(event)
            case Found():
                self.found(event)
            case Judged(result):
                self.judged(result)
            case Ended(run, refusal, reports):
                self.ends(run, refusal, reports)

    def judging(self, event: Begins) -> None:
        """What is being judged, or waited for, now."""
        self._now, self._since = event, time.monotonic()
        self._show()
        if self.live or self.verbosity < 0:
            return
        stage, where = event.requirement.stage, f"[{event.done}/{event.planned}]"
        if event.left >= _WORTH_SAYING and "wait" not in self._told:
            self._told.add("wait")
            self.say(f"{where} waiting about {event.left:.0f} s for calls that were started together")
        elif stage in _STAGES and stage not in self._told:
            self._told.add(stage)
            self.say(f"{where} {_STAGES[stage]}")

    def _show(self) -> None:
        """The line that the next one overwrites: how far it is, what is judged, how long that may take."""
        if (event := self._now) is None:
            return
        passed = time.monotonic() - self._since
        left = event.left - passed
        wait = f", about {left:.0f} s left" if left >= 1 else f", for {passed:.0f} s" if passed >= 2 else ""
        done = round(_BAR * event.done / max(1, event.planned))
        bar = "#" * done + "." * (_BAR - done)
        where = f"{bar if self.width >= 60 else ''}[{event.done}/{event.planned}]"
        self.status(f"{where} {event.requirement.code} {event.requirement.name}{wait}")

    def interrupted(self, what: str) -> None:
        """What is done before the end, and that there is a quicker one."""
        self.say(f"interrupted: {what}; then the reports are written. Ctrl-C again leaves that out")

    def found(self, event: Found) -> None:
        """A failure, when it is certain and long before its requirement is judged to the end."""
        code = event.requirement.code
        if event.finding.verdict is not Verdict.FAIL or code in self._found or self.verbosity < 0:
            return
        self._found.add(code)
        head = f"{'FOUND':<8} {code} {event.requirement.name}"
        said = f"{event.finding.case}: {event.finding.actual}"
        self.say(self.paint(Verdict.FAIL, head) + f": {terminal_text(said, 200)}")

    def judged(self, result: Result) -> None:
        """One line for one requirement, if it is worth one."""
        if self.verbosity < 0 or (self.verbosity == 0 and result.verdict not in _TOLD):
            return
        if result.verdict is Verdict.FAIL and result.requirement.code in self._found:
            return  # that was said when it was found
        if result.verdict is Verdict.ERROR:
            if result.reason in self._told and self.verbosity == 0:
                return  # one cause; the end lists whom it concerns
            self._told.add(result.reason)
        requirement = result.requirement
        head = f"{result.verdict.upper():<8} {requirement.code} {requirement.name}"
        reason = terminal_text(result.reason, 300)
        self.say(self.paint(result.verdict, head) + (f": {reason}" if reason else ""))

    def ends(self, run: Run, refusal: str, reports: str) -> None:
        """Failures in full, what was not judged and why, and the last line, which says it all."""
        self._over.set()
        if refusal:
            self.say(f"rap-conformance: {terminal_text(refusal)}")
        elif self.verbosity >= 0:
            for result in run.results:
                if result.verdict in {Verdict.FAIL, Verdict.WARN} or (result.findings and self.verbosity > 0):
                    self.say()
                    block = terminal.failure_block(result, self.width)
                    head, _, rest = block.partition("\n")
                    self.say(self.paint(result.verdict, head))
                    self.say(rest)
            self.say()
            for line in terminal.summary_lines(run):
                self.say(line)
            if reports:
                self.say(f"reports: {reports}")
        self.say(terminal.last_line(run))
