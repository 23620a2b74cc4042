"""The role "tool server under test": how what was given becomes a session with it."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from rap_conformance.engine.inputs import ConfigError, check_url, parse_auth_header, parse_hostport
from rap_conformance.engine.role import Given, Role, Settings
from rap_conformance.engine.toml_file import Document
from rap_conformance.places import in_checkout
from rap_conformance.server.config import Config
from rap_conformance.server.config_file import KEYS, from_document
from rap_conformance.server.embedded import embedded_config
from rap_conformance.server.options import INVOKE, ServerOptions
from rap_conformance.server.peer import Peer
from rap_conformance.server.preflight import begin
from rap_conformance.server.preview import preview
from rap_conformance.server.session import ServerSession


def read(given: Given, document: Document | None) -> Settings:
    """Check what was given. Raises ConfigError, one line."""
    config, embedded = _target(given, document)
    headers = [parse_auth_header(text) for text in given["rap_auth_header"]]
    if headers or given["rap_no_auth"]:
        config = config.with_auth(headers, none=given["rap_no_auth"])
    invoke, bind, callback = (given[f"rap_{name}"] for name in ("invoke", "callback_bind", "callback_url"))
    if invoke is not None and invoke not in INVOKE:
        raise ConfigError(f"--invoke: got {invoke[:80]!a}; allowed are {', '.join(INVOKE)}")
    options = ServerOptions(
        invoke=invoke or "",
        callback_bind=parse_hostport(bind, "--callback-bind") if bind is not None else ("127.0.0.1", 0),
        callback_url=check_url(callback, "--callback-url") if callback is not None else None,
        embedded=embedded,
        literal=next((name for name, value in _named(given) if not value.startswith("env:")), ""),
    )
    return Settings(
        session=lambda common: ServerSession(config, options, common),
        revision=config.server.revision,
        address=config.server.url or config.server.command or "",
        gentle=not on_loopback(config),
    )


def _named(given: Given) -> list[tuple[str, str]]:
    """Headers as they were typed, names and values."""
    typed = (text.partition(":") for text in given["rap_auth_header"])
    return [(name, value.strip()) for name, _, value in typed]


def _target(given: Given, document: Document | None) -> tuple[Config, bool]:
    """The configuration with its target, and whether that is the embedded server."""
    url, command = given["rap_server_url"], given["rap_server_cmd"]
    config = from_document(document) if document is not None else Config()
    if url is not None or command is not None:
        config = config.with_target(url=url, command=command)
    if config.server.url is not None or config.server.command is not None:
        return config, False
    if not in_checkout():
        raise ConfigError(
            "no target: give --server-url URL or --server-cmd CMD, or server.url in a --config file"
        )
    if document is not None:
        raise ConfigError(
            "--config: it names no target; give server.url or server.command in it, or --server-url"
        )
    return embedded_config(), True


def on_loopback(config: Config) -> bool:
    """Whether the target is on this machine."""
    if config.server.command is not None:
        return True
    host = urlsplit(config.server.url or "").hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


SERVER = Role(
    name="server",
    folder="server",
    title="tool server",
    target=("rap_server_url", "rap_server_cmd"),
    keys=KEYS,
    read=read,
    begin=begin,
    peer=Peer,
    preview=preview,
)
