"""How the harness certifies a server: what a user gives to `check --server-cmd … --config …`."""

from __future__ import annotations

import secrets
import shlex
import sys
from pathlib import Path
from typing import Any

import tomli_w

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
        "timing": TIMING,
        "scenario": scenarios(),
    }
    if tokens:
        ours, others = ({"Authorization": f"Bearer {token}"} for token in tokens)
        tables["auth"] = {"headers": ours, "other": {"headers": others}}
    return tomli_w.dumps(tables)


def scenarios() -> dict[str, Any]:
    """What is invoked; events come every 0.3 s, so that there is time to ask between two."""
    chosen = reference_scenarios(PENDING)
    watch = {"interval": 0.3}
    return {
        **chosen,
        "subscription": {"operation": "watch", "arguments": watch, "final_arguments": {**watch, "count": 2}},
    }


def options(subject: Subject) -> list[str]:
    """What `check` is given besides its configuration, as pytest takes it."""
    return ["--rap-no-auth"] if subject.open else []
