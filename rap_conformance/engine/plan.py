"""What the command line decides for a run of whatever role."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rap_conformance.engine.requirement import Requirement
from rap_conformance.engine.run import Given, Known

EXAMPLES = {"quick": 20, "standard": 100, "thorough": 1000}
"""Generated examples for each generated requirement, by profile."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one run is to do. `requirements` are judged, `selected` the codes and globs that were asked for.

    `max_time` is seconds; `gentle`: neither floods nor inputs that may kill the peer. `given`: the options
    that make the run again, by their names, without secrets. `dry_run`: nothing is judged.
    """

    requirements: tuple[Requirement, ...]
    revision: str
    profile: str = "standard"
    seed: int = 0
    level: str = "must"
    strict: bool = False
    gentle: bool = False
    selected: tuple[str, ...] = ()
    known: tuple[Known, ...] = ()
    subject: str | None = None
    max_time: float | None = None
    report_dir: Path | None = None
    dry_run: bool = False
    given: tuple[tuple[str, Given], ...] = ()

    @property
    def examples(self) -> int:
        """Generated examples for each generated requirement."""
        return EXAMPLES[self.profile]
