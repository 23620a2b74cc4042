"""From pytest's options to what a run is to do; every mistake is a ConfigError before the first request."""

from __future__ import annotations

import atexit
import ipaddress
import json
import os
import random
import secrets
import shlex
import shutil
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from rap_conformance.baseline import load as load_baseline
from rap_conformance.catalogue import CATALOGUE_VERSION, FIRST_VERSION, Requirement, catalogue, version
from rap_conformance.config import Config, load_file, parse
from rap_conformance.evidence import Known
from rap_conformance.options import ConfigError, check_url, parse_auth_header, parse_hostport
from rap_conformance.places import in_checkout
from rap_conformance.reporting.attestation import parse_subject
from rap_conformance.session import EXAMPLES, Options

INVOKE = ("none", "read-only", "configured", "any")
EMBEDDED_RATE_LIMIT = 450
"""Requests of one kind in any 5 s that the embedded server takes: generous, yet met by a flood of 500."""


@dataclass(frozen=True, slots=True)
class Request:
    """What one run is to do: the configuration, the options, what to judge, where reports go."""

    config: Config
    options: Options
    requirements: tuple[Requirement, ...]
    report_dir: Path | None
    known: tuple[Known, ...] = ()
    subject: str | None = None


def read_request(config: pytest.Config) -> Request:
    """Check everything the user gave. Raises ConfigError, one line."""
    given = {name: config.getoption(f"rap_{name}") for name in ("server_url", "server_cmd", "config")}
    loaded = load_file(Path(given["config"])) if given["config"] is not None else Config()
    if given["server_url"] is not None or given["server_cmd"] is not None:
        loaded = loaded.with_target(url=given["server_url"], command=given["server_cmd"])
    embedded = loaded.server.url is None and loaded.server.command is None
    if embedded:
        if not in_checkout():
            raise ConfigError(
                "no target: give --server-url URL or --server-cmd CMD, or server.url in a --config file"
            )
        if given["config"] is not None:
            raise ConfigError(
                "--config: it names no target; give server.url or server.command in it, or --server-url"
            )
        loaded = embedded_config()
    headers = [parse_auth_header(text) for text in config.getoption("rap_auth_header")]
    if headers or config.getoption("rap_no_auth"):
        loaded = loaded.with_auth(headers, none=config.getoption("rap_no_auth"))
    profile = _one_of("--profile", config.getoption("rap_profile"), tuple(EXAMPLES))
    level = _one_of("--level", config.getoption("rap_level"), ("must", "should"))
    invoke = config.getoption("rap_invoke")
    if invoke is not None:
        _one_of("--invoke", invoke, INVOKE)
    bind = config.getoption("rap_callback_bind")
    callback = config.getoption("rap_callback_url")
    selected = tuple(config.getoption("rap_requirement"))
    folder = Path(config.invocation_params.dir, config.getoption("rap_report_dir"))
    if config.getoption("rap_failed"):
        selected = (*selected, *_failed_last(folder / "report.json", level))
    subject = config.getoption("rap_subject")
    if subject is not None:
        parse_subject(subject)
    baseline = config.getoption("rap_baseline")
    gentle = config.getoption("rap_gentle")
    options = Options(
        invoke=invoke or "",
        profile=profile,
        seed=_seed(config.getoption("rap_seed")),
        gentle=not _on_loopback(loaded) if gentle is None else gentle,
        level=level,
        strict=config.getoption("rap_strict"),
        selected=selected,
        max_time=_seconds("--max-time", config.getoption("rap_max_time")),
        callback_bind=parse_hostport(bind, "--callback-bind") if bind is not None else ("127.0.0.1", 0),
        callback_url=check_url(callback, "--callback-url") if callback is not None else None,
        embedded=embedded,
    )
    return Request(
        config=loaded,
        options=options,
        requirements=select(selected, loaded.server.revision, pin_of(config.getoption("rap_catalogue"))),
        report_dir=None if config.getoption("rap_no_report") else _report_dir(folder),
        known=load_baseline(Path(baseline)) if baseline is not None else (),
        subject=subject,
    )


