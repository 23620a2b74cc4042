"""How the harness certifies a server: what a user gives to `check --server-cmd … --config …`."""

from __future__ import annotations

import json
import secrets
import shlex
import sys
from pathlib import Path
from typing import Any

from rap_conformance.detection.subjects import Subject
from rap_conformance.server.embedded import reference_scenarios

PENDING = 2.0
"""Seconds that the pending call lasts."""
TIMING = {"grace": 3.0, "race_window": 1.0, "arrival_slack": 0.25}
REQUEST_TIMEOUT = 4.0
"""Seconds an answer may take."""
RATE_LIMIT = 495
"""Requests of one kind and identity in any 5 s: a flood of 500 meets it, the rest of a run hardly ever."""


def configuration(subject: Subject, folder: Path) -> str:
    """The configuration file of a run: like the embedded server's, with shorter times."""
    tokens = [] if subject.open else [secrets.token_urlsafe(24) for _ in range(2)]
    words = [sys.executable, "-m", "rap_conformance", "serve", "--host", "127.0.0.1", "--port", "{port}"]
    words += [
        "--prefix",
        "/rap",
        "--state",
        str(folder / "state.db"),
        "--rate-limit",
        str(RATE_LIMIT),
    ]
    for token in tokens:
        words += ["--token", token]
    if subject.mutant:
        words += ["--mutant", subject.name]
    tables: dict[str, dict[str, Any]] = {
        "server": {"command": shlex.join(words), "prefix": "/rap", "request_timeout": REQUEST_TIMEOUT},
        "features": {"status": True, "subscription": True},
        "timing": dict(TIMING),
    }
    if tokens:
        tables["auth.headers"] = {"Authorization": f"Bearer {tokens[0]}"}
        tables["auth.other.headers"] = {"Authorization": f"Bearer {tokens[1]}"}
    for kind, chosen in scenarios().items():
        tables[f"scenario.{kind}"] = chosen
    lines = []
    for name, table in tables.items():
        lines += [f"[{name}]", *(f"{key} = {toml(value)}" for key, value in table.items()), ""]
    return "\n".join(lines)


def scenarios() -> dict[str, Any]:
    """What is invoked; events come every 0.3 s, so that there is time to ask between two."""
    chosen = reference_scenarios(PENDING)
    watch = {"interval": 0.3}
    return {
        **chosen,
        "subscription": {"operation": "watch", "arguments": watch, "final_arguments": {**watch, "count": 2}},
    }


def toml(value: Any) -> str:
    """A value in TOML; texts as JSON, which for ASCII is the same."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(inner)}" for key, inner in value.items()) + " }"
    return json.dumps(value)


def options(subject: Subject) -> list[str]:
    """What `check` is given besides its configuration, as pytest takes it."""
    return ["--rap-no-auth"] if subject.open else []
