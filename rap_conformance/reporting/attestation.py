"""attestation.json: an in-toto Statement v1 with the test-result v0.1 predicate, ready to be signed.

The predicate has lists for tests that passed, warned and failed, none for those that did not run: these stand
in the annotations of the configuration, as does everything that tells what the result is worth.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from rap_conformance.engine.evidence import Verdict
from rap_conformance.engine.inputs import ConfigError, shown
from rap_conformance.engine.run import Run, RunVerdict
from rap_conformance.engine.safe import valid
from rap_conformance.reporting.view import musts, musts_met, of

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://in-toto.io/attestation/test-result/v0.1"
REPORT = "report.json"
_SUBJECT = re.compile(r"([^\s@\x00-\x20][^@\x00-\x1f]*(?:@[^@\x00-\x1f]+)*)@sha256:([0-9a-fA-F]{64})")
_LONGEST_NAME = 500


def parse_subject(given: str) -> tuple[str, str]:
    """Name and SHA-256 of what was judged, from `NAME@sha256:…`. Raises ConfigError."""
    match = _SUBJECT.fullmatch(given) if given.isprintable() and len(given) <= _LONGEST_NAME else None
    if match is None:
        raise ConfigError(f"--subject: got {shown(given)}; allowed: NAME@sha256: and 64 hexadecimal digits")
    return match[1], match[2].lower()


def digest(value: Any) -> str:
    """SHA-256 of a JSON value in its canonical form: sorted keys, no spaces, ASCII."""
    return hashlib.sha256(
        json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")
    ).hexdigest()


def result(run: Run) -> str:
    """PASSED, WARNED or FAILED. PASSED means that every applicable MUST was met and nothing warned."""
    if run.verdict in {RunVerdict.NOT_CONFORMANT, RunVerdict.INCOMPLETE}:
        return "FAILED"
    met, applicable = musts_met(run)
    warned = of(run, Verdict.WARN, Verdict.ADVICE, Verdict.KNOWN)
    return "PASSED" if run.verdict is RunVerdict.CONFORMANT and met == applicable and not warned else "WARNED"


def _codes(run: Run, *verdicts: Verdict) -> list[str]:
    return sorted(found.requirement.code for found in of(run, *verdicts))


def _configuration(run: Run, report_digest: str, about: str) -> list[dict[str, Any]]:
    settings = {valid(name): valid(value) for name, value in run.configuration}
    exercised, applicable = musts(run)
    baseline = [
        {name: valid(getattr(entry, name)) for name in ("requirement", "case", "reason", "expires")}
        for entry in run.known
    ]
    catalogue: dict[str, Any] = {
        "name": "catalogue",
        "annotations": {
            "suite": "rap-conformance",
            "suiteVersion": run.suite_version,
            "revision": run.revision,
            "catalogue": run.catalogue,
        },
    }
    if run.catalogue_digest:
        catalogue["digest"] = {"sha256": run.catalogue_digest}
    return [
        catalogue,
        {
            "name": "configuration",
            "digest": {"sha256": digest(settings)},
            "annotations": {
                "profile": run.profile,
                "seed": str(run.seed),
                "authentication": valid(run.target.authentication),
                "baseline": baseline,
            },
        },
        {
            "name": REPORT,
            "digest": {"sha256": report_digest},
            "annotations": {
                "subject": about,
                "started": run.started,
                "verdict": str(run.verdict),
                "embeddedReferenceServer": run.target.embedded,
                "mustsExercised": f"{exercised} of {applicable}",
                "known": _codes(run, Verdict.KNOWN),
                "untested": _codes(run, Verdict.UNTESTED),
                "notApplicable": _codes(run, Verdict.NOT_APPLICABLE),
                "error": _codes(run, Verdict.ERROR),
            },
        },
    ]


def statement(
    run: Run, report_digest: str, subject: str | None = None, url: str | None = None
) -> dict[str, Any]:
    """The statement; make one only if the run `view.earns` it.

    `report_digest` is the SHA-256 of report.json's bytes in hex, `subject` what `--subject` gave, `url` a
    page about this test run. Raises ConfigError for a subject that is none.
    """
    if subject is None:
        name, found = REPORT, report_digest
        about = "the report alone: no artefact of the server was named (--subject)"
    else:
        name, found = parse_subject(subject)
        about = "what --subject named"
    predicate: dict[str, Any] = {
        "result": result(run),
        "configuration": _configuration(run, report_digest, about),
        "passedTests": _codes(run, Verdict.PASS),
        "warnedTests": _codes(run, Verdict.WARN, Verdict.ADVICE, Verdict.KNOWN),
        "failedTests": _codes(run, Verdict.FAIL),
    }
    if url:
        predicate["url"] = valid(url)
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": found}, "annotations": {"about": about}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": predicate,
    }


def dumps(run: Run, report_digest: str, subject: str | None = None, url: str | None = None) -> str:
    """The text of attestation.json."""
    return json.dumps(statement(run, report_digest, subject, url), indent=2, ensure_ascii=True) + "\n"
