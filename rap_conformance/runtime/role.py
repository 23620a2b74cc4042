"""The role "runtime under test": how what was given becomes a session with its adapter."""

from __future__ import annotations

from rap_conformance.engine.inputs import ConfigError
from rap_conformance.engine.role import Given, Role, Settings
from rap_conformance.engine.toml_file import Document
from rap_conformance.protocol.specification import DEFAULT_REVISION
from rap_conformance.runtime import embedded
from rap_conformance.runtime.config import KEYS, check_adapter, parse
from rap_conformance.runtime.options import RuntimeOptions, Timing
from rap_conformance.runtime.peer import RuntimePeer
from rap_conformance.runtime.preflight import begin
from rap_conformance.runtime.session import RuntimeSession


def read(given: Given, document: Document | None) -> Settings:
    """Check what was given. Raises ConfigError, one line."""
    configured, timing = parse(document) if document is not None else (None, Timing())
    options = _options(given["rap_adapter_cmd"], given["rap_mutant"], configured, timing)
    return Settings(
        session=lambda common: RuntimeSession(options, common),
        revision=DEFAULT_REVISION,
        address=options.command,
    )


def _options(
    command: str | None, mutant: str | None, configured: str | None, timing: Timing
) -> RuntimeOptions:
    """The adapter given on the command line, else in the configuration, else the reference runtime's."""
    if mutant is not None:
        if command is not None or mutant not in embedded.mutants():
            raise ConfigError(
                f"--mutant: got {mutant[:60]!a}; allowed, without --adapter-cmd: a name that "
                "fixtures/runtimes/mutants enters"
            )
        configured = None
    if command is not None:
        configured = check_adapter(command, "--adapter-cmd")
    if configured is not None:
        return RuntimeOptions(configured, timing=timing)
    return RuntimeOptions(*embedded.command(mutant), embedded=True, timing=timing)


RUNTIME = Role(
    name="runtime",
    folder="runtime",
    title="runtime",
    target=("rap_adapter_cmd", "rap_mutant"),
    keys=KEYS,
    read=read,
    begin=begin,
    peer=RuntimePeer,
)
