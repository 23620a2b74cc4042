"""The command line: check, runtime, serve, init, baseline, compare, replay, list, explain. A mistake: exit 4.

`check` runs the suite's own scenarios under pytest with the suite's own
settings: no configuration, plugin or option of the folder it is called from.

Long because each command is one function whose parameters are its options, and they are read side by side.
"""

from __future__ import annotations

import difflib
import inspect
import json
import os
import re
import shlex
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rap_conformance import __version__
from rap_conformance.engine.inputs import ConfigError, Secret
from rap_conformance.engine.requirement import Level, Requirement
from rap_conformance.engine.verdict import EXIT_BAD_INPUT, EXIT_NOBODY
from rap_conformance.options import OPTIONS, Option
from rap_conformance.places import place
from rap_conformance.protocol.specification import CATALOGUE_VERSION
from rap_conformance.protocol.specification import catalogue as requirements

if TYPE_CHECKING:
    from rap_conformance.server.seen import Measured

app = typer.Typer(
    name="rap-conformance",
    help="The conformance suite of the Reactive Agent Protocol (RAP).",
    no_args_is_help=True,
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


def _command(role: str, summary: str) -> None:
    """Enter `check` or `runtime`: the options that options.py lists for the role, and nothing of our own."""

    def run(**given: Any) -> None:
        raise SystemExit(_run(role, given))

    options = [option for option in OPTIONS if role in option.roles]
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [_parameter(option) for option in options]
        + [_counted("quiet", "-q", "Say less."), _counted("verbose", "-v", "Say more.")]
    )
    run.__annotations__ = {}
    name = "check" if role == "server" else role
    app.command(name=name, help=summary)(run)


def _parameter(option: Option) -> inspect.Parameter:
    help = option.help[0].upper() + option.help[1:] + "."
    kinds: dict[str, Any] = {"text": str | None, "many": list[str] | None, "flag": bool}
    info = typer.Option(f"--{option.name}", metavar=option.metavar or None, help=help)
    return inspect.Parameter(
        option.name.replace("-", "_"),
        inspect.Parameter.KEYWORD_ONLY,
        default=False if option.kind == "flag" else option.default,
        annotation=Annotated[kinds[option.kind], info],
    )


def _counted(name: str, short: str, help: str) -> inspect.Parameter:
    info = typer.Option(short, f"--{name}", count=True, help=help)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=0, annotation=Annotated[int, info])


def _run(role: str, given: dict[str, Any]) -> int:
    """Run the scenarios of a role under pytest, with what was given. Raises BadInput, ConfigError."""
    if given["gentle"] and given["not_gentle"]:
        raise BadInput("--gentle: not together with --not-gentle; give one of them")
    if given["config"] is None:
        given["config"] = _default_config()
    if role == "server" and given["server_url"] is None and given["server_cmd"] is None:
        if not _names_target(given["config"]):
            raise BadInput(
                "no target: give --server-url URL or --server-cmd CMD, or server.url in a configuration file"
            )
    arguments = [f"--rap-role={role}"]
    for option in OPTIONS:
        value = given.get(option.name.replace("-", "_"))
        if isinstance(value, list | tuple):
            arguments += [f"{option.flag}={each}" for each in value]
        elif value is True:
            arguments.append(option.flag)
        elif value not in {None, False}:
            arguments.append(f"{option.flag}={value}")
    said = ["-q"] * given["quiet"] + ["-v"] * given["verbose"]
    return run_pytest([*arguments, *said], str(place("conformance") / role))


def run_pytest(arguments: list[str], target: str, *plugins: object) -> int:
    """Run our scenarios with our own settings, and these plugins, only; gives the exit code."""
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        os.environ.pop(name, None)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    here = os.getcwd()
    sys.path[:] = [entry for entry in sys.path if entry not in {"", here}] or sys.path
    import pytest

    from rap_conformance.reporting.voice import outlet

    own = ["-c", str(place("check.ini")), "--rootdir", here, "--import-mode=importlib"]
    own += ["-p", "rap_conformance.plugin", "-p", "pytest_metadata.plugin", "-p", "pytest_html.plugin"]
    own += ["-p", "no:cacheprovider", "-p", "no:warnings", "-p", "no:terminalreporter"]
    with outlet():
        return int(pytest.main([*own, *arguments, target], plugins=plugins))


def _default_config() -> str | None:
    from rap_conformance.engine.toml_file import find_default

    found = find_default(Path())
    return str(found) if found is not None else None


def _names_target(config: str | None) -> bool:
    if config is None:
        return False
    from rap_conformance.server.config_file import load_file

    server = load_file(Path(config)).server
    return server.url is not None or server.command is not None


