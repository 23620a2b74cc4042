"""The table [runtime] of a configuration. See README.md, "Configuration"."""

from __future__ import annotations

from rap_conformance.engine.inputs import ConfigError, check_command, plain, shown
from rap_conformance.engine.toml_file import Document, Keys
from rap_conformance.engine.toml_table import Table
from rap_conformance.runtime.options import Timing

KEYS: Keys = {"runtime": dict.fromkeys(("adapter", "status_timeout", "settle"))}
"""What a file may say about a runtime."""


def parse(document: Document) -> tuple[str | None, Timing]:
    """The adapter's command, if the file gives one, and the times. Raises ConfigError, one line."""
    data = document.data if isinstance(document.data, dict) else {}
    mine = {name: value for name, value in data.items() if name in KEYS}
    table = Table(mine, "", plain(document.origin), tuple(KEYS)).table(
        "runtime", tuple(KEYS["runtime"] or ())
    )
    adapter = table.text("adapter", _COMMAND)
    timing = Timing(
        status_timeout=table.number("status_timeout", Timing().status_timeout, 0.1, 60),
        settle=table.number("settle", Timing().settle, 0.5, 600),
    )
    return None if adapter is None else check_adapter(adapter, table.where("adapter")), timing


_COMMAND = "a command line with {port} in it"


def check_adapter(command: str, key: str) -> str:
    """The command as given. Raises ConfigError if it is none, or says nothing of the port."""
    check_command(command, key)
    if "{port}" not in command:
        raise ConfigError(f"{key}: got {shown(command)}; allowed: {_COMMAND}")
    return command
