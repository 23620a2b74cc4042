"""The configuration of a run: frozen values. `config_file` reads them; no credential is shown in any.

See README.md, "Configuration".
"""

from __future__ import annotations

import dataclasses
import json
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rap_conformance.engine.evidence import Headers
from rap_conformance.engine.inputs import (
    REDACTED,
    ConfigError,
    Secret,
    check_command,
    check_url,
    names_once,
    plain,
)
from rap_conformance.protocol.specification import DEFAULT_REVISION


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """The target: a URL or a command, never both; `request_timeout` in seconds.

    `prefix` is the path, such as "/rap", under which a server that `command` starts answers, `scheme` is
    how. `headers` go with every request: they are no secret, and reports show them.
    """

    url: str | None = None
    command: str | None = None
    revision: str = DEFAULT_REVISION
    request_timeout: float = 10.0
    prefix: str = ""
    scheme: str = "http"
    headers: Headers = ()


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
        """The files of client_cert and client_key, by curl's names for them."""
        named = (("cert", self.client_cert), ("key", self.client_key))
        return tuple((name, str(path)) for name, path in named if path)

    @property
    def bundle(self) -> tuple[tuple[str, str], ...]:
        """The file, or folder, of ca_bundle, by curl's name for it."""
        name = "capath" if self.ca_bundle and self.ca_bundle.is_dir() else "cacert"
        return ((name, str(self.ca_bundle)),) if self.ca_bundle else ()

    def tls(self, *, certificate: bool) -> ssl.SSLContext | None:
        """The TLS context of ca_bundle, and of client_cert if `certificate`; None where that is nothing.

        Raises OSError (ssl.SSLError is one) if a file is absent or not what it should be.
        """
        if not (certificate and self.client_cert) and not self.ca_bundle:
            return None
        bundle = self.ca_bundle
        context = ssl.create_default_context(
            cafile=bundle if bundle and not bundle.is_dir() else None,
            capath=bundle if bundle and bundle.is_dir() else None,
        )
        if certificate and self.client_cert:
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
                self.server, url=check_url(url, "--server-url"), command=None, prefix="", scheme="http"
            )
        elif command is not None:
            server = dataclasses.replace(
                self.server, url=None, command=check_command(command, "--server-cmd", port=True)
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
        if open_to_all := next((n for n, _ in self.server.headers if n.lower() in names), None):
            raise ConfigError(f"--auth-header: {open_to_all} is in server.headers, too; give one of them")
        return dataclasses.replace(self, auth=auth)

    def secrets(self) -> tuple[str, ...]:
        """All texts that must be taken out of whatever is shown, the longest first."""
        identities = [self.auth] + ([self.auth.other] if self.auth.other else [])
        values = {part for auth in identities for _, secret in auth.headers for part in secret.parts()}
        return tuple(sorted((value for value in values if len(value) >= 4), key=lambda v: (-len(v), v)))


def redacted(config: Config) -> tuple[tuple[str, str], ...]:
    """The configuration in force as dotted keys and texts, for reports; no credential in it."""
    rows: list[tuple[str, str]] = []

    def walk(key: str, value: object) -> None:
        if value is None or value == ():
            return
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            for each in dataclasses.fields(value):
                walk(f"{key}.{each.name}" if key else each.name, getattr(value, each.name))
        elif key == "server.headers" and isinstance(value, tuple):
            rows.extend((f"{key}.{name}", plain(text)) for name, text in value)
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
