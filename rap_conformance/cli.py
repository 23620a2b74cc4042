"""The command line: check, serve, init, baseline, compare, list, explain. A mistake is one line, exit 4.

`check` runs the suite's own scenarios under pytest with the suite's own
settings: no configuration, plugin or option of the folder it is called from.
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer

from rap_conformance import __version__
from rap_conformance.catalogue import CATALOGUE_VERSION, Level, Requirement
from rap_conformance.catalogue import catalogue as requirements
from rap_conformance.gate import EXIT_BAD_INPUT, EXIT_NOBODY
from rap_conformance.options import ConfigError
from rap_conformance.places import place

app = typer.Typer(
    name="rap-conformance",
    help="The conformance suite of the Reactive Agent Protocol (RAP).",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class BadInput(Exception):
    """What the user gave cannot be used; the message is one line."""


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rap-conformance {__version__}, catalogue {CATALOGUE_VERSION}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version and end.")
    ] = False,
) -> None:
    """The conformance suite of the Reactive Agent Protocol (RAP)."""


@app.command()
def check(
    server_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Base URL of the server under test.")
    ] = None,
    server_cmd: Annotated[
        str | None,
        typer.Option(
            metavar="CMD", help="Command that starts it; {port} is replaced; it may be killed and restarted."
        ),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Configuration; else rap-conformance.toml or pyproject.toml of this folder."
        ),
    ] = None,
    auth_header: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'NAME: VALUE'", help="Credentials; env:NAME as value reads the environment; repeatable."
        ),
    ] = None,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Declare a trusted network without authentication.")
    ] = False,
    callback_bind: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where the receiver listens.")
    ] = None,
    callback_url: Annotated[
        str | None, typer.Option(metavar="URL", help="How the server reaches the receiver.")
    ] = None,
    invoke: Annotated[
        str | None, typer.Option(metavar="none|read-only|configured|any", help="Which tools may be called.")
    ] = None,
    requirement: Annotated[
        list[str] | None, typer.Option(metavar="CODE", help="Judge only this one; globs (TCS*); repeatable.")
    ] = None,
    level: Annotated[str, typer.Option(metavar="must|should", help="What fails the gate.")] = "must",
    strict: Annotated[
        bool, typer.Option("--strict", help="A MUST that was not exercised fails the gate (exit 7).")
    ] = False,
    profile: Annotated[
        str, typer.Option(metavar="quick|standard|thorough", help="20, 100 or 1000 generated examples each.")
    ] = "standard",
    seed: Annotated[str | None, typer.Option(metavar="N", help="Repeat a run's generated examples.")] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="FILE", help="Known failures; the list may only shrink.")
    ] = None,
    catalogue: Annotated[
        str | None, typer.Option(metavar="X.Y", help="Pin: requirements added later do not fail this gate.")
    ] = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="Judge again what failed in the last run.")
    ] = False,
    subject: Annotated[
        str | None, typer.Option(metavar="NAME@sha256:HEX", help="What the attestation is about.")
    ] = None,
    gentle: Annotated[
        bool, typer.Option("--gentle", help="No floods, no inputs that may kill a server.")
    ] = False,
    not_gentle: Annotated[bool, typer.Option("--not-gentle", help="The owner consents to both.")] = False,
    max_time: Annotated[
        str | None, typer.Option(metavar="SECONDS", help="End the run then, as incomplete.")
    ] = None,
    report_dir: Annotated[str, typer.Option(metavar="DIR", help="Where reports go.")] = "reports",
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no reports.")] = False,
    quiet: Annotated[int, typer.Option("-q", "--quiet", count=True, help="Say less.")] = 0,
    verbose: Annotated[int, typer.Option("-v", "--verbose", count=True, help="Say more.")] = 0,
) -> None:
    """Certify a live tool server."""
    if gentle and not_gentle:
        raise BadInput("--gentle: not together with --not-gentle; give one of them")
    arguments: list[str] = []

    def give(name: str, value: object) -> None:
        if isinstance(value, list):
            arguments.extend(f"{name}={each}" for each in value)
        elif isinstance(value, bool):
            if value:
                arguments.append(name)
        elif value is not None:
            arguments.append(f"{name}={value}")

    if config is None:
        config = _default_config()
    if server_url is None and server_cmd is None and not _names_target(config):
        raise BadInput(
            "no target: give --server-url URL or --server-cmd CMD, or server.url in a configuration file"
        )
    give("--server-url", server_url)
    give("--server-cmd", server_cmd)
    for name, value in (
        ("config", config),
        ("auth-header", auth_header or []),
        ("no-auth", no_auth),
        ("callback-bind", callback_bind),
        ("callback-url", callback_url),
        ("invoke", invoke),
        ("requirement", requirement or []),
        ("level", level),
        ("strict", strict),
        ("profile", profile),
        ("seed", seed),
        ("baseline", baseline),
        ("catalogue", catalogue),
        ("failed", failed),
        ("subject", subject),
        ("gentle", gentle),
        ("not-gentle", not_gentle),
        ("max-time", max_time),
        ("report-dir", report_dir),
        ("no-report", no_report),
    ):
        give(f"--rap-{name}", value)
    raise SystemExit(
        run_pytest([*arguments, *["-q"] * quiet, *["-v"] * verbose], str(place("conformance") / "server"))
    )


def run_pytest(arguments: list[str], target: str) -> int:
    """Run our scenarios with our own settings only; gives the exit code."""
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        os.environ.pop(name, None)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    here = os.getcwd()
    sys.path[:] = [entry for entry in sys.path if entry not in {"", here}] or sys.path
    import pytest

    own = ["-c", str(place("check.ini")), "--rootdir", here, "--import-mode=importlib"]
    own += ["-p", "rap_conformance.plugin", "-p", "pytest_metadata.plugin", "-p", "pytest_html.plugin"]
    own += ["-p", "no:cacheprovider", "-p", "no:warnings", "-p", "no:terminalreporter"]
    return int(pytest.main([*own, *arguments, target]))


def _default_config() -> str | None:
    from rap_conformance.config import find_default

    found = find_default(Path())
    return str(found) if found is not None else None


def _names_target(config: str | None) -> bool:
    if config is None:
        return False
    from rap_conformance.config import load_file

    server = load_file(Path(config)).server
    return server.url is not None or server.command is not None


@app.command(
    add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def runtime(context: typer.Context) -> None:
    """Certify an agent runtime, which an adapter starts; `runtime --help` shows the options."""
    from rap_conformance.runtime.__main__ import main as certify_runtime

    raise SystemExit(certify_runtime(context.args))


@app.command()
def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for a free one.")] = 3001,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    token: Annotated[
        list[str] | None,
        typer.Option(metavar="TOKEN", help="Bearer token to ask for; one an identity; repeatable."),
    ] = None,
    prefix: Annotated[str, typer.Option(metavar="/PATH", help="Path below which everything is.")] = "",
    state: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep calls and subscriptions here.")
    ] = None,
    rate_limit: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Requests of one kind and identity in any 5 seconds."),
    ] = None,
    mutant: Annotated[
        str | None, typer.Option(metavar="NAME", help="Serve a broken variant; `list --mutants`.")
    ] = None,
) -> None:
    """Run the reference server: the smallest correct one, or a mutant of it."""
    servers = import_fixtures()
    if prefix and (not prefix.startswith("/") or prefix.endswith("/") or "?" in prefix or "#" in prefix):
        raise BadInput(f"--prefix: got {prefix!a}; allowed is a path such as /rap")
    options = servers.Options(
        host=host, port=port, tokens=tuple(token or ()), prefix=prefix, state=state, rate_limit=rate_limit
    )
    make = servers.ReferenceServer
    if mutant is not None:
        known = import_mutants()
        if mutant not in known:
            raise BadInput(
                f"--mutant: got {mutant[:80]!a}; "
                f"`rap-conformance list --mutants` shows the {len(known)} there are"
            )
        make = known[mutant].server
    try:
        servers.serve(make(options))
    except OSError as error:
        raise BadInput(f"--port: cannot serve on {host}:{port} ({error.strerror or error})") from None


def import_fixtures() -> Any:
    """The reference server's package, in a checkout or installed."""
    return _import("servers.reference")


