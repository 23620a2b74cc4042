"""From pytest's options to what a run is to do; every mistake is a ConfigError before the first request."""

from __future__ import annotations

import contextlib
import json
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rap_conformance.engine.baseline import load as load_baseline
from rap_conformance.engine.inputs import ConfigError
from rap_conformance.engine.plan import EXAMPLES, Plan
from rap_conformance.engine.requirement import Requirement, version
from rap_conformance.engine.role import Role, Settings
from rap_conformance.engine.run import Given
from rap_conformance.engine.toml_file import Document
from rap_conformance.engine.toml_file import read as read_toml
from rap_conformance.network.sources import placeholder
from rap_conformance.protocol.specification import CATALOGUE_VERSION, FIRST_VERSION, catalogue
from rap_conformance.reporting.attestation import parse_subject
from rap_conformance.runtime.role import RUNTIME
from rap_conformance.server.role import SERVER

FAILED = "failed"
"""The folder, beside the reports of the whole run, for those of what failed in it and was judged again."""
ROLES = (SERVER, RUNTIME)
"""Who can be judged; the first is meant where nothing says otherwise."""


@dataclass(frozen=True, slots=True)
class Request:
    """What one run is to do, and for whom."""

    role: Role
    settings: Settings
    options: Plan


def role_of(config: pytest.Config) -> Role:
    """Whose run this is: the role that is named, else the one whose target or scenarios are given."""
    named = config.getoption("rap_role")
    for role in ROLES:
        if named == role.name or (named is None and any(config.getoption(name) for name in role.target)):
            return role
    for role in ROLES[1:]:
        if config.args and all(
            role.folder in Path(argument.split("::")[0]).parts for argument in config.args
        ):
            return role
    return ROLES[0]


def read_request(config: pytest.Config) -> Request:
    """Check everything the user gave. Raises ConfigError, one line."""
    role = role_of(config)
    given = {name: value for name, value in vars(config.option).items() if name.startswith("rap_")}
    for other in ROLES:
        for name in other.target if other is not role else ():
            if given.get(name):
                raise ConfigError(
                    f"--{name.removeprefix('rap_').replace('_', '-')}: names another target than "
                    f"a {role.title}; give one of them"
                )
    settings = role.read(given, read_document(given["rap_config"]))
    profile = one_of("--profile", given["rap_profile"], tuple(EXAMPLES))
    level = one_of("--level", given["rap_level"], ("must", "should"))
    selected = tuple(given["rap_requirement"])
    if not str(given["rap_report_dir"]).strip():
        raise ConfigError("--report-dir: got nothing; give a folder, or --no-report")
    folder = Path(config.invocation_params.dir, given["rap_report_dir"])
    if given["rap_failed"]:
        selected = (*selected, *_failed_last(folder, level))
        folder /= FAILED
    if given["rap_subject"] is not None:
        parse_subject(given["rap_subject"])
    baseline, gentle = given["rap_baseline"], given["rap_gentle"]
    options = Plan(
        requirements=select(selected, settings.revision, pin_of(given["rap_catalogue"]), role.name),
        revision=settings.revision,
        profile=profile,
        seed=_seed(given["rap_seed"]),
        level=level,
        strict=given["rap_strict"],
        gentle=settings.gentle if gentle is None else gentle,
        selected=selected,
        known=load_baseline(Path(baseline), known=catalogue()) if baseline is not None else (),
        subject=given["rap_subject"],
        max_time=_seconds("--max-time", given["rap_max_time"]),
        report_dir=None if given["rap_no_report"] or given["rap_dry_run"] else _report_dir(folder),
        dry_run=given["rap_dry_run"],
        given=repeatable(given),
    )
    return Request(role, settings, options)


AGAIN = (
    "server_url",
    "server_cmd",
    "adapter_cmd",
    "mutant",
    "config",
    "auth_header",
    "no_auth",
    "callback_bind",
    "callback_url",
    "invoke",
    "catalogue",
    "gentle",
)
"""Options that make a run what it is; the rest says where its reports go, and what of it is wanted."""


def repeatable(given: Mapping[str, Any]) -> tuple[tuple[str, Given], ...]:
    """What was given of those options, by their names; a credential is the variable that holds it."""
    found: list[tuple[str, Given]] = []
    for key in AGAIN:
        value = given.get(f"rap_{key}")
        if key == "auth_header":
            value = tuple(map(named, value or ()))
        if value is None or value == () or (value is False and key != "gentle"):
            continue
        found.append((key.replace("_", "-"), value))
    return tuple(found)


def named(header: str) -> str:
    """A credential's header with the variable that holds its value, a made up one if none was named."""
    name, _, value = header.partition(":")
    value = value.strip()
    return f"{name}: {value if value.startswith('env:') else f'env:{placeholder(name)}'}"


def read_document(file: str | None) -> Document | None:
    """The configuration's file, with tables of any role. Raises ConfigError for what none of them knows."""
    if file is None:
        return None
    document = read_toml(Path(file))
    document.check({name: keys for role in ROLES for name, keys in role.keys.items()})
    return document


def pin_of(value: str | None) -> str | None:
    """The version of the catalogue that gates. Raises ConfigError for what is none."""
    try:
        if value is not None and not version(FIRST_VERSION) <= version(value) <= version(CATALOGUE_VERSION):
            raise ValueError("there is no such version")
    except ValueError:
        allowed = f"a version from {FIRST_VERSION} to {CATALOGUE_VERSION}, which is this suite's"
        raise ConfigError(f"--catalogue: got {str(value)[:40]!a}; allowed is {allowed}") from None
    return value


def _failed_last(folder: Path, level: str) -> tuple[str, ...]:
    """The codes that failed, or could not be judged for an error, in the last run and its repetitions."""
    path = folder / "report.json"
    try:
        found, when = _verdicts(path)
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            again, later = _verdicts(folder / FAILED / "report.json")
            found |= {code: verdict for code, verdict in again.items() if later >= when}
    except OSError as error:
        raise ConfigError(
            f"--failed: cannot read {str(path)!a} ({error.strerror or error}); run without it first"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise ConfigError(
            f"--failed: {str(path)!a} is no report of this suite; run without it first"
        ) from None
    wanted = {"fail", "error"} | ({"warn"} if level == "should" else set())
    codes = tuple(code for code, verdict in found.items() if verdict in wanted)
    if not codes:
        raise ConfigError(f"--failed: nothing failed in {str(path)!a}; run without it")
    return codes


def _verdicts(path: Path) -> tuple[dict[str, str], str]:
    """The verdicts of a report by code, and when its run began. Raises OSError, ValueError and their like."""
    report = json.loads(path.read_text("utf-8"))
    found = {str(entry["code"]): str(entry["verdict"]) for entry in report["requirements"]}
    return found, str(report["started"])


def select(selected: tuple[str, ...], revision: str, pin: str | None, role: str) -> tuple[Requirement, ...]:
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


def one_of(option: str, value: str, allowed: tuple[str, ...]) -> str:
    """The value, if it is allowed. Raises ConfigError."""
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
        allowed = "a whole number of up to 19 digits, 0 or more"
        raise ConfigError(f"--seed: got {value[:80]!a}; allowed is {allowed}")
    return int(value)


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
