"""How the harness certifies a server: what a user gives to `check --server-cmd … --config …`."""

from __future__ import annotations

import secrets
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from rap_conformance.cli import import_ways
from rap_conformance.detection.subjects import BEARER, Subject
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
    program, callers = _callers(subject, folder)
    words = [sys.executable, "-m", *program, "--host", "127.0.0.1", "--port", "{port}", "--prefix", "/rap"]
    words += ["--state", str(folder / "state.db"), "--rate-limit", str(RATE_LIMIT)]
    if subject.mutant:
        words += ["--mutant", subject.name]
    server = {"command": shlex.join(words), "prefix": "/rap", "request_timeout": REQUEST_TIMEOUT}
    tables: dict[str, dict[str, Any]] = {
        **callers,
        "server": {**server, **callers.get("server", {})},
        "features": {"status": True, "subscription": True},
        "timing": TIMING,
        "scenario": scenarios(),
    }
    return tomli_w.dumps(tables)


def _callers(subject: Subject, folder: Path) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """What starts the server so that it knows two callers, and the tables that say who they are."""
    if subject.way != BEARER:
        way = import_ways()[subject.way]
        return ["fixtures.servers.varied", "--way", subject.way, *way.words(folder)], way.tables(folder)
    program = ["rap_conformance", "serve"]
    if subject.open:
        return program, {}
    tokens = [f"t{secrets.token_urlsafe(24)}" for _ in range(2)]  # never an option's dash in front
    ours, others = ({"Authorization": f"Bearer {token}"} for token in tokens)
    given = [word for token in tokens for word in ("--token", token)]
    return [*program, *given], {"auth": {"headers": ours, "other": {"headers": others}}}


def environment(subject: Subject) -> Mapping[str, str]:
    """What `check` finds in its environment besides."""
    found: Mapping[str, str] = {} if subject.way == BEARER else import_ways()[subject.way].environment
    return found


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