_command("server", "Certify a live tool server.")
_command("runtime", "Certify an agent runtime, which an adapter starts; without one, the reference runtime.")


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
        sockets = _import("servers.reference.serving").bind(host, port)
        bound = sockets[0].getsockname()[1]
        typer.echo(_serving(host, bound, prefix, options.tokens, mutant))
        servers.serve(make(options), sockets)
    except OSError as error:
        raise BadInput(f"--port: cannot serve on {host}:{port} ({error.strerror or error})") from None


def _serving(host: str, port: int, prefix: str, tokens: tuple[str, ...], mutant: str | None) -> str:
    """What `serve` says first: where it listens, and how to be let in."""
    where = f"http://{f'[{host}]' if ':' in host else host or '127.0.0.1'}:{port}{prefix}"
    who = f"the mutant {mutant}" if mutant else "the reference server"
    if not tokens:
        return f"{who} listens on {where} and asks for no credentials; Ctrl-C ends it"
    headers = " or ".join(f"Authorization: Bearer {token}" for token in tokens)
    return f"{who} listens on {where} and asks for {headers}; Ctrl-C ends it"


def import_fixtures() -> Any:
    """The reference server's package, in a checkout or installed."""
    return _import("servers.reference")


def import_mutants() -> dict[str, Any]:
    """Every mutant by its name."""
    mutants: dict[str, Any] = _import("servers.mutants").MUTANTS
    return mutants


def import_ways() -> dict[str, Any]:
    """Every way to identify callers that the reference server knows, by its name."""
    ways: dict[str, Any] = _import("servers.ways").WAYS
    return ways


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
    probe: Annotated[
        bool, typer.Option("--probe", help="Call the tools that may be called, and write what they did.")
    ] = False,
    invoke: Annotated[
        str,
        typer.Option(
            metavar="read-only|any", help="What --probe may call; any: also tools without annotations."
        ),
    ] = "read-only",
) -> None:
    """Write a configuration to start from, made of what discovery shows."""
    from rap_conformance.engine.inputs import check_url, parse_auth_header
    from rap_conformance.network.discovery import NotFound, tools_of
    from rap_conformance.server.first_config import first_config

    url = check_url(server_url, "--server-url")
    headers = [parse_auth_header(header) for header in auth_header or []]
    if invoke not in {"read-only", "any"}:
        raise BadInput(f"--invoke: got {invoke[:40]!a}; allowed are read-only, any")
    if invoke == "any" and not probe:
        raise BadInput("--invoke: goes with --probe; without it init calls no tool")
    if output.exists() and not force:
        raise BadInput(f"--output: {str(output)!a} is there already; give another name, or --force")
    try:
        tools = tools_of(url, [(name, secret.reveal()) for name, secret in headers])
    except NotFound as missing:
        typer.echo(f"rap-conformance: {missing}", err=True)
        raise SystemExit(EXIT_NOBODY) from None
    try:
        measured = _measured(url, headers, invoke) if probe else None
        made = first_config(url, tools, auth=_by_variable(auth_header or []), measured=measured)
        output.write_text(made, "utf-8")
    except OSError as error:
        raise BadInput(f"--output: cannot write {str(output)!a} ({error.strerror or error})") from None
    found_by_itself = output == Path("rap-conformance.toml")
    named = "" if found_by_itself else f" --config {shlex.quote(str(output))}"
    typer.echo(f"wrote {output}; look it over, then run: rap-conformance check{named}")


def _measured(url: str, headers: list[tuple[str, Secret]], invoke: str) -> Measured:
    """What the tools that may be called do; a line for each call."""
    from rap_conformance.engine.scenario import Refused
    from rap_conformance.server.config import Auth, Config, ServerConfig
    from rap_conformance.server.measuring import measure
    from rap_conformance.server.options import ServerOptions

    config = Config(server=ServerConfig(url=url), auth=Auth(headers=tuple(headers)))
    try:
        measured = measure(config, ServerOptions(invoke=invoke), 0, typer.echo)
    except Refused as refused:
        raise BadInput(f"--probe: {refused}") from None
    for name, why in measured.left:
        typer.echo(f"{name}: not called: {why}")
    if measured.cut_short:
        typer.echo(f"cut short: {measured.cut_short}")
    return measured


def _by_variable(headers: list[str]) -> dict[str, str]:
    """Headers whose values are variables of the environment: what a file may hold of credentials."""
    pairs = (header.partition(":") for header in headers)
    return {name: value.strip() for name, _, value in pairs if value.strip().startswith("env:")}


