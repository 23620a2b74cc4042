"""Certifying servers of tests: the configuration, and the run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from rap_conformance.server.embedded import reference_scenarios
from tests.support import QUICK, Outcome, run
from tests.warm import SEED


def certify(folder: Path, config: str, *options: str, within: float = 240.0, **more: str) -> Outcome:
    """Run `check` with a configuration, in which `{folder}` is the run's own folder.

    `more` is added to the environment.
    """
    folder.mkdir(exist_ok=True)
    file = folder / "run.toml"
    file.write_text(config.replace("{folder}", str(folder)), "utf-8")
    return run(folder, "check", f"--config={file}", *QUICK, f"--seed={SEED}", *options, within=within, **more)


def configuration(command: list[str], tokens: list[str], timing: Mapping[str, float], pending: float) -> str:
    """A configuration with two identities and the reference's tools; `{folder}` is the run's own folder."""
    ours, others = ({"Authorization": f"Bearer {token}"} for token in tokens)
    tables: dict[str, Mapping[str, Any]] = {
        "server": {"command": shlex.join(command), "prefix": "/rap", "request_timeout": 1.5},
        "features": {"status": True, "subscription": True},
        "auth": {"headers": ours, "other": {"headers": others}},
        "timing": timing,
        "scenario": reference_scenarios(pending),
    }
    return tomli_w.dumps(tables)


def reasons(outcome: Outcome) -> dict[str, str]:
    """Reason by code."""
    return {entry["code"]: entry["reason"] for entry in outcome.report["requirements"]}