def import_mutants() -> dict[str, Any]:
    """Every mutant by its name."""
    mutants: dict[str, Any] = _import("servers.mutants").MUTANTS
    return mutants


def _import(name: str) -> Any:
    import importlib

    home = place("fixtures").parent
    if home.name == "rap_conformance":
        return importlib.import_module(f"rap_conformance.fixtures.{name}")
    if str(home) not in sys.path:
        sys.path.insert(0, str(home))
    return importlib.import_module(f"fixtures.{name}")


@app.command()
def init(
    server_url: Annotated[str, typer.Option(metavar="URL", help="Base URL of the server.")],
    auth_header: Annotated[
        list[str] | None, typer.Option(metavar="'NAME: VALUE'", help="Credentials, if discovery wants them.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write it.")] = Path(
        "rap-conformance.toml"
    ),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a configuration to start from, made of what discovery shows."""
    from rap_conformance.first_config import first_config
    from rap_conformance.options import check_url, parse_auth_header
    from rap_conformance.peers.discovery import NotFound, tools_of

    url = check_url(server_url, "--server-url")
    headers = [parse_auth_header(header) for header in auth_header or []]
    if output.exists() and not force:
        raise BadInput(f"--output: {str(output)!a} is there already; give another name, or --force")
    try:
        tools = tools_of(url, [(name, secret.reveal()) for name, secret in headers])
    except NotFound as missing:
        typer.echo(f"rap-conformance: {missing}", err=True)
        raise SystemExit(EXIT_NOBODY) from None
    try:
        output.write_text(first_config(url, tools), "utf-8")
    except OSError as error:
        raise BadInput(f"--output: cannot write {str(output)!a} ({error.strerror or error})") from None
    typer.echo(f"wrote {output}; look it over, then run: rap-conformance check")


@app.command(name="baseline")
def baseline_(
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="A report.json of a run that failed.")],
    level: Annotated[
        str, typer.Option(metavar="must|should", help="should: SHOULDs not met as well.")
    ] = "must",
) -> None:
    """Print a baseline of what failed, for `check --baseline`; the reasons are yours to write."""
    from rap_conformance import baseline
    from rap_conformance.reporting import matrix

    if level not in {"must", "should"}:
        raise BadInput(f"--level: got {level[:40]!a}; allowed are must, should")
    try:
        typer.echo(baseline.dumps(matrix.load(report), level), nl=False)
    except matrix.ReportError as error:
        raise BadInput(str(error)) from None


@app.command()
def compare(
    reports: Annotated[
        list[Path], typer.Argument(metavar="REPORT…", help="report.json files, or their folders.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The page to write.")] = Path(
        "matrix.html"
    ),
) -> None:
    """Put many reports on one page: servers by requirements, and what changed between runs of one server."""
    from rap_conformance.reporting import matrix

    paths = [path / "report.json" if path.is_dir() else path for path in reports]
    try:
        page = matrix.compare(matrix.read(paths))
        output.write_text(page, "utf-8")
    except matrix.ReportError as error:
        raise BadInput(str(error)) from None
    except OSError as error:
        raise BadInput(f"--output: cannot write {str(output)!a} ({error.strerror or error})") from None
    typer.echo(f"wrote {output}")


@app.command(name="list")
def list_(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    mutants: Annotated[
        bool, typer.Option("--mutants", help="The broken servers of `serve --mutant` instead.")
    ] = False,
) -> None:
    """List all requirements."""
    if mutants:
        for name, mutant in import_mutants().items():
            typer.echo(f"{name}  {' '.join(sorted(mutant.violates))}  {mutant.what}")
        return
    if as_json:
        typer.echo(json.dumps([_as_dict(requirement) for requirement in requirements()], indent=2))
        return
    for requirement in requirements():
        typer.echo(f"{requirement.code}  {requirement.level:<6}  {requirement.name}")


def _as_dict(requirement: Requirement) -> dict[str, Any]:
    names = (
        "code",
        "name",
        "level",
        "basis",
        "role",
        "revisions",
        "section",
        "url",
        "statement",
        "why",
        "remedy",
        "needs",
    )
    return {name: getattr(requirement, name) for name in names}


@app.command()
def explain(code: Annotated[str, typer.Argument(metavar="CODE")]) -> None:
    """Say what a requirement asks, why, and how to meet it."""
    requirement = requirements().get(code.upper())
    if requirement is None:
        raise BadInput(f"got {code[:40]!a}; `rap-conformance list` shows the codes there are")
    level = f"{requirement.level}, derived" if requirement.derived else str(requirement.level)
    if requirement.level is Level.ADVICE:
        level += " (never fails a gate)"
    typer.echo(f"{requirement.code} {requirement.name}: {level}\n")
    for title, body in (
        ("What", requirement.statement),
        ("Basis", requirement.basis),
        ("Why", requirement.why),
        ("Remedy", requirement.remedy),
        (
            "Needs",
            ", ".join(requirement.needs)
            or ("nothing but the URL" if requirement.role == "server" else "an adapter"),
        ),
        ("Revisions", ", ".join(requirement.revisions)),
        ("Read", requirement.url),
    ):
        typer.echo(
            textwrap.fill(f"{title:<10}{body}", 90, subsequent_indent=" " * 10, break_long_words=False)
        )


def main(arguments: list[str] | None = None) -> None:
    """The command's entry point."""
    try:
        code = app(args=arguments, standalone_mode=False)
    except (BadInput, ConfigError) as error:
        _refuse(str(error))
    except typer.Abort:
        raise SystemExit(130) from None
    except Exception as error:
        # Typer brings its own copy of click, whose usage errors are told apart by what they can do.
        if not hasattr(error, "format_message"):
            raise
        if not arguments and not sys.argv[1:]:
            raise SystemExit(EXIT_BAD_INPUT) from None
        _refuse(error.format_message())
    else:
        raise SystemExit(code if isinstance(code, int) else 0)


def _refuse(message: str) -> None:
    line = " ".join(message.split())
    typer.echo(f"rap-conformance: {line}", err=True)
    raise SystemExit(EXIT_BAD_INPUT) from None
