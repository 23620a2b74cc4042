"""The role "runtime under test": how what was given becomes a session with its adapter."""

from __future__ import annotations

from rap_conformance.engine.inputs import ConfigError, check_command
from rap_conformance.engine.role import Given, Role, Settings
from rap_conformance.protocol.specification import DEFAULT_REVISION
from rap_conformance.runtime import embedded
from rap_conformance.runtime.options import RuntimeOptions
from rap_conformance.runtime.peer import RuntimePeer
from rap_conformance.runtime.preflight import begin
from rap_conformance.runtime.session import RuntimeSession


def read(given: Given) -> Settings:
    """Check what was given. Raises ConfigError, one line."""
    options = _options(given["rap_adapter_cmd"], given["rap_mutant"])
    return Settings(
        session=lambda common: RuntimeSession(options, common),
        revision=DEFAULT_REVISION,
        address=options.command,
    )


def _options(command: str | None, mutant: str | None) -> RuntimeOptions:
    if mutant is not None and (command is not None or mutant not in embedded.mutants()):
        raise ConfigError(
            f"--mutant: got {mutant[:60]!a}; allowed, without --adapter-cmd: a name that "
            "fixtures/runtimes/mutants enters"
        )
    if command is None:
        return RuntimeOptions(*embedded.command(mutant), embedded=True)
    check_command(command, "--adapter-cmd")
    if "{port}" not in command:
        raise ConfigError(f"--adapter-cmd: got {command[:60]!a}; allowed: a command line with {{port}} in it")
    return RuntimeOptions(command)


RUNTIME = Role(
    name="runtime",
    folder="runtime",
    title="runtime",
    target=("rap_adapter_cmd", "rap_mutant"),
    read=read,
    begin=begin,
    peer=RuntimePeer,
)
