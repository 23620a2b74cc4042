"""Puts a run's reports into their folder, so that nothing stale survives whatever kills the run."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from rap_conformance.evidence import Run
from rap_conformance.reporting import json as json_report
from rap_conformance.reporting.junit import junit

NAMES = ("report.html", "report.json", "junit.xml")
"""The files this suite writes; others in the folder are left alone."""


def begin(folder: Path, url: str, started: str) -> None:
    """Remove earlier reports of ours and leave a report.json that says `incomplete`."""
    for name in NAMES:
        with contextlib.suppress(FileNotFoundError):
            (folder / name).unlink()
    _replace(folder / "report.json", json_report.dumps(json_report.incomplete(url, started)))


def write(folder: Path, run: Run) -> None:
    """Write what programs read; report.html is pytest-html's to write."""
    _replace(folder / "junit.xml", junit(run))
    _replace(folder / "report.json", json_report.dumps(run))


def _replace(path: Path, content: str) -> None:
    """Write beside the file and put it in its place in one step."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(content, "utf-8")
    beside.replace(path)
