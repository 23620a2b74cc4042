"""The embedded reference server: how it is started, and what to invoke on it."""

from __future__ import annotations

import atexit
import secrets
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from rap_conformance.server.config import Config
from rap_conformance.server.config_file import parse

EMBEDDED_RATE_LIMIT = 450
"""Requests of one kind in any 5 s that the embedded server takes: generous, yet met by a flood of 500."""


def embedded_config() -> Config:
    """The embedded reference server with everything on: two identities, prefix, durable state, limit."""
    tokens = [f"t{secrets.token_urlsafe(24)}" for _ in range(2)]  # never an option's dash in front
    folder = tempfile.mkdtemp(prefix="rapc-state-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    state = Path(folder) / "state.db"
    words = [sys.executable, "-m", "rap_conformance", "serve", "--host", "127.0.0.1", "--port", "{port}"]
    words += ["--prefix", "/rap", "--state", str(state), "--rate-limit", str(EMBEDDED_RATE_LIMIT)]
    for token in tokens:
        words += ["--token", token]
    return parse(
        {
            "server": {"command": shlex.join(words), "prefix": "/rap"},
            "features": {"status": True, "subscription": True},
            "auth": {
                "headers": {"Authorization": f"Bearer {tokens[0]}"},
                "other": {"headers": {"Authorization": f"Bearer {tokens[1]}"}},
            },
            "timing": {"grace": 10.0},
            "scenario": reference_scenarios(3.0),
        },
        "the embedded server",
    )


def reference_scenarios(seconds: float) -> dict[str, Any]:
    """What to invoke on the reference server; a pending call lasts `seconds`."""
    watch = {"interval": seconds / 10}
    return {
        "quick": {"operation": "echo", "arguments": {"text": "hello {canary}"}},
        "pending": {
            "operation": "wait",
            "arguments": {"seconds": seconds, "text": "waited {canary}"},
            "seconds": seconds,
        },
        "subscription": {"operation": "watch", "arguments": watch, "final_arguments": {**watch, "count": 2}},
    }
