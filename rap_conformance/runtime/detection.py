"""Is every fault of a runtime caught, by its own requirement and no other?

`python -m rap_conformance.runtime.detection [NAME…]` certifies the reference runtime and each mutant of it,
several at a time, and compares what was found with what the mutant declares. Anything else is inexact: a
requirement missed, one accused wrongly, or another verdict than the reference's where nothing is declared.
Exit 1 unless all are exact.
"""

from __future__ import annotations

import argparse
import fnmatch
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from rap_conformance.catalogue import DEFAULT_REVISION, Level, catalogue
from rap_conformance.evidence import Verdict
from rap_conformance.runtime import embedded
from rap_conformance.runtime.options import RuntimeOptions, Timing
from rap_conformance.runtime.run import certify

REFERENCE = "reference"
TIMING = Timing(idle=4.0, deadline=6.0)
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
    """Certify one subject."""
    began = time.monotonic()
    command, environment = embedded.command(None if subject.name == REFERENCE else subject.name)
    options = RuntimeOptions(command, environment, True, profile=profile, seed=seed, timing=TIMING)
    run = certify(options)
    verdicts = {result.requirement.code: str(result.verdict) for result in run.results}
    reasons = {result.requirement.code: result.reason for result in run.results}
    return Outcome(subject, verdicts, reasons, time.monotonic() - began, run.cut_short)


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
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
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
