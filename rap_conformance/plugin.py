"""The pytest plugin: options only; everything else is imported once there is something to do.

It is loaded in every pytest run of everyone who installs the package, so this
module imports the standard library and pytest, and does nothing unless a
target is given or the suite's own scenarios are asked for.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rap_conformance.options import OPTIONS

if TYPE_CHECKING:
    from rap_conformance.driver import Driver

_HERE = Path(__file__).resolve().parent


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options of a run; of what comes first, keep signals if a target is given."""
    if any(argument.startswith(_TARGET_FLAGS) for argument in sys.argv[1:]):
        _keep_signals()
    group = parser.getgroup(
        "rap", "RAP conformance (give --server-url or --server-cmd, or --rap-adapter-cmd for a runtime)"
    )
    for option in OPTIONS:
        if option.kind == "flag":
            default = None if option.key == "rap_gentle" else not option.const
            group.addoption(
                option.flag,
                dest=option.key,
                action="store_const",
                const=option.const,
                default=default,
                help=option.help,
            )
        else:
            many = option.kind == "many"
            group.addoption(
                option.flag,
                dest=option.key,
                action="append" if many else "store",
                metavar=option.metavar,
                default=[] if many else option.default,
                help=option.help,
            )
    group.addoption("--rap-role", dest="rap_role", default=None, help=argparse.SUPPRESS)


class Hooks:
    """What other plugins may hear of a run of ours."""

    def pytest_rap_event(self, event: Any) -> None:
        """Something happened: one of `rap_conformance.engine.events`."""


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare what others may hear."""
    pluginmanager.add_hookspecs(Hooks)


_PATHS = ("--rap-config", "--rap-report-dir", "--rap-baseline", "--server-cmd", "--rap-adapter-cmd")
"""Options whose value may be a path."""


_TARGETS = ("server_url", "server_cmd", "adapter_cmd", "mutant", "role")
_TARGET_FLAGS = ("--server-url", "--server-cmd", "--rap-adapter-cmd", "--rap-role")


def _ours() -> Path:
    homes = [_HERE / "conformance", _HERE.parent / "conformance"]
    return next((home for home in homes if (home / "requirements").is_dir()), homes[0])


def _wanted(config: pytest.Config) -> bool:
    """Whether this run is ours: a target is given, or our scenarios are among the arguments."""
    if any(config.getoption(f"rap_{name}") is not None for name in _TARGETS):
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
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Keep signals from now on, if a target is given: a run that has begun ends with reports."""
    known = vars(early_config.known_args_namespace)
    if any(known.get(f"rap_{name}") is not None for name in _TARGETS) and not known.get("help"):
        _keep_signals()


def _keep_signals() -> None:
    from rap_conformance.engine.signals import SIGNALS

    SIGNALS.defer()


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
    from rap_conformance.engine.inputs import ConfigError

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
    if "rap_conformance.engine.signals" in sys.modules:
        sys.modules["rap_conformance.engine.signals"].SIGNALS.restore()
