"""Does a verdict ever wobble? `python -m rap_conformance.detection.steady N [--role R] [--mutants K] …`.

Certifies the reference server, or the reference runtime, N times as a user would and compares every verdict
with the first run's: two fifths idle, three tenths with every core kept busy, three tenths against the
reference with late answers (`fixtures/servers/varied.py`; a runtime's late questions are those of
`fixtures/runtimes/varied`). Run number n has the seed S + n, so that generated inputs differ as well.
With `--mutants K` every mutant is certified K times too, and must be exact. Exit 1 if anything differs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import secrets
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import tomli_w

from rap_conformance.detection import mutants as detection
from rap_conformance.detection.subjects import ROLES, RUNTIME, SERVER
from rap_conformance.places import PACKAGE
from rap_conformance.server.embedded import EMBEDDED_RATE_LIMIT, reference_scenarios

ROOT = PACKAGE.parent

IDLE, BUSY, LATE = "idle", "busy", "late"
CONDITIONS = (IDLE, BUSY, LATE, IDLE, LATE, BUSY, IDLE, LATE, BUSY, IDLE)
"""The condition of each ten runs in turn: two fifths, three tenths, three tenths."""
LONGEST = 600.0
"""Seconds after which a run is ended, and counts as another one."""
BURN = """
import os, sys, time
parent, end = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
while time.monotonic() < end and os.getppid() == parent:
    sum(range(100_000))
"""


@dataclass(frozen=True)
class Outcome:
    """Verdict and reason by code, and how long the run took in seconds. `trouble`: why there are none."""

    verdicts: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    trouble: str = ""


@contextlib.contextmanager
def every_core_busy() -> Iterator[None]:
    """Keep all cores at work inside the block; the loops end by themselves should nobody end them."""
    words = [sys.executable, "-c", BURN, str(os.getpid()), str(LONGEST)]
    loops = [subprocess.Popen(words) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def command(role: str, condition: str, folder: Path, seed: int) -> list[str]:
    """How a run is started: as by `make certify`, or by `check` with that configuration for a late server.

    A runtime's is started by `runtime`, with the adapter of the late one.
    """
    own = ["--rap-profile=quick", f"--rap-seed={seed}", f"--rap-report-dir={folder / 'reports'}"]
    if role == RUNTIME:
        late = shlex.join([sys.executable, "-m", "fixtures.runtimes.varied", "late", "--port"]) + " {port}"
        adapter = [f"--adapter-cmd={late}"] if condition == LATE else []
        public = [option.replace("--rap-", "--") for option in own]
        return [sys.executable, "-m", "rap_conformance", "runtime", "-q", *adapter, *public]
    if condition != LATE:
        return [sys.executable, "-m", "pytest", "-q", *own]
    config = folder / "late.toml"
    config.write_text(late_configuration(folder), "utf-8")
    public = [option.replace("--rap-", "--") for option in own]
    return [sys.executable, "-m", "rap_conformance", "check", "-q", f"--config={config}", *public]


def late_configuration(folder: Path) -> str:
    """The embedded server's configuration for the server with late answers."""
    tokens = [f"t{secrets.token_urlsafe(24)}" for _ in range(2)]  # never an option's dash in front
    words = [sys.executable, "-m", "fixtures.servers.varied", "--late", "--port", "{port}"]
    words += [
        "--prefix",
        "/rap",
        "--state",
        str(folder / "state.db"),
        "--rate-limit",
        str(EMBEDDED_RATE_LIMIT),
    ]
    words += [word for token in tokens for word in ("--token", token)]
    ours, others = ({"Authorization": f"Bearer {token}"} for token in tokens)
    tables = {
        "server": {"command": shlex.join(words), "prefix": "/rap"},
        "features": {"status": True, "subscription": True},
        "auth": {"headers": ours, "other": {"headers": others}},
        "timing": {"grace": 10.0},
        "scenario": reference_scenarios(3.0),
    }
    return tomli_w.dumps(tables)


