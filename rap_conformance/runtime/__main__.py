"""`python -m rap_conformance.runtime --adapter-cmd "… {port}"`; without one, the reference runtime."""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from rap_conformance.baseline import load as load_baseline
from rap_conformance.command_line import pin_of
from rap_conformance.gate import EXIT_BAD_INPUT
from rap_conformance.options import ConfigError, check_command
from rap_conformance.runtime import embedded
from rap_conformance.runtime.options import RuntimeOptions
from rap_conformance.runtime.run import certify
from rap_conformance.voice import Voice


class Parser(argparse.ArgumentParser):
    """Refuses in one line, like the rest of the suite."""

    def error(self, message: str) -> NoReturn:
        """Raises ConfigError."""
        raise ConfigError(message)


def parser() -> Parser:
    """The options of a run against a runtime."""
    made = Parser(prog="rap-conformance runtime", description="Certify an agent runtime.")
    add = made.add_argument
    add("--adapter-cmd", metavar="CMD", help="starts the runtime's adapter; {port} is replaced")
    add("--mutant", metavar="NAME", help="judge a broken runtime of ours, to see what a failure looks like")
    add(
        "--requirement",
        action="append",
        default=[],
        metavar="CODE",
        help="judge only this one; globs; repeatable",
    )
    add("--level", choices=("must", "should"), default="must", help="what fails the gate")
    add(
        "--strict",
        action="store_true",
        help="an applicable MUST that was not exercised fails the gate (exit 7)",
    )
    add("--baseline", type=Path, metavar="FILE", help="known failures; the list may only shrink")
    add("--catalogue", metavar="X.Y", help="pin: requirements added later do not fail this gate")
    add("--profile", choices=("quick", "standard", "thorough"), default="standard", help="how much to try")
    add("--seed", type=int, default=None, metavar="N", help="printed in reports; runs are the same anyway")
    add("--max-time", type=float, default=None, metavar="SECONDS", help="end the run then, as incomplete")
    add("--report-dir", type=Path, default=Path("reports"), metavar="DIR", help="where reports go")
    add("--no-report", action="store_true", help="write no reports")
    add("-q", "--quiet", action="count", default=0)
    add("-v", "--verbose", action="count", default=0)
    return made


def options(given: argparse.Namespace) -> RuntimeOptions:
    """Check what the user gave. Raises ConfigError, one line."""
    if given.mutant is not None and (given.adapter_cmd is not None or given.mutant not in embedded.mutants()):
        raise ConfigError(
            f"--mutant: got {given.mutant[:60]!a}; allowed, without --adapter-cmd: a name that "
            "fixtures/runtimes/mutants enters"
        )
    command, environment = embedded.command(given.mutant)
    if given.adapter_cmd is not None:
        command, environment = check_command(given.adapter_cmd, "--adapter-cmd"), ()
        if "{port}" not in command:
            raise ConfigError(
                f"--adapter-cmd: got {command[:60]!a}; allowed: a command line with {{port}} in it"
            )
    folder = None if given.no_report else given.report_dir
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"--report-dir: cannot write to {str(folder)!a} ({error.strerror})") from None
    return RuntimeOptions(
        command=command,
        environment=environment,
        embedded=given.adapter_cmd is None,
        profile=given.profile,
        seed=random.SystemRandom().randrange(1, 2**31) if given.seed is None else given.seed,
        level=given.level,
        strict=given.strict,
        selected=tuple(given.requirement),
        pin=pin_of(given.catalogue),
        known=load_baseline(given.baseline) if given.baseline is not None else (),
        max_time=given.max_time,
        report_dir=folder,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and give the exit code."""
    try:
        given = parser().parse_args(arguments)
        return certify(options(given), Voice(given.verbose - given.quiet)).exit
    except ConfigError as error:
        sys.stderr.write(f"rap-conformance: {error}\n")
        return EXIT_BAD_INPUT


if __name__ == "__main__":
    raise SystemExit(main())
