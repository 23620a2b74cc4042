"""Does the suite notice small faults nobody thought of? `python -m rap_conformance.detection.mutation`.

Changes a copy of the reference server in one place at a time and certifies each. A change is killed when any
verdict is another one than on the reference, and survives otherwise. Survivors are printed with the line
before and after; docs/mutation.md says of each known one why it does not matter to a peer.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import re
import shlex
import shutil
import signal
import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tomli_w

from rap_conformance.detection.changes import Change, changes
from rap_conformance.detection.runs import Job, arguments, warm_up
from rap_conformance.detection.servers import configuration
from rap_conformance.detection.subjects import Outcome, reference_subject
from rap_conformance.engine.events import Event, Found, Judged
from rap_conformance.network.patience import Patience
from rap_conformance.places import PACKAGE, place
from rap_conformance.server.embedded import EMBEDDED_RATE_LIMIT

REFERENCE = place("fixtures") / "servers" / "reference"
SURVIVORS = PACKAGE.parent / "docs" / "mutation.md"
LISTED = re.compile(r"- `([\w.]+)`: `(.+)` → `(.+)`")
"""A line of docs/mutation.md."""
LONGEST = 150.0
"""Seconds after which a run is ended: a change that makes the server hang is killed, too."""
RUN = """
import sys
from pathlib import Path
from mutated import Options, ReferenceServer, serve
port, state, *tokens = sys.argv[1:]
serve(ReferenceServer(Options(
    port=int(port), prefix="/rap", state=Path(state), rate_limit={limit}, tokens=tuple(tokens))))
"""


@dataclass(frozen=True)
class Fate:
    """What became of a change: `killed` says by what, and is empty if it survived."""

    key: str
    killed: str
    seconds: float


class Difference:
    """A plugin of pytest that writes down the first thing that tells this copy from the reference."""

    def __init__(self, folder: Path, expected: Mapping[str, str]) -> None:
        self._folder, self._expected = folder, expected

    def pytest_rap_event(self, event: Event) -> None:
        """Hear of a finding, or of another verdict than the reference's."""
        match event:
            case Found(requirement, finding):
                self._say(f"{requirement.code} {finding.case}: {finding.actual}")
            case Judged(result) if result.verdict != self._expected.get(result.requirement.code):
                self._say(f"{result.requirement.code} {result.verdict}: {result.reason}")

    def _say(self, what: str) -> None:
        partial = self._folder / f"killed.{os.getpid()}"
        with contextlib.suppress(OSError):
            partial.write_text(ascii(what)[1:-1][:200], "ascii")
            partial.rename(self._folder / "killed")


class Trial(Job):
    """Certifies one changed copy; it may be ended at the first thing that tells it from the reference."""

    def __init__(self, change: Change | None, expected: Mapping[str, str], seed: int) -> None:
        self.change, self.expected = change, expected
        super().__init__(reference_subject(), seed)

    def options(self, seed: int) -> list[str]:
        """What is given to a run of the reference, but for the server's command."""
        given = arguments(self.subject, self.folder, seed)
        shutil.copytree(REFERENCE, self.folder / "mutated", ignore=shutil.ignore_patterns("__pycache__"))
        if self.change is not None:
            (self.folder / "mutated" / self.change.file).write_text(self.change.after, "utf-8")
        run = self.folder / "run.py"
        run.write_text(RUN.format(limit=EMBEDDED_RATE_LIMIT), "ascii")
        config = tomllib.loads(configuration(self.subject, self.folder))
        words = shlex.split(config["server"]["command"])
        tokens = [word for flag, word in itertools.pairwise(words) if flag == "--token"]
        own = [sys.executable, "-B", str(run), "{port}", str(self.folder / "state.db"), *tokens]
        config["server"]["command"] = shlex.join(own)
        (self.folder / "run.toml").write_text(tomli_w.dumps(config), "utf-8")
        return given

    def listeners(self) -> list[object]:
        """Who tells the copy from the reference, once it is known what is expected."""
        return [Difference(self.folder, self.expected)] if self.expected else []

    def killed(self) -> str:
        """What told this copy from the reference so far."""
        with contextlib.suppress(OSError):
            return (self.folder / "killed").read_text("ascii")
        return ""

    def fate(self) -> Fate | None:
        """What became of the change; None while the run goes on."""
        seconds = time.monotonic() - self.began
        key = self.change.key if self.change else ""
        if killed := self.killed():
            self.end()
            self.outcome()
            return Fate(key, killed, seconds)
        if seconds > LONGEST:
            self.end()
            self.outcome()
            return Fate(key, f"the run took more than {LONGEST:g} s", seconds)
        if not self.over():
            return None
        late = self.killed()
        outcome = self.outcome()
        return Fate(key, late or self.difference(outcome), seconds)

    def difference(self, outcome: Outcome) -> str:
        """How a whole run differs from the reference's; empty if it does not."""
        if outcome.trouble:
            return f"no report: {outcome.trouble.splitlines()[-1]!a}"[:200]
        for code in sorted({*self.expected, *outcome.verdicts}):
            if self.expected.get(code) != outcome.verdicts.get(code):
                return f"{code} {outcome.verdicts.get(code)}: {outcome.reasons.get(code)!a}"[:200]
        return ""