def run(role: str, condition: str, seed: int) -> Outcome:
    """One certification."""
    with tempfile.TemporaryDirectory(prefix="rapc-steady-") as name, contextlib.ExitStack() as around:
        folder = Path(name)
        if condition == BUSY:
            around.enter_context(every_core_busy())
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV_"))}
        began = time.monotonic()
        try:
            done = subprocess.run(
                command(role, condition, folder, seed),
                cwd=ROOT,
                env=kept,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=LONGEST,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Outcome(seconds=LONGEST, trouble=f"it took more than {LONGEST:g} s")
        seconds = time.monotonic() - began
        try:
            entries = json.loads((folder / "reports" / "report.json").read_text("utf-8"))["requirements"]
        except (OSError, ValueError, KeyError):
            return Outcome(
                seconds=seconds, trouble=done.stdout.decode("utf-8", "replace")[-1000:] or "no report"
            )
    verdicts = {entry["code"]: entry["verdict"] for entry in entries}
    return Outcome(verdicts, {entry["code"]: entry["reason"] for entry in entries}, seconds)


def differences(first: Mapping[str, str], other: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Code, verdict before and verdict now, wherever the two differ."""
    for code in sorted({*first, *other}):
        before, now = first.get(code, "missing"), other.get(code, "missing")
        if before != now:
            yield code, before, now


def compare(title: str, first: Outcome, now: Outcome) -> bool:
    """Print a run's line and its differences from the first; whether there are none."""
    differing = list(differences(first.verdicts, now.verdicts))
    same = not differing and not now.trouble
    print(f"{'same     ' if same else 'DIFFERENT'} {title} {now.seconds:6.1f} s", flush=True)
    if now.trouble:
        print(f"          {now.trouble!a}"[:400], flush=True)
    for code, before, verdict in differing:
        why = now.reasons.get(code) or first.reasons.get(code, "")
        print(f"          {code}: {before}, now {verdict}: {why[:300]!a}", flush=True)
    return same


def steady_runs(role: str, number: int, seed: int) -> int:
    """Certify the reference `number` times; gives how many were the same as the first."""
    first: Outcome | None = None
    same = 0
    for index in range(number):
        condition = CONDITIONS[index % len(CONDITIONS)]
        now = run(role, condition, seed + index)
        first = first or now
        same += compare(f"run {index + 1:>3} {condition} seed {seed + index}", first, now)
    return same


def steady_mutants(role: str, times: int, seed: int, jobs: int) -> tuple[int, int]:
    """Certify reference and mutants `times` times; gives how many of how many were the same and exact."""
    first: dict[str, Outcome] = {}
    wrong = set[tuple[int, str]]()
    total = turn = 0

    def tell(outcome: detection.Outcome) -> None:
        nonlocal total
        now = Outcome(outcome.verdicts, outcome.reasons, outcome.seconds, outcome.trouble)
        name = outcome.subject.name
        total += 1
        if not compare(f"mutant {name}", first.setdefault(name, now), now):
            wrong.add((turn, name))

    for turn in range(times):
        print(f"all mutants, time {turn + 1}", flush=True)
        inexact = detection.certify(detection.subjects([role]), seed + turn, jobs, show, tell)
        wrong |= {(turn, outcome.subject.name) for outcome in inexact}
    return total - len(wrong), total


def show(line: str) -> None:
    """Print at once."""
    print(line, flush=True)


def main() -> int:
    """0 if every verdict was the same each time, else 1."""
    parser = argparse.ArgumentParser(prog="python -m rap_conformance.detection.steady", description=__doc__)
    parser.add_argument("number", type=int, metavar="N", help="runs of the reference")
    parser.add_argument("--role", choices=ROLES, default=SERVER, help="who is certified")
    parser.add_argument("--seed", type=int, default=None, help="the first run's seed")
    parser.add_argument(
        "--mutants", type=int, default=0, metavar="K", help="certify every mutant K times too"
    )
    parser.add_argument("--jobs", type=int, default=3, help="mutants at a time (they mostly wait)")
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(1, 2**30)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(f"seed {seed}", flush=True)
    same, total = steady_runs(given.role, given.number, seed), given.number
    if given.mutants:
        exact, runs = steady_mutants(given.role, given.mutants, seed, max(1, given.jobs))
        same, total = same + exact, total + runs
    print(f"{same} of {total} the same")
    return 0 if same == total else 1


if __name__ == "__main__":
    sys.exit(main())
