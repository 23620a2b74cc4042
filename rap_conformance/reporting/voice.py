"""What `check` says while it runs and at its end; under plain pytest, pytest's own reporter speaks."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from typing import TextIO

from rap_conformance.engine.events import Begins, Ended, Event, Found, Judged
from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.run import Result, Run
from rap_conformance.engine.safe import terminal_text
from rap_conformance.reporting import terminal

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


class Voice:
    """Speaks to a terminal, a pipe or a log. `verbosity` as pytest counts it: -q is -1, -v is 1."""

    def __init__(self, verbosity: int = 0, stream: TextIO | None = None) -> None:
        self.verbosity = verbosity
        self.stream = stream or sys.stdout
        with contextlib.suppress(AttributeError, ValueError, OSError):
            self.stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        dumb = os.environ.get("TERM") == "dumb" or bool(os.environ.get("CI"))
        self.live = self.stream.isatty() and not dumb and verbosity >= 0
        self.colours = self.live and not os.environ.get("NO_COLOR")
        self._line = ""
        self._found: set[str] = set()

    @property
    def width(self) -> int:
        """Columns to fill, 40 at least and 100 at most."""
        return max(40, min(shutil.get_terminal_size((88, 24)).columns, 100))

    def say(self, text: str = "") -> None:
        """One line of its own."""
        self._clear()
        with contextlib.suppress(BrokenPipeError):
            print(text, file=self.stream, flush=True)

    def status(self, text: str) -> None:
        """A line that the next one overwrites; only where somebody is watching."""
        if self.live:
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
            self.say(f"{planned} requirements against {terminal_text(url)} (profile {profile}, seed {seed})")

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
        requirement = event.requirement
        wait = f", about {event.left:.0f} s left" if event.left >= 1 else ""
        where = f"[{event.done}/{event.planned}] {requirement.area.name}"
        self.status(f"{where}: {requirement.code} {requirement.name}{wait}")

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
        requirement = result.requirement
        head = f"{result.verdict.upper():<8} {requirement.code} {requirement.name}"
        reason = terminal_text(result.reason, 300)
        self.say(self.paint(result.verdict, head) + (f": {reason}" if reason else ""))

    def ends(self, run: Run, refusal: str, reports: str) -> None:
        """Failures in full, what was not judged and why, and the last line, which says it all."""
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
