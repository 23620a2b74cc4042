"""Certifies several servers in one process, forked and warm: `python -m tests.certify JOBS`.

For tests that need many short runs. Each line of its input is a run in JSON (`name`, `config`: a file's text,
`options` of `check`), each line of its output an outcome (`name`, `verdicts`, `reasons`, `trouble`).
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import tomli_w

from rap_conformance.detection import mutants as detection
from rap_conformance.server.embedded import reference_scenarios

ROOT = Path(__file__).resolve().parent.parent


class Job(detection.Job):
    """One run, in a forked child."""

    def __init__(self, name: str, config: str, options: list[str]) -> None:
        self.subject = detection.Subject(name, "a server of a test")
        self.folder = Path(tempfile.mkdtemp(prefix="rapc-certify-"))
        self.began = time.monotonic()
        self._process = None
        file = self.folder / "run.toml"
        file.write_text(config.replace("{folder}", str(self.folder)), "utf-8")
        given = [f"--rap-config={file}", f"--rap-report-dir={self.folder / 'reports'}", "-q", *options]
        sys.stdout.flush()
        self.pid = os.fork()
        if not self.pid:
            self._child(given)


def certify(runs: Iterable[Mapping[str, Any]], jobs: int, within: float) -> dict[str, dict[str, Any]]:
    """The outcome of each run by its name, with `jobs` of them at a time, in `within` seconds altogether."""
    words = [sys.executable, "-m", "tests.certify", str(jobs)]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV_"))}
    path = os.pathsep.join(filter(None, [str(ROOT), kept.get("PYTHONPATH", "")]))
    done = subprocess.run(
        words,
        input="".join(json.dumps(run) + "\n" for run in runs),
        text=True,
        capture_output=True,
        timeout=within,
        check=True,
        cwd=ROOT,
        env={**kept, "PYTHONPATH": path},
    )
    return {outcome["name"]: outcome for outcome in map(json.loads, done.stdout.splitlines())}


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


def main(jobs: int) -> None:
    """Read runs, write outcomes."""
    waiting = [json.loads(line) for line in sys.stdin]
    detection.warm_up(1)
    running: list[Job] = []
    while waiting or running:
        while waiting and len(running) < jobs:
            run = waiting.pop(0)
            running.append(Job(run["name"], run["config"], ["--rap-seed=1", *run["options"]]))
        for job in [job for job in running if job.over()]:
            running.remove(job)
            outcome = job.outcome()
            said = {"name": outcome.subject.name, "verdicts": outcome.verdicts, "reasons": outcome.reasons}
            print(json.dumps({**said, "trouble": outcome.trouble, "seconds": outcome.seconds}), flush=True)
        time.sleep(0.05)


if __name__ == "__main__":
    main(int(sys.argv[1]))
