"""The pytest plugin: options only; everything else is imported once there is something to do.

It is loaded in every pytest run of everyone who installs the package, so this
module imports the standard library and pytest, and does nothing unless a
target is given or the suite's own scenarios are asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rap_conformance.driver import Driver

_HERE = Path(__file__).resolve().parent


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options of a run against a RAP server."""
    group = parser.getgroup("rap", "RAP conformance (give --server-url or --server-cmd)")
    add = group.addoption
    add("--server-url", dest="rap_server_url", metavar="URL", help="base URL of the tool server under test")
    add(
        "--server-cmd",
        dest="rap_server_cmd",
        metavar="CMD",
        help="command that starts it; {port} is replaced; the suite may kill and restart it",
    )
    add("--rap-config", dest="rap_config", metavar="FILE", help="configuration (TOML)")
    add(
        "--rap-auth-header",
        dest="rap_auth_header",
        action="append",
        default=[],
        metavar="'NAME: VALUE'",
        help="credentials to send; the value env:NAME reads the environment; repeatable",
    )
    add(
        "--rap-no-auth",
        dest="rap_no_auth",
        action="store_true",
        help="declare a trusted network without authentication; every report says so",
    )
    add(
        "--rap-callback-bind",
        dest="rap_callback_bind",
        metavar="HOST:PORT",
        help="where the receiver listens",
    )
    add(
        "--rap-callback-url",
        dest="rap_callback_url",
        metavar="URL",
        help="how the server reaches the receiver",
    )
    add(
        "--rap-invoke",
        dest="rap_invoke",
        metavar="none|read-only|configured|any",
        help="which tools may be called (default: the configured ones, else those annotated readOnly)",
    )
    add(
        "--rap-requirement",
        dest="rap_requirement",
        action="append",
        default=[],
        metavar="CODE",
        help="judge only this requirement; globs (TCS*); repeatable",
    )
    add("--rap-level", dest="rap_level", metavar="must|should", default="must", help="what fails the gate")
    add(
        "--rap-strict",
        dest="rap_strict",
        action="store_true",
        help="an applicable MUST that was not exercised fails the gate (exit 7)",
    )
    add(
        "--rap-profile",
        dest="rap_profile",
        metavar="quick|standard|thorough",
        default="standard",
        help="20, 100 or 1000 generated examples for each generated requirement",
    )
    add("--rap-seed", dest="rap_seed", metavar="N", help="repeat a run's generated examples")
    add(
        "--rap-baseline", dest="rap_baseline", metavar="FILE", help="known failures; the list may only shrink"
    )
    add(
        "--rap-catalogue",
        dest="rap_catalogue",
        metavar="X.Y",
        help="pin: requirements added later do not fail this gate",
    )
    add(
        "--rap-failed",
        dest="rap_failed",
        action="store_true",
        help="judge again what failed in the last run, as the report folder's report.json says",
    )
    add(
        "--rap-subject",
        dest="rap_subject",
        metavar="NAME@sha256:HEX",
        help="what the attestation is about; else the report alone",
    )
    add(
        "--rap-gentle",
        dest="rap_gentle",
        action="store_const",
        const=True,
        default=None,
        help="no floods, no inputs that may kill a server (the default unless the target is on loopback)",
    )
    add(
        "--rap-not-gentle",
        dest="rap_gentle",
        action="store_const",
        const=False,
        help="the owner consents to both",
    )
    add("--rap-max-time", dest="rap_max_time", metavar="SECONDS", help="end the run then, as incomplete")
    add("--rap-report-dir", dest="rap_report_dir", metavar="DIR", default="reports", help="where reports go")
    add("--rap-no-report", dest="rap_no_report", action="store_true", help="write no reports")


_PATHS = ("--rap-config", "--rap-report-dir", "--rap-baseline", "--server-cmd")
"""Options whose value may be a path."""


def _ours() -> Path:
    homes = [_HERE / "conformance", _HERE.parent / "conformance"]
    return next((home for home in homes if (home / "requirements").is_dir()), homes[0])


def _wanted(config: pytest.Config) -> bool:
    """Whether this run is ours: a target is given, or our scenarios are among the arguments."""
    if config.getoption("rap_server_url") is not None or config.getoption("rap_server_cmd") is not None:
        return True
    ours = _ours()
    for argument in config.args:
        path = (config.invocation_params.dir / argument.split("::")[0]).resolve()
        if path == ours or ours in path.parents:
            return True
        if config.getoption("pyargs") and argument.split(".")[0] == "rap_conformance":
            return True
    return False


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that no file can have
        return False


def _joined(config: pytest.Config) -> list[str] | None:
    """The arguments with `--rap-config=/a/path` for `--rap-config /a/path`; None if that changes nothing.

    Before plugins are loaded, pytest does not know our options, takes a path after one for something to be
    tested and looks there for its root and its settings, if it is not in the folder where it was started.
    """
    here = config.invocation_params.dir.resolve()
    joined = list[str]()
    changes = False
    for argument in map(str, config.invocation_params.args):
        if joined and joined[-1] in _PATHS:
            path = here / argument
            changes |= _exists(path) and here not in path.resolve().parents
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined if changes else None


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | pytest.ExitCode | None:
    """Start again if a path among our options has misled pytest; see `_joined`."""
    joined = _joined(config)
    return None if joined is None else pytest.main(joined, plugins=config.invocation_params.plugins)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Refuse bad input in one line, and set up the run if this is one of ours."""
    config.addinivalue_line("markers", "rap(code): the scenario of a RAP requirement")
    if not _wanted(config) or config.getoption("help", False) or hasattr(config, "workerinput"):
        return
    if config.getoption("pyargs"):  # in a checkout the scenarios are beside the package, not in it
        config.args[:] = [str(_ours()) if name == "rap_conformance" else name for name in config.args]
    from rap_conformance.driver import Driver
    from rap_conformance.options import ConfigError

    try:
        driver: Driver = Driver.configure(config)
    except ConfigError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(driver, "rap_conformance.driver")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop whatever a run of ours started, also when it never got under way."""
    driver: Any = config.pluginmanager.get_plugin("rap_conformance.driver")
    if driver is not None:
        driver.close()
        driver.release()
