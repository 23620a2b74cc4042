"""The configuration of a run: frozen values, refused early and in one line.

Read from a TOML file of its own, from `[tool.rap-conformance]` in a
pyproject.toml, or from a dict. Every departure is a ConfigError whose message
is one line: the key, what it got, what is allowed. No credential appears in a
message. See README.md, "Configuration".
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rap_conformance.engine.inputs import (
    REDACTED,
    ConfigError,
    Secret,
    check_command,
    check_origin,
    check_url,
    header_value,
    names_once,
    parse_auth_header,
    parse_hostport,
    plain,
)
from rap_conformance.engine.toml_file import FILE_NAME, Document, Keys, find_default, read
from rap_conformance.engine.toml_table import Table
from rap_conformance.protocol.specification import DEFAULT_REVISION, REVISIONS

__all__ = [
    "FEATURES",
    "FILE_NAME",
    "REDACTED",
    "SCENARIOS",
    "Auth",
    "Config",
    "ConfigError",
    "Invocation",
    "ScenarioConfig",
    "Secret",
    "ServerConfig",
    "SigV4",
    "Timing",
    "check_url",
    "find_default",
    "load_file",
    "parse",
    "parse_auth_header",
    "parse_hostport",
    "redacted",
]

FEATURES = ("status", "subscription", "choice", "oauth", "view", "migration")
SCENARIOS = ("quick", "pending", "subscription", "choice", "oauth", "view")
_IDENTITY = ("headers", "client_cert", "client_key", "ca_bundle", "sigv4")
_CALL = ("operation", "arguments")
_MORE = {"pending": ("seconds",), "subscription": ("final_arguments", "trigger")}
_PREFIX = "a path such as /rap"


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """The target: a URL or a command, never both; `request_timeout` in seconds.

    `prefix` is the path, such as "/rap", under which a server that `command` starts answers.
    """

    url: str | None = None
    command: str | None = None
    revision: str = DEFAULT_REVISION
    request_timeout: float = 10.0
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class SigV4:
    """AWS Signature Version 4; the credentials come from the usual AWS sources."""

    service: str
    region: str


@dataclass(frozen=True, slots=True)
class Auth:
    """One identity. `origins` may be sent credentials besides the target's own; `none`: a trusted network."""

    headers: tuple[tuple[str, Secret], ...] = ()
    client_cert: Path | None = None
    client_key: Path | None = None
    ca_bundle: Path | None = None
    sigv4: SigV4 | None = None
    origins: tuple[str, ...] = ()
    other: Auth | None = None
    none: bool = False

    @property
    def given(self) -> bool:
        """Whether there are credentials that a request could be sent without."""
        return bool(self.headers or self.client_cert or self.sigv4)

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """The files of client_cert, client_key and ca_bundle, by curl's names for them."""
        bundle = "capath" if self.ca_bundle and self.ca_bundle.is_dir() else "cacert"
        named = (("cert", self.client_cert), ("key", self.client_key), (bundle, self.ca_bundle))
        return tuple((name, str(path)) for name, path in named if path)

    def tls(self) -> ssl.SSLContext | None:
        """The TLS context of client_cert, client_key and ca_bundle; None where none of them is set.

        Raises OSError (ssl.SSLError is one) if a file is absent or not what it should be.
        """
        if not self.client_cert and not self.ca_bundle:
            return None
        bundle = self.ca_bundle
        context = ssl.create_default_context(
            cafile=bundle if bundle and not bundle.is_dir() else None,
            capath=bundle if bundle and bundle.is_dir() else None,
        )
        if self.client_cert:
            # Without a password OpenSSL would ask at the terminal for that of an encrypted key.
            context.load_cert_chain(self.client_cert, self.client_key, password="")
        return context


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds: to settle after an end; a callback in flight after `false`; the edge around a delivery."""

    grace: float = 30.0
    race_window: float = 5.0
    arrival_slack: float = 0.25


@dataclass(frozen=True, slots=True)
class Invocation:
    """An operation and its arguments, JSON all through."""

    operation: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScenarioConfig:
    """A tool for one kind of check. `setup` is called first, in the same thread.

    `seconds` (pending) is how long the call stays pending; `final_arguments`
    (subscription) make it end by itself; `trigger` (subscription) is a command
    that causes an event.
    """

    operation: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    setup: tuple[Invocation, ...] = ()
    final_arguments: Mapping[str, Any] | None = None
    trigger: str | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """All that a configuration file can say. What is not in `features` is found out."""

    server: ServerConfig = field(default_factory=ServerConfig)
    features: Mapping[str, bool] = field(default_factory=dict)
    auth: Auth = field(default_factory=Auth)
    timing: Timing = field(default_factory=Timing)
    scenarios: Mapping[str, ScenarioConfig] = field(default_factory=dict)

    def with_target(self, url: str | None = None, command: str | None = None) -> Config:
        """The same with another target, from the command line; None means not given.

        Raises ConfigError for both at once, for an empty one and for what is no URL or command.
        """
        if url is not None and command is not None:
            raise ConfigError("--server-url: not together with --server-cmd; give one of them")
        if url is not None:
            server = dataclasses.replace(
                self.server, url=check_url(url, "--server-url"), command=None, prefix=""
            )
        elif command is not None:
            server = dataclasses.replace(
                self.server, url=None, command=check_command(command, "--server-cmd")
            )
        else:
            return self
        return dataclasses.replace(self, server=server)

    def with_auth(self, headers: Sequence[tuple[str, Secret]] = (), *, none: bool = False) -> Config:
        """The same with headers of the command line, which replace those of the same name, or without any.

        Raises ConfigError for a name given twice, and for credentials together with `none`.
        """
        names = names_once([name for name, _ in headers], "--auth-header")
        kept = tuple(item for item in self.auth.headers if item[0].lower() not in names)
        auth = dataclasses.replace(self.auth, headers=kept + tuple(headers), none=none)
        if none and (auth.given or auth.other):
            raise ConfigError("--no-auth: not together with credentials ([auth] in the file, --auth-header)")
        if auth.sigv4 and "authorization" in names:
            raise ConfigError("--auth-header: Authorization is what auth.sigv4 makes; give one of them")
        return dataclasses.replace(self, auth=auth)

    def secrets(self) -> tuple[str, ...]:
        """All texts that must be taken out of whatever is shown, the longest first."""
        identities = [self.auth] + ([self.auth.other] if self.auth.other else [])
        values = {part for auth in identities for _, secret in auth.headers for part in secret.parts()}
        return tuple(sorted((value for value in values if len(value) >= 4), key=lambda v: (-len(v), v)))


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
        check_command(command, table.where("command"))
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
    return ServerConfig(url, command, revision, table.number("request_timeout", 10.0, 0.1, 600), prefix)


def _headers(table: Table) -> tuple[tuple[str, Secret], ...]:
    headers = table.table("headers", list(table.data.get("headers") or ()))
    names_once(list(headers.data), headers.where(""))
    for name, value in headers.data.items():
        if not isinstance(value, str):
            headers.refuse(name, value, 'a text, or "env:VARIABLE"')
    return tuple(
        (name, header_value(name, value, headers.where(name))) for name, value in headers.data.items()
    )


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
        auth.tls()
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
    return Config(
        server=_server(table(root, KEYS, "server")),
        features={name: features.flag(name) for name in features.data},
        auth=_identities(table(root, KEYS, "auth", secret=True), folder),
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


def redacted(config: Config) -> tuple[tuple[str, str], ...]:
    """The configuration in force as dotted keys and texts, for reports; no credential in it."""
    rows: list[tuple[str, str]] = []

    def walk(key: str, value: object) -> None:
        if value is None or value == ():
            return
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            for each in dataclasses.fields(value):
                walk(f"{key}.{each.name}" if key else each.name, getattr(value, each.name))
        elif key.endswith(".headers") and isinstance(value, tuple):
            rows.extend((f"{key}.{name}", REDACTED) for name, _ in value)
        elif key in {"features", "scenarios"} and isinstance(value, Mapping):
            for name, each in value.items():
                walk(f"{key.removesuffix('s') if key == 'scenarios' else key}.{name}", each)
        elif isinstance(value, tuple):
            for number, each in enumerate(value):
                walk(f"{key}[{number}]", each)
        else:
            text = json.dumps(value) if isinstance(value, Mapping | bool) else str(value)
            for secret in config.secrets():
                text = text.replace(secret, REDACTED)
            rows.append((key, plain(text)))

    walk("", config)
    return tuple(rows)
