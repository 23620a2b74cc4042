"""How the harness certifies a runtime: what a user gives to `runtime --mutant NAME --config …`."""

from __future__ import annotations

from pathlib import Path

import tomli_w

from rap_conformance.detection.subjects import Subject

SETTLE = 6.0
"""Seconds in which a runtime of ours has asked and given up whatever it will."""


def configuration(_: Subject, __: Path) -> str:
    """The configuration file of a run: shorter times than a user's."""
    return tomli_w.dumps({"runtime": {"settle": SETTLE}})


def options(subject: Subject) -> list[str]:
    """What `runtime` is given besides its configuration, as pytest takes it."""
    return [f"--rap-mutant={subject.name}"] if subject.mutant else []
