"""exchanges.har: what the report shows of requests and answers, as HTTP Archive 1.2, for tools that read it.

Browsers' network panels, proxies and Postman open such a file. Secrets are out, as in every report.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from rap_conformance.engine.evidence import Exchange, Headers
from rap_conformance.engine.run import Run
from rap_conformance.engine.safe import valid

MOST = 2000
"""Exchanges that are written; a finding is shown with few."""
BODY_LIMIT = 64 * 1024
"""Bytes kept of each body."""


def har(run: Run) -> str:
    """The text of exchanges.har: every exchange of a finding, and of the one call whose life is drawn."""
    began = datetime.fromisoformat(run.started)
    seen: dict[tuple[object, ...], dict[str, Any]] = {}
    for why, exchange in _exchanges(run):
        key = (exchange.started, exchange.ended, exchange.inbound, exchange.url, exchange.request_body)
        if key in seen:
            seen[key]["comment"] += f"; {why}"
        elif len(seen) < MOST:
            seen[key] = _entry(exchange, began, why)
    log = {
        "version": "1.2",
        "creator": {"name": "rap-conformance", "version": run.suite_version},
        "entries": sorted(seen.values(), key=lambda entry: str(entry["startedDateTime"])),
    }
    return json.dumps({"log": log}, indent=1, ensure_ascii=True) + "\n"


def _exchanges(run: Run) -> Iterator[tuple[str, Exchange]]:
    for result in run.results:
        for finding in result.findings:
            for exchange in finding.exchanges:
                yield f"{result.requirement.code}: {valid(finding.case)}", exchange
    for exchange in run.life:
        yield "the life of one call", exchange


def _entry(exchange: Exchange, began: datetime, why: str) -> dict[str, Any]:
    taken = round(exchange.elapsed * 1000, 3)
    entry: dict[str, Any] = {
        "startedDateTime": (began + timedelta(seconds=exchange.started)).isoformat(timespec="microseconds"),
        "time": taken,
        "request": _request(exchange),
        "response": _response(exchange),
        "cache": {},
        "timings": {"send": 0, "wait": taken, "receive": 0},
        "comment": why,
    }
    if exchange.failure is not None:
        entry["response"]["_error"] = valid(str(exchange.failure))
    return entry


def _request(exchange: Exchange) -> dict[str, Any]:
    query = parse_qsl(urlsplit(exchange.url).query, keep_blank_values=True)
    request: dict[str, Any] = {
        "method": valid(exchange.method),
        "url": valid(exchange.url),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _headers(exchange.request_headers),
        "queryString": [{"name": valid(name), "value": valid(value)} for name, value in query],
        "headersSize": -1,
        "bodySize": len(exchange.request_body),
    }
    if exchange.request_body:
        # The format knows text only: what is no UTF-8 is shown with marks in its place.
        text = exchange.request_body[:BODY_LIMIT].decode("utf-8", "replace")
        request["postData"] = {"mimeType": _media(exchange.request_headers), "text": valid(text)}
    return request


def _response(exchange: Exchange) -> dict[str, Any]:
    body = exchange.response_body[:BODY_LIMIT]
    content: dict[str, Any] = {
        "size": len(exchange.response_body),
        "mimeType": _media(exchange.response_headers),
    }
    try:
        content["text"] = valid(body.decode("utf-8"))
    except UnicodeDecodeError:
        content |= {"text": base64.b64encode(body).decode("ascii"), "encoding": "base64"}
    return {
        "status": exchange.status or 0,
        "statusText": "",
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _headers(exchange.response_headers),
        "content": content,
        "redirectURL": valid(exchange.header("location") or ""),
        "headersSize": -1,
        "bodySize": len(exchange.response_body),
    }


def _headers(headers: Headers) -> list[dict[str, str]]:
    return [{"name": valid(name), "value": valid(value)} for name, value in headers]


def _media(headers: Headers) -> str:
    return valid(next((value for name, value in headers if name.lower() == "content-type"), ""))
