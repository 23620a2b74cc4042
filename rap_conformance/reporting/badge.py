"""badge.json: the shields.io endpoint schema. The figure counts MUSTs that were met among those that apply.

What was not exercised, and what is only known to fail, lowers it.
"""

from __future__ import annotations

import json
from typing import Any

from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.run import Run, RunVerdict
from rap_conformance.engine.safe import text
from rap_conformance.reporting.view import counts, musts_met


def badge(run: Run) -> dict[str, Any]:
    """What badge.json says; give it to others only if the run `view.earns` it."""
    met, applicable = musts_met(run)
    number = counts(run)
    if run.verdict is RunVerdict.INCOMPLETE:
        message, colour = "incomplete", "lightgrey"
    elif run.verdict is RunVerdict.NOT_CONFORMANT:
        message, colour = f"{met}/{applicable} MUSTs", "red"
    elif number[Verdict.KNOWN] or met < applicable or not applicable:
        message, colour = f"{met}/{applicable} MUSTs", "yellow"
    elif run.verdict is RunVerdict.PARTIAL:
        message, colour = f"{met}/{applicable} MUSTs", "yellowgreen"
    else:
        message, colour = f"{met}/{applicable} MUSTs", "brightgreen"
    return {
        "schemaVersion": 1,
        "label": f"{run.protocol} {text(run.revision, 40)}".strip(),
        "message": message,
        "color": colour,
    }


def dumps(run: Run) -> str:
    """The text of badge.json."""
    return json.dumps(badge(run), indent=2, ensure_ascii=True) + "\n"
