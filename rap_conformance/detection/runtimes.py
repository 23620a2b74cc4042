"""Is every fault of a runtime caught, by its own requirement and no other?

`python -m rap_conformance.runtime.detection [NAME…]` certifies the reference runtime and each mutant of it,
several at a time, and compares what was found with what the mutant declares. Anything else is inexact: a
requirement missed, one accused wrongly, or another verdict than the reference's where nothing is declared.
Exit 1 unless all are exact.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.requirement import Level
from rap_conformance.protocol.specification import DEFAULT_REVISION, catalogue
from rap_conformance.runtime import embedded

REFERENCE = "reference"
_OF_LEVEL = {Level.MUST: Verdict.FAIL, Level.SHOULD: Verdict.WARN, Level.ADVICE: Verdict.ADVICE}


@dataclass(frozen=True)
class Subject:
    """A runtime to certify: a mutant, or the reference."""

    name: str = REFERENCE
    expected: frozenset[str] = frozenset()
    unjudged: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What a run said. `trouble` is why it said nothing."""

    subject: Subject
    verdicts: Mapping[str, str]
    reasons: Mapping[str, str]
    seconds: float
    trouble: str = ""

    @property
    def found(self) -> frozenset[str]:
        """The requirements that were found violated."""
        return frozenset(
            code for code, verdict in self.verdicts.items() if verdict in set(_OF_LEVEL.values())
        )

    def astray(self) -> dict[str, str]:
        """Every code whose verdict is not the right one, with that verdict; "missing" if there is none."""
        wrong = {}
        for requirement in catalogue().at(DEFAULT_REVISION, role="runtime"):
            code = requirement.code
            right = str(self.subject.unjudged.get(code, Verdict.PASS))
            if code in self.subject.expected:
                right = str(_OF_LEVEL[requirement.level])
            if (verdict := self.verdicts.get(code, "missing")) != right:
                wrong[code] = verdict
        return wrong

    @property
    def exact(self) -> bool:
        """Whether the run said what it should, and nothing else."""
        return not self.trouble and not self.astray()


def subjects() -> list[Subject]:
    """The reference, and every mutant there is."""
    mutants = embedded.mutants().items()
    return [Subject(), *(Subject(name, frozenset(m.violates), m.unjudged) for name, m in mutants)]


def examine(subject: Subject, seed: int, profile: str = "quick") -> Outcome:
    """Certify one subject, in a process of its own: what `rap-conformance runtime --mutant NAME` does."""
    began = time.monotonic()
    words = [
        sys.executable,
        "-m",
        "rap_conformance",
        "runtime",
        "-q",
        f"--profile={profile}",
        f"--seed={seed}",
    ]
    if subject.name != REFERENCE:
        words.append(f"--mutant={subject.name}")
    with tempfile.TemporaryDirectory(prefix="rapc-detect-") as folder:
        words.append(f"--report-dir={folder}")
        done = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        try:
            report = json.loads((Path(folder) / "report.json").read_text("utf-8"))
        except (OSError, ValueError):
            report = {}
    entries = report.get("requirements", [])
    verdicts = {entry["code"]: entry["verdict"] for entry in entries}
    reasons = {entry["code"]: entry["reason"] for entry in entries}
    said = report.get("cut_short", "") if entries else (done.stdout + done.stderr).decode("utf-8", "replace")
    return Outcome(subject, verdicts, reasons, time.monotonic() - began, said)


def row(outcome: Outcome) -> str:
    """The table's lines for one subject."""
    mark = "exact  " if outcome.exact else "INEXACT"
    expected, found = (" ".join(sorted(codes)) or "-" for codes in (outcome.subject.expected, outcome.found))
    lines = [f"{mark} {outcome.subject.name:<32} {expected:<22} {found:<22} {outcome.seconds:6.1f} s"]
    if outcome.trouble:
        lines.append(f"        {outcome.trouble}")
    for code, verdict in outcome.astray().items():
        lines.append(f"        {code} {verdict}: {outcome.reasons.get(code, '')[:160]}")
    return "\n".join(lines)


def run_all(chosen: Sequence[Subject], seed: int, jobs: int) -> list[Outcome]:
    """Certify each subject in processes of their own, `jobs` at a time, and print each outcome at once."""
    found = []
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(examine, subject, seed) for subject in chosen]
        for future in futures:
            found.append(future.result())
            print(row(found[-1]), flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Examine what is named (globs; nothing: everything). Gives the exit code."""
    parser = argparse.ArgumentParser(prog="rap_conformance.runtime.detection", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants, or `reference`; globs")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--jobs", type=int, default=(os.cpu_count() or 2) + 1)
    given = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(1, 2**31) if given.seed is None else given.seed
    names = given.names or ["*"]
    chosen = [one for one in subjects() if any(fnmatch.fnmatchcase(one.name, name) for name in names)]
    if not chosen:
        sys.stderr.write(f"no runtime is called {' or '.join(names)}\n")
        return 4
    began = time.monotonic()
    outcomes = run_all(chosen, seed, given.jobs)
    exact = sum(outcome.exact for outcome in outcomes)
    seconds = time.monotonic() - began
    print(f"{exact} of {len(outcomes)} runtimes exact, seed {seed}, {seconds:.0f} s")
    return 0 if exact == len(outcomes) else 1


if __name__ == "__main__":
    raise SystemExit(main())
