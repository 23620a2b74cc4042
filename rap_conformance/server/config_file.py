"""Reads the configuration of a run, from a file of its own, a pyproject.toml or a dict.

Every departure is a ConfigError whose message is one line: the key, what it got, what is allowed. No
credential appears in a message. See README.md, "Configuration".
"""

from __future__ import annotations

import dataclasses
import importlib.util
import re
from pathlib import Path

from rap_conformance.engine.evidence import Headers
from rap_conformance.engine.inputs import (
    ConfigError,
    Secret,
    check_command,
    check_origin,
    check_url,
    header_value,
    names_once,
    plain,
)
from rap_conformance.engine.toml_file import Document, Keys, read
from rap_conformance.engine.toml_table import Table
from rap_conformance.network.redaction import SECRET_HEADERS
from rap_conformance.protocol.specification import DEFAULT_REVISION, REVISIONS
from rap_conformance.server.config import (
    Auth,
    Config,
    Invocation,
    ScenarioConfig,
    ServerConfig,
    SigV4,
    Timing,
)

FEATURES = ("status", "subscription", "choice", "oauth", "view", "migration")
SCENARIOS = ("quick", "pending", "subscription", "choice", "oauth", "view")
_IDENTITY = ("headers", "client_cert", "client_key", "ca_bundle", "sigv4")
_CALL = ("operation", "arguments")
_MORE = {"pending": ("seconds",), "subscription": ("final_arguments", "trigger")}
_PREFIX = "a path such as /rap"


def _fields(of: type[ServerConfig] | type[Timing]) -> Keys:
    return dict.fromkeys(each.name for each in dataclasses.fields(of))


KEYS: Keys = {
    "server": _fields(ServerConfig),
    "features": dict.fromkeys(FEATURES),
    "auth": {**dict.fromkeys((*_IDENTITY, "origins")), "other": dict.fromkeys(_IDENTITY)},
    "timing": _fields(Timing),
    "scenario": {name: dict.fromkeys((*_CALL, "setup", *_MORE.get(name, ()))) for name in SCENARIOS},
}
"""What a file may say about a server."""
_OTHERS = ("runtime",)
"""Tables of other roles in the same file."""


def _server(table: Table) -> ServerConfig:
    url, command = table.data.get("url"), table.text("command", "a command line")
    if url is not None:
        if not isinstance(url, str):
            table.refuse("url", url, "a text, http(s)://host[:port][/prefix]")
        url = check_url(url, table.where("url"))
    if command is not None:
        check_command(command, table.where("command"), port=True)
    if url is not None and command is not None:
        raise ConfigError(
            f"{table.where('url')}: is there together with server.command; allowed: one of them"
        )
    revision = table.data.get("revision", DEFAULT_REVISION)
    if revision not in REVISIONS:
        table.refuse("revision", revision, " or ".join(REVISIONS))
    prefix = (table.text("prefix", _PREFIX) or "").rstrip("/")
    if prefix and not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", prefix):
        table.refuse("prefix", prefix, _PREFIX)
    if prefix and url is not None:
        raise ConfigError(
            f"{table.where('prefix')}: goes with server.command; allowed: the prefix within server.url"
        )
    scheme = table.data.get("scheme", "http")
    if scheme not in {"http", "https"}:
        table.refuse("scheme", scheme, "http or https")
    if "scheme" in table.data and url is not None:
        raise ConfigError(
            f"{table.where('scheme')}: goes with server.command; allowed: the scheme of server.url"
        )
    timeout = table.number("request_timeout", 10.0, 0.1, 600)
    return ServerConfig(url, command, revision, timeout, prefix, scheme, _open_headers(table))


def _open_headers(table: Table) -> Headers:
    """Headers that go with every request and are no secret."""
    headers = _headers_table(table, "a text")
    for name, value in headers.data.items():
        if name.lower() in SECRET_HEADERS or value.startswith("env:"):
            raise ConfigError(
                f"{headers.where(name)}: would be shown in reports; allowed: what is no secret, "
                "credentials belong into auth.headers"
            )
        header_value(name, value, headers.where(name))
    return tuple(headers.data.items())


def _headers(table: Table) -> tuple[tuple[str, Secret], ...]:
    headers = _headers_table(table, 'a text, or "env:VARIABLE"')
    return tuple(
        (name, header_value(name, value, headers.where(name))) for name, value in headers.data.items()
    )


def _headers_table(table: Table, allowed: str) -> Table:
    headers = table.table("headers", list(table.data.get("headers") or ()))
    names_once(list(headers.data), headers.where(""))
    for name, value in headers.data.items():
        if not isinstance(value, str):
            headers.refuse(name, value, allowed)
    return headers


def _sigv4(table: Table, headers: tuple[tuple[str, Secret], ...]) -> SigV4 | None:
    if "sigv4" not in table.data:
        return None
    given = table.table("sigv4", ("service", "region"))
    signer = SigV4(given.needed("service"), given.needed("region"))
    if any(name.lower() == "authorization" for name, _ in headers):
        raise ConfigError(f"{given.where('')}: makes Authorization; allowed: without headers.Authorization")
    if importlib.util.find_spec("botocore") is None:
        raise ConfigError(f"{given.where('')}: needs botocore; pip install rap-conformance[sigv4]")
    return signer


