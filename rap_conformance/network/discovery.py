"""Asks a server once for its manifest, outside any run."""

from __future__ import annotations

from typing import Any

from rap_conformance.engine.evidence import Headers
from rap_conformance.network.credentials import Credentials
from rap_conformance.network.pace import NoAnswer
from rap_conformance.network.patience import Patience
from rap_conformance.network.probe import Probe
from rap_conformance.network.redaction import Redactor
from rap_conformance.protocol.messages import MANIFEST_PATH, lenient_json


class NotFound(Exception):
    """No manifest came back; the message is one line."""


def tools_of(base: str, headers: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """The tools that the server at `base` lists. Raises NotFound."""
    credentials: Headers = tuple(headers)
    probe = Probe(Patience(), Redactor(), timeout=10.0, credentials=Credentials(credentials), origins=[base])
    try:
        exchange = probe.send("GET", base + MANIFEST_PATH)
    except NoAnswer as trouble:
        raise NotFound(str(trouble)) from None
    finally:
        probe.close()
    if exchange.status in (401, 403):
        raise NotFound(
            f"{base}{MANIFEST_PATH} answers {exchange.status}: give credentials that it takes, "
            "--auth-header 'Authorization: env:NAME'"
        )
    if exchange.status is not None and not 200 <= exchange.status < 300:
        raise NotFound(
            f"somebody answers at {base}, but {MANIFEST_PATH} with status {exchange.status}: "
            "is it a tool server, or is a part of its path missing?"
        )
    manifest = lenient_json(exchange.response_body) if exchange.status is not None else None
    if not isinstance(manifest, dict):
        got = (
            exchange.failure.value if exchange.failure else f"status {exchange.status} without a JSON object"
        )
        raise NotFound(f"no manifest at {base}{MANIFEST_PATH}: {got}")
    tools = manifest.get("tools")
    return [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