def baseline(seed: int) -> Mapping[str, str]:
    """The reference's own verdicts, from an unchanged copy. Raises SystemExit if it is accused of a fault."""
    job = Trial(None, {}, seed)
    Patience().until(job.over, LONGEST, every=0.05)
    outcome = job.outcome()
    if outcome.trouble or outcome.found:
        raise SystemExit(
            f"mutation: the unchanged copy is not certified: {outcome.trouble or sorted(outcome.found)}"
        )
    return outcome.verdicts


def run_all(
    chosen: Sequence[Change],
    expected: Mapping[str, str],
    seed: int,
    jobs: int,
    tell: Callable[[Change, Fate], None],
) -> None:
    """Certify every changed copy, `jobs` at a time; `tell` hears of each fate at once."""
    waiting, running = list(chosen), list[Trial]()
    patience = Patience()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(Trial(waiting.pop(0), expected, seed))
            for job in list(running):
                if fate := job.fate():
                    running.remove(job)
                    assert job.change is not None
                    tell(job.change, fate)
            patience.pace(0.05)
    finally:
        for job in running:
            job.end()
            job.outcome()


def every_change(names: Iterable[str]) -> list[Change]:
    """Every change of the files with these names, of all files without."""
    wanted = set(names)
    paths = [path for path in sorted(REFERENCE.glob("*.py")) if path.name != "__init__.py"]
    if unknown := wanted - {path.name for path in paths}:
        raise SystemExit(
            f"mutation: there is no {sorted(unknown)[0]!a}; there are {', '.join(p.name for p in paths)}"
        )
    return [c for path in paths if not wanted or path.name in wanted for c in changes(path)]


def show(change: Change) -> str:
    """One change in three lines."""
    return f"{change.key}\n    - {change.line_before}\n    + {change.line_after}"


def main() -> int:
    """0 if no change survived but those in docs/mutation.md, else 1."""
    parser = argparse.ArgumentParser(prog="python -m rap_conformance.detection.mutation", description=__doc__)
    parser.add_argument(
        "--file", action="append", default=[], metavar="NAME", help="only this file; repeatable"
    )
    parser.add_argument(
        "--sample", type=int, default=None, metavar="K", help="only so many, picked by the seed"
    )
    parser.add_argument("--seed", type=int, default=1, help="for the choice, and for generated inputs")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument(
        "--only", action="append", default=[], metavar="KEY", help="only this change, as listed"
    )
    parser.add_argument("--results", type=Path, help="keep fates here, and pass over changes that have one")
    parser.add_argument("--list", action="store_true", help="show the changes and end")
    given = parser.parse_args()
    chosen = every_change(given.file)
    if given.only:
        chosen = [change for change in chosen if change.key in given.only]
    if given.sample is not None and given.sample < len(chosen):
        picked = {change.key for change in random.Random(given.seed).sample(chosen, given.sample)}
        chosen = [change for change in chosen if change.key in picked]
    if given.list:
        print("\n".join(map(show, chosen)), f"\n{len(chosen)} changes")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return certify(chosen, given.seed, max(1, given.jobs), given.results)


def certify(chosen: Sequence[Change], seed: int, jobs: int, results: Path | None) -> int:
    """Run the chosen changes and print what became of them; 1 if one survived that is not known to."""
    fates: dict[str, Fate] = {}
    if results is not None and results.exists():
        fates = {one["key"]: Fate(**one) for one in map(json.loads, results.read_text("utf-8").splitlines())}
    warm_up(seed)
    expected = baseline(seed)

    def tell(change: Change, fate: Fate) -> None:
        fates[change.key] = fate
        if results is not None:
            with results.open("a", encoding="utf-8") as file:
                print(json.dumps(fate.__dict__), file=file)
        word = f"killed   {change.key}: {fate.killed}" if fate.killed else f"SURVIVED {show(change)}"
        print(f"{fate.seconds:5.1f} s {word}", flush=True)

    run_all([change for change in chosen if change.key not in fates], expected, seed, jobs, tell)
    survivors = [change for change in chosen if not fates[change.key].killed]
    known = harmless()
    new = [
        change for change in survivors if (change.file, change.line_before, change.line_after) not in known
    ]
    print("\n" + "\n".join(map(show, new)))
    print(
        f"{len(chosen)} changes: {len(chosen) - len(survivors)} killed, {len(survivors) - len(new)} survived "
        f"and are in docs/mutation.md, {len(new)} survived and are not"
    )
    return 1 if new else 0


def harmless() -> set[tuple[str, str, str]]:
    """The survivors that docs/mutation.md knows: file, line before, line after."""
    try:
        lines = SURVIVORS.read_text("utf-8").splitlines()
    except OSError:
        return set()
    return {(m[1], m[2], m[3]) for m in map(LISTED.fullmatch, lines) if m}


if __name__ == "__main__":
    sys.exit(main())