def embedded_config() -> Config:
    """The embedded reference server with everything on: two identities, prefix, durable state, limit."""
    tokens = [secrets.token_urlsafe(24) for _ in range(2)]
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


def pin_of(value: str | None) -> str | None:
    """The version of the catalogue that gates. Raises ConfigError for what is none."""
    try:
        if value is not None and version(value) < version(FIRST_VERSION):
            raise ValueError("older than the first")
    except ValueError:
        allowed = f"a version from {FIRST_VERSION} on, such as {CATALOGUE_VERSION}"
        raise ConfigError(f"--catalogue: got {str(value)[:40]!a}; allowed is {allowed}") from None
    return value


def _failed_last(path: Path, level: str) -> tuple[str, ...]:
    """The codes that failed, or could not be judged for an error, in the last run."""
    try:
        report = json.loads(path.read_text("utf-8"))
        found = [(str(entry["code"]), str(entry["verdict"])) for entry in report["requirements"]]
    except OSError as error:
        raise ConfigError(
            f"--failed: cannot read {str(path)!a} ({error.strerror or error}); run without it first"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise ConfigError(
            f"--failed: {str(path)!a} is no report of this suite; run without it first"
        ) from None
    wanted = {"fail", "error"} | ({"warn"} if level == "should" else set())
    codes = tuple(code for code, verdict in found if verdict in wanted)
    if not codes:
        raise ConfigError(f"--failed: nothing failed in {str(path)!a}; run without it")
    return codes


def select(
    selected: tuple[str, ...], revision: str, pin: str | None, role: str = "server"
) -> tuple[Requirement, ...]:
    """What a run judges. Raises ConfigError for a selection that matches nothing."""
    gating = catalogue().pinned(pin)
    everything = gating.at(revision, role)
    if not selected:
        return everything
    try:
        chosen = set(gating.select(selected))
    except LookupError as error:
        raise ConfigError(
            f"--requirement: {str(error.args[0])[:80]!a} matches nothing; allowed are codes such as "
            f"{everything[0].code} and globs such as {everything[0].code[:3]}*; "
            "`rap-conformance list` shows them"
        ) from None
    here = tuple(requirement for requirement in everything if requirement in chosen)
    if not here:
        found = ", ".join(selected)[:80]
        raise ConfigError(
            f"--requirement: {found!a} is not about a {role} in revision {revision}; allowed are codes such "
            f"as {everything[0].code}; `rap-conformance list` shows them"
        )
    return here


def _one_of(option: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ConfigError(f"{option}: got {value[:80]!a}; allowed are {', '.join(allowed)}")
    return value


def _seconds(option: str, value: str | None) -> float | None:
    if value is None:
        return None
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 < number < 1e7:
        raise ConfigError(f"{option}: got {value[:80]!a}; allowed is a number of seconds above 0")
    return number


def _seed(value: str | None) -> int:
    if value is None:
        return random.SystemRandom().randrange(1, 2**31)
    if not (value.isascii() and value.isdigit() and len(value) < 20):
        raise ConfigError(f"--seed: got {value[:80]!a}; allowed is a whole number, 0 or more")
    return int(value)


def _on_loopback(config: Config) -> bool:
    if config.server.command is not None:
        return True
    host = urlsplit(config.server.url or "").hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _report_dir(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".rapc-{os.getpid()}"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise ConfigError(
            f"--report-dir: cannot write to {str(folder)!a} ({error.strerror or error}); "
            "give a folder that can be written, or --no-report"
        ) from None
    return folder


def with_command(config: Config, command: str, prefix: str = "") -> Config:
    """The same configuration for a server that the suite starts."""
    return replace(config, server=replace(config.server, url=None, command=command, prefix=prefix))
