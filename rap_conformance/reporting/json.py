"""report.json: everything a program may want to know, and the source of every other file.

The shape is described by schemas/report.schema.json. ASCII throughout, so that
neither encodings nor lone surrogates can break a reader.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

from rap_conformance import __version__
from rap_conformance.engine.evidence import Exchange, Finding, Headers
from rap_conformance.engine.run import Known, Opening, Result, Run, RunVerdict, Target
from rap_conformance.engine.safe import valid
from rap_conformance.protocol.specification import CATALOGUE_VERSION, DEFAULT_REVISION
from rap_conformance.reporting.pictures import percentile
from rap_conformance.reporting.steps import reproduce
from rap_conformance.reporting.view import counts, liveness

SCHEMA_VERSION = "1.2"
BODY_LIMIT = 8192
"""Bytes kept of each body."""
TEXT_LIMIT = 20_000
"""Characters kept of any other text."""


def _body(data: bytes, truncated: bool) -> dict[str, Any]:
    kept = data[:BODY_LIMIT]
    rest: dict[str, Any] = {"bytes": len(data), "truncated": truncated or len(data) > BODY_LIMIT}
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(kept).decode("ascii"), **rest}
    # A character that the cut went through is left out.
    return {"text": kept.decode("utf-8", "ignore"), **rest}


def _headers(headers: Headers) -> list[list[str]]:
    return [[name, value] for name, value in headers]


def _exchange(exchange: Exchange) -> dict[str, Any]:
    response = None
    if exchange.status is not None:
        response = {
            "status": exchange.status,
            "headers": _headers(exchange.response_headers),
            "body": _body(exchange.response_body, exchange.truncated),
        }
    return {
        "method": exchange.method,
        "url": exchange.url,
        "inbound": exchange.inbound,
        "request": {
            "headers": _headers(exchange.request_headers),
            "body": _body(exchange.request_body, False),
        },
        "response": response,
        "failure": None if exchange.failure is None else str(exchange.failure),
        "detail": exchange.detail,
        "started_s": round(exchange.started, 6),
        "elapsed_s": round(exchange.elapsed, 6),
    }


def _evidence(finding: Finding) -> dict[str, Any]:
    return {
        "title": finding.case,
        "level": str(finding.level),
        "expected": finding.expected,
        "actual": finding.actual,
        "case": finding.fingerprint,
        "exchanges": [_exchange(exchange) for exchange in finding.exchanges],
        "liveness": liveness(finding),
        "depends": finding.depends,
        "sequence": [_exchange(exchange) for exchange in finding.steps.exchanges] if finding.steps else [],
        "reproduce": reproduce(finding),
    }


def _requirement(result: Result) -> dict[str, Any]:
    requirement = result.requirement
    return {
        "code": requirement.code,
        "name": requirement.name,
        "level": str(requirement.level),
        "basis": requirement.basis,
        "role": requirement.role,
        "section": requirement.section,
        "url": requirement.url,
        "verdict": str(result.verdict),
        "reason": result.reason,
        "statement": requirement.statement,
        "why": requirement.why,
        "remedy": requirement.remedy,
        "needs": list(requirement.needs),
        "notes": list(result.notes),
        "duration_s": round(result.duration, 6),
        "exchanges": result.exchanges,
        "judged": result.judged,
        "examples": result.examples,
        "evidence": [_evidence(finding) for finding in result.findings],
    }


def _clean(value: Any) -> Any:
    match value:
        case str() if len(value) > TEXT_LIMIT:
            return valid(value[:TEXT_LIMIT]) + f"… [cut: {TEXT_LIMIT:,} of {len(value):,} characters]"
        case str():
            return valid(value)
        case dict():
            return {_clean(key): _clean(item) for key, item in value.items()}
        case list():
            return [_clean(item) for item in value]
    return value


def _head(run: Run) -> dict[str, Any]:
    """Everything but the requirements."""
    target = run.target
    content = {
        "schema_version": SCHEMA_VERSION,
        "suite": {
            "name": "rap-conformance",
            "version": run.suite_version,
            "revision": run.revision,
            "catalogue": run.catalogue,
        },
        "target": {
            "url": target.url,
            "name": target.name,
            "tools": list(target.tools),
            "embedded": target.embedded,
            "authentication": target.authentication,
        },
        "started": run.started,
        "duration_s": round(run.duration, 6),
        "requests": run.requests,
        "seed": run.seed,
        "profile": run.profile,
        "verdict": str(run.verdict),
        "exit": run.exit,
        "counts": {str(verdict): number for verdict, number in counts(run).items()},
        "planned": run.planned,
        "executed": run.executed,
        "causes": list(run.causes),
        "cut_short": run.cut_short,
        "notes": list(run.notes),
        "configuration": dict(run.configuration),
        "catalogue_digest": run.catalogue_digest,
        "selected": list(run.selected),
        "options": {name: list(v) if isinstance(v, tuple) else v for name, v in run.options},
        "baseline": {"used": [_known(entry) for entry in run.known], "stale": list(run.stale)},
        "latency_s": _latency(run.latencies),
        "openings": [_opening(each) for each in run.openings],
    }
    cleaned: dict[str, Any] = _clean(content)
    return cleaned


def _known(entry: Known) -> dict[str, str]:
    return {
        "requirement": entry.requirement,
        "case": entry.case,
        "reason": entry.reason,
        "expires": entry.expires,
    }


def _opening(opening: Opening) -> dict[str, Any]:
    return {
        "need": opening.need,
        "toml": "".join(f"{line}\n" for line in opening.lines),
        "remark": opening.remark,
        "codes": list(opening.codes),
        "parts": list(opening.parts),
        "musts": opening.musts,
    }


def _latency(latencies: tuple[float, ...]) -> dict[str, float] | None:
    """Response times of the status endpoint in seconds; None if there was no answer."""
    values = sorted(latencies)
    if not values:
        return None
    shares = (("median", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))
    return {"count": len(values), **{name: round(percentile(values, share), 6) for name, share in shares}}


def report(run: Run) -> dict[str, Any]:
    """Everything report.json says, as plain values without lone surrogates."""
    requirements = [_clean(_requirement(result)) for result in run.results]
    return {**_head(run), "requirements": requirements}


def incomplete(target_url: str, started: str) -> dict[str, Any]:
    """What stands in report.json while a run is under way: nothing was concluded, exit 7."""
    return report(
        Run(
            target=Target(url=target_url),
            revision=DEFAULT_REVISION,
            catalogue=CATALOGUE_VERSION,
            suite_version=__version__,
            started=started,
            profile="standard",
            seed=0,
            results=(),
            verdict=RunVerdict.INCOMPLETE,
            exit=7,
            cut_short="the run has not ended, or was killed",
        )
    )


def pieces(run: Run) -> Iterator[str]:
    """The text of report.json in pieces, so that a long run is never in memory twice."""
    yield _text(_head(run)).removesuffix("\n}") + ',\n  "requirements": ['
    comma = ""
    for result in run.results:
        yield f"{comma}\n    " + _text(_clean(_requirement(result))).replace("\n", "\n    ")
        comma = ","
    yield "\n  ]\n}\n" if run.results else "]\n}\n"


def dumps(content: Run | dict[str, Any]) -> str:
    """The text of report.json for a run, or for what `report` or `incomplete` gave."""
    return "".join(pieces(content)) if isinstance(content, Run) else _text(_clean(content)) + "\n"


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False)
