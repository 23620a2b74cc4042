"""What GitHub shows beside a job: one annotation for each failure, as the commands that its runner reads.

A line is a command: whatever comes from the peer is escaped, so that it can be no other one.
"""

from __future__ import annotations

from collections.abc import Iterator

from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.run import Run
from rap_conformance.engine.safe import terminal_text
from rap_conformance.reporting.view import headline, in_short

_KINDS = {Verdict.FAIL: "error", Verdict.ERROR: "error", Verdict.WARN: "warning"}
_MOST = 10
"""GitHub shows ten annotations of a kind for a step."""


def annotated(run: Run) -> Iterator[str]:
    """The lines for the runner, worst first: what failed, what could not be judged, SHOULDs not met."""
    for verdict, kind in _KINDS.items():
        found = [result for result in run.results if result.verdict is verdict]
        for result in found[:_MOST]:
            requirement = result.requirement
            yield _command(kind, f"{requirement.code} {requirement.name}", in_short(result))
        if len(found) > _MOST:
            yield _command("notice", "rap-conformance", f"{len(found) - _MOST} more: {verdict}")
    if run.exit != 0:
        yield _command("error", f"rap-conformance: {run.verdict}", headline(run))


def _command(kind: str, title: str, message: str) -> str:
    return f"::{kind} title={_escaped(title, inside=True)}::{_escaped(message)}"


def _escaped(value: str, *, inside: bool = False) -> str:
    text = terminal_text(value, 500).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if inside else text
