"""How the harness certifies one peer after the other: child processes and outcomes.

Serves `rap_conformance.detection`. A run is what a user starts as `check …` or `runtime …`, in a child that
is forked once everything is imported and every input generated.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rap_conformance.detection import runtimes, servers
from rap_conformance.detection.subjects import RUNTIME, Outcome, Subject
from rap_conformance.engine.events import Event, Found
from rap_conformance.network.patience import Patience
from rap_conformance.places import place

LONGEST = 240.0
"""Seconds after which a run is ended and counted as inexact."""


def arguments(subject: Subject, folder: Path, seed: int) -> list[str]:
    """The options of a run, as pytest takes them."""
    ways = runtimes if subject.role == RUNTIME else servers
    config = folder / "run.toml"
    config.write_text(ways.configuration(subject, folder), "utf-8")
    given = [f"--rap-config={config}", "--rap-profile=quick", f"--rap-seed={seed}"]
    return [*given, f"--rap-report-dir={folder / 'reports'}", "-q", *ways.options(subject)]


def warm_up(seed: int) -> None:
    """Import what a run needs and make its generated inputs, once: runs are forked from this process."""
    import pytest_html.plugin
    import pytest_metadata.plugin

    import rap_conformance.driver
    from rap_conformance.contract import coverage_cases, hostile_queries, malformed_bodies, ordinary_queries
    from rap_conformance.engine.plan import EXAMPLES

    _ = pytest_html.plugin, pytest_metadata.plugin, rap_conformance.driver
    count = EXAMPLES["quick"]
    ordinary_queries(count, seed)
    hostile_queries(count, seed)
    coverage_cases(seed)
    malformed_bodies(count, seed)
    gc.collect()
    gc.freeze()  # all this stays, so no child need look at it


class FirstFinding:
    """A plugin of pytest that writes down how many requests had been made when the first finding was."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "first"

    def pytest_rap_event(self, event: Event) -> None:
        """Hear of a finding."""
        if isinstance(event, Found):
            with contextlib.suppress(FileExistsError), self._file.open("x", encoding="ascii") as file:
                file.write(str(event.requests))


class Job:
    """One run under way, in a child of this process (a new process where there is no fork)."""

    def __init__(self, subject: Subject, seed: int) -> None:
        self.subject = subject
        self.folder = Path(tempfile.mkdtemp(prefix="rapc-detect-"))
        self.began = time.monotonic()
        self._process: subprocess.Popen[bytes] | None = None
        self._start(self.options(seed))

    def options(self, seed: int) -> list[str]:
        """The options of the run, as pytest takes them; what they need is in the run's folder."""
        return arguments(self.subject, self.folder, seed)

    def listeners(self) -> list[object]:
        """Plugins of pytest that hear what happens in the run, in its own process."""
        return [FirstFinding(self.folder)]

    def _start(self, options: list[str]) -> None:
        if hasattr(os, "fork"):
            sys.stdout.flush()
            sys.stderr.flush()
            self.pid = os.fork()
            if not self.pid:
                self._child(options)
            return
        words = [
            sys.executable,
            "-m",
            "rap_conformance",
            "runtime" if self.subject.role == RUNTIME else "check",
            *(o.replace("--rap-", "--") for o in options),
        ]
        with (self.folder / "output").open("wb") as output:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **servers.environment(self.subject)},
            )
        self.pid = self._process.pid

    def _child(self, options: list[str]) -> None:
        code = 3
        try:
            for stream, flags in (
                (0, os.O_RDONLY),
                (1, os.O_WRONLY | os.O_CREAT),
                (2, os.O_WRONLY | os.O_APPEND),
            ):
                name = os.devnull if stream == 0 else str(self.folder / "output")
                os.dup2(os.open(name, flags, 0o600), stream)
            os.chdir(self.folder)
            os.environ.update(servers.environment(self.subject))
            from rap_conformance.cli import run_pytest

            role = self.subject.role
            scenarios = str(place("conformance") / role)
            code = run_pytest([f"--rap-role={role}", *options], scenarios, *self.listeners())
            sys.stdout.flush()
        finally:
            os._exit(code)

    def over(self) -> bool:
        """Whether the run has ended; one that takes too long is ended."""
        if time.monotonic() - self.began > LONGEST:
            self.end()
            return True
        return self._gone()

    def _gone(self) -> bool:
        if self._process is not None:
            return self._process.poll() is not None
        return os.waitpid(self.pid, os.WNOHANG)[0] != 0

    def end(self) -> None:
        """End the run now; it stops its peer itself."""
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGTERM)
            if not Patience().until(self._gone, 10.0, every=0.05):
                os.kill(self.pid, getattr(signal, "SIGKILL", signal.SIGTERM))

    def outcome(self) -> Outcome:
        """What came out; the run's folder is deleted."""
        seconds = time.monotonic() - self.began
        said = (
            (self.folder / "output").read_text("utf-8", "replace")
            if (self.folder / "output").exists()
            else ""
        )
        first = self.folder / "first"
        number = int(first.read_text("ascii")) if first.exists() else None
        try:
            report = json.loads((self.folder / "reports" / "report.json").read_text("utf-8"))
        except (OSError, ValueError):
            report = {}
        if keep := os.environ.get("RAPC_KEEP_REPORTS"):
            shutil.copytree(self.folder, Path(keep) / self.subject.name, dirs_exist_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        entries = report.get("requirements", [])
        if not entries:
            return Outcome(self.subject, {}, {}, number, seconds, said.strip()[-2000:] or "no report")
        verdicts = {entry["code"]: entry["verdict"] for entry in entries}
        reasons = {entry["code"]: entry["reason"] for entry in entries}
        return Outcome(self.subject, verdicts, reasons, number, seconds)


def run_all(
    chosen: Sequence[Subject], seed: int, jobs: int, on_outcome: Callable[[Outcome], None]
) -> list[Outcome]:
    """The outcomes in the order given; `jobs` runs at a time, each outcome goes to `on_outcome` at once."""
    waiting, running = list(chosen), list[Job]()
    done: dict[str, Outcome] = {}
    patience = Patience()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(Job(waiting.pop(0), seed))
            job = patience.until(
                lambda: next((job for job in running if job.over()), None), LONGEST, every=0.05
            )
            if job is not None:
                running.remove(job)
                done[job.subject.name] = job.outcome()
                on_outcome(done[job.subject.name])
    finally:
        for job in running:
            job.end()
            job.outcome()
    return [done[subject.name] for subject in chosen]