def _file(table: Table, name: str, folder: Path) -> Path | None:
    text = table.text(name, "the path of a PEM file")
    return None if text is None else folder / Path(text).expanduser()


def _auth(table: Table, folder: Path) -> Auth:
    headers = _headers(table)
    auth = Auth(
        headers=headers,
        client_cert=_file(table, "client_cert", folder),
        client_key=_file(table, "client_key", folder),
        ca_bundle=_file(table, "ca_bundle", folder),
        sigv4=_sigv4(table, headers),
    )
    if auth.client_key and not auth.client_cert:
        table.missing("client_cert", "the certificate that client_key belongs to")
    for name in ("client_cert", "client_key", "ca_bundle"):
        path = getattr(auth, name)
        try:
            if path and not (name == "ca_bundle" and path.is_dir()):
                path.open("rb").close()
        except OSError as error:
            raise ConfigError(
                f"{table.where(name)}: got {plain(str(path))} ({error.strerror}); allowed: a PEM file"
            ) from error
    try:
        auth.tls(certificate=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise ConfigError(
            f"{table.where('')}: TLS refuses client_cert, client_key or ca_bundle ({plain(str(reason))}); "
            "allowed: PEM files that belong together, the key without a password"
        ) from error
    return auth


def _identities(table: Table, folder: Path) -> Auth:
    origins = []
    for number, origin in enumerate(table.items("origins", "an array of origins, http(s)://host[:port]")):
        if not isinstance(origin, str):
            table.refuse(f"origins[{number}]", origin, "an origin, http(s)://host[:port]")
        origins.append(check_origin(origin, table.where(f"origins[{number}]")))
    other = None
    if "other" in table.data:
        given = table.table("other", _IDENTITY)
        other = _auth(given, folder)
        if not other.given:
            given.missing("headers", "credentials of a second identity: headers, client_cert or sigv4")
    return dataclasses.replace(_auth(table, folder), origins=tuple(origins), other=other)


def _timing(table: Table) -> Timing:
    return Timing(
        grace=table.number("grace", Timing().grace, 0, 3600),
        race_window=table.number("race_window", Timing().race_window, 0, 600),
        arrival_slack=table.number("arrival_slack", Timing().arrival_slack, 0, 60),
    )


def _scenario(table: Table, slack: float) -> ScenarioConfig:
    setup = []
    for number, item in enumerate(table.items("setup", "an array of { operation, arguments }")):
        call = Table(item, table.path(f"setup[{number}]"), table.origin, _CALL)
        setup.append(Invocation(call.needed("operation"), call.json_object("arguments")))
    seconds = None
    if table.key.endswith(".pending"):
        if "seconds" not in table.data:
            table.missing("seconds", "how long the call stays pending")
        seconds = table.number("seconds", 0, max(8 * slack, 0.1), 3600)
    trigger = table.text("trigger", "a command line")
    return ScenarioConfig(
        operation=table.needed("operation"),
        arguments=table.json_object("arguments"),
        seconds=seconds,
        setup=tuple(setup),
        final_arguments=table.json_object("final_arguments") if "final_arguments" in table.data else None,
        trigger=None if trigger is None else check_command(trigger, table.where("trigger")),
    )


def parse(data: object, origin: str, folder: Path = Path()) -> Config:
    """The configuration that a parsed TOML document holds.

    `origin` is how messages name it, `folder` where relative paths in it
    start. Raises ConfigError.
    """
    root = Table(data, "", plain(origin), (*KEYS, *_OTHERS))

    def table(of: Table, keys: Keys, name: str, *, secret: bool = False) -> Table:
        return of.table(name, tuple(keys[name] or ()), secret=secret)

    features = table(root, KEYS, "features")
    timing = _timing(table(root, KEYS, "timing"))
    scenarios = table(root, KEYS, "scenario")
    server = _server(table(root, KEYS, "server"))
    auth = _identities(table(root, KEYS, "auth", secret=True), folder)
    given = {name.lower() for each in (auth, auth.other) if each for name, _ in each.headers}
    if twice := next((name for name, _ in server.headers if name.lower() in given), None):
        raise ConfigError(f"{root.where('server.headers')}: got {twice}, which is in auth.headers, too")
    return Config(
        server=server,
        features={name: features.flag(name) for name in features.data},
        auth=auth,
        timing=timing,
        scenarios={
            name: _scenario(table(scenarios, KEYS["scenario"] or {}, name), timing.arrival_slack)
            for name in scenarios.data
        },
    )


def from_document(document: Document) -> Config:
    """The configuration in a file's document. Raises ConfigError."""
    return parse(document.data, document.origin, document.folder)


def load_file(path: Path) -> Config:
    """The configuration in a file. Raises ConfigError, also for a file that cannot be read."""
    return from_document(read(path))