@app.command(name="baseline")
def baseline_(
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="A report.json of a run that failed.")],
    level: Annotated[
        str, typer.Option(metavar="must|should", help="should: SHOULDs not met as well.")
    ] = "must",
) -> None:
    """Print a baseline of what failed, for `check --baseline`; the reasons are yours to write."""
    from rap_conformance.engine import baseline
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
    fail_on_regression: Annotated[
        bool,
        typer.Option(
            "--fail-on-regression",
            help="Say what changed from first to last; exit 1 if something does not pass any more.",
        ),
    ] = False,
) -> None:
    """Put many reports on one page: servers by requirements, and what changed between runs of one server."""
    from rap_conformance.reporting import matrix

    paths = [path / "report.json" if path.is_dir() else path for path in reports]
    if fail_on_regression and len(paths) < 2:
        raise BadInput(f"--fail-on-regression: got {len(paths)} report; two are needed, the older one first")
    try:
        entries = matrix.read(paths)
        page = matrix.compare(entries)
        output.write_text(page, "utf-8")
    except matrix.ReportError as error:
        raise BadInput(str(error)) from None
    except OSError as error:
        raise BadInput(f"--output: cannot write {str(output)!a} ({error.strerror or error})") from None
    typer.echo(f"wrote {output}")
    if fail_on_regression:
        changes = [*matrix.changes(entries[0], entries[-1])]
        for change in changes:
            typer.echo(str(change))
        if not changes:
            typer.echo("nothing changed")
        raise SystemExit(any(change.regression for change in changes))


@app.command(name="replay")
def replay_(
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="A report.json, or its folder.")],
    code: Annotated[str, typer.Argument(metavar="CODE", help="The requirement to judge again.")],
) -> None:
    """Judge one requirement of a report again: same target, seed and options. Exit 1 if it still fails.

    Credentials are read from the environment, as the report names them, and from the same configuration.
    """
    from rap_conformance import replay

    what = replay.read(report, code)
    heard = replay.Listener()
    exit = run_pytest(list(what.arguments), str(place("conformance") / what.role), heard)
    said, status = replay.outcome(what, heard.results.get(what.code), exit)
    if said:
        typer.echo(said)
    raise SystemExit(status)


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
    """Say what a requirement asks, why, and how to meet it: by its code (`TCS004`, `tcs4`) or its name."""
    requirement = _named(code)
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


def _named(given: str) -> Requirement:
    """The requirement of that code or name. Raises BadInput, with what is near, for none or several."""
    wanted = given.strip()
    match = re.fullmatch(r"([A-Za-z]{3})[-_ ]?0*(\d{1,3})", wanted)
    everything: list[Requirement] = [*requirements()]
    code = f"{match[1].upper()}{int(match[2]):03}" if match else ""
    for each in everything:
        if each.code == code:
            return each
    same = [each for each in everything if each.name == wanted.lower()]
    if len(same) == 1:
        return same[0]
    if same:
        codes = ", ".join(each.code for each in same)
        raise BadInput(f"{wanted[:40]!a} is the name of {codes}; give one of these codes")
    names = {each.name: each.code for each in everything} | {
        each.code.lower(): each.code for each in everything
    }
    near = difflib.get_close_matches(wanted.lower(), names, n=3, cutoff=0.5)
    near += [name for name in names if len(wanted) >= 3 and wanted.lower() in name and name not in near][:3]
    hint = f"near to it: {', '.join(f'{names[each]} {each}' for each in near)}; " if near else ""
    raise BadInput(
        f"there is no requirement {wanted[:40]!a}; {hint}`rap-conformance list` shows all codes and names"
    )


_NOT_OURS = {
    "-n": "one target, one process: hostile checks must not meet other checks' calls; "
    "many servers are certified by as many commands beside each other",
    "--reruns": "what was merely missing is confirmed by a second run anyway, and nothing else is run again",
}
"""Options of pytest's plugins that people try, and what to do instead."""


def main(arguments: list[str] | None = None) -> None:
    """The command's entry point."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        code = app(args=given or ["--help"], standalone_mode=False)
    except (BadInput, ConfigError) as error:
        _refuse(str(error))
    except typer.Abort:
        raise SystemExit(130) from None
    except Exception as error:
        # Typer brings its own copy of click, whose usage errors are told apart by what they can do.
        if not hasattr(error, "format_message"):
            raise
        name = str(getattr(error, "option_name", ""))
        instead = next((why for option, why in _NOT_OURS.items() if name.startswith(option)), "")
        _refuse(error.format_message() + (f" ({instead})" if instead else ""))
    else:
        raise SystemExit(code if isinstance(code, int) else 0)


def _refuse(message: str) -> None:
    line = " ".join(message.split())
    typer.echo(f"rap-conformance: {line}", err=True)
    raise SystemExit(EXIT_BAD_INPUT) from None
