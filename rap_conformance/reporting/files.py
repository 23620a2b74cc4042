"""Puts a run's reports into their folder, so that nothing stale survives whatever kills the run."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

from rap_conformance.engine.run import Run
from rap_conformance.reporting import attestation, badge, html, markdown
from rap_conformance.reporting import json as json_report
from rap_conformance.reporting.har import har
from rap_conformance.reporting.junit import junit
from rap_conformance.reporting.view import earns

NAMES = (
    "report.html",
    "report.json",
    "junit.xml",
    "summary.md",
    "exchanges.har",
    "badge.json",
    "attestation.json",
)
"""The files this suite writes; others in the folder are left alone."""


def begin(folder: Path, url: str, started: str) -> None:
    """Remove earlier reports of ours and leave a report.json that says `incomplete`."""
    for name in NAMES:
        with contextlib.suppress(FileNotFoundError):
            (folder / name).unlink()
    _replace(folder / "report.json", json_report.dumps(json_report.incomplete(url, started)))


def write(folder: Path, run: Run, subject: str | None = None) -> tuple[str, ...]:
    """Write what programs and pull requests read; report.html is pytest-html's to write.

    Gives the names of what was written: badge.json and attestation.json only if the whole catalogue was
    judged. `subject` is what `--subject` gave; raises ConfigError if it is none.
    """
    written = ["junit.xml", "summary.md", "exchanges.har", "report.json"]
    _replace(folder / "junit.xml", junit(run))
    _replace(folder / "exchanges.har", har(run))
    _replace(folder / "summary.md", markdown.summary(run))
    report_digest = _replace(folder / "report.json", json_report.pieces(run))
    if earns(run):
        _replace(folder / "badge.json", badge.dumps(run))
        _replace(folder / "attestation.json", attestation.dumps(run, report_digest, subject))
        written += ["badge.json", "attestation.json"]
    return tuple(written)


def tidy_page(folder: Path) -> None:
    """Take out of pytest-html's page where our style sheet lies, and a link that leads elsewhere."""
    path = folder / "report.html"
    if not path.exists():
        return
    page = path.read_text("utf-8")
    tidy = page.replace(str(html.CSS_FILE), html.CSS_FILE.name)
    tidy = re.sub(r'<a href="[^"]*/pytest-html">pytest-html</a>', "pytest-html", tidy)
    if tidy != page:
        _replace(path, tidy)


def _replace(path: Path, content: str | Iterable[str]) -> str:
    """Write beside the file and put it in its place in one step; gives the SHA-256 of its bytes in hex."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    sum_ = hashlib.sha256()
    try:
        with beside.open("wb") as file:
            for piece in [content] if isinstance(content, str) else content:
                data = piece.encode("utf-8")
                sum_.update(data)
                file.write(data)
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
    return sum_.hexdigest()
