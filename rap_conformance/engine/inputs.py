"""What a person may write for a target, a credential or an address, and the error for all else.

Each function takes the `key` by which its message names the place: an option
or the path in a file. Nothing here reads a file or opens a socket; `env:NAME`
reads the environment.
"""

from __future__ import annotations

import ipaddress
import os
import re
import shlex
from collections.abc import Iterator
from typing import NoReturn
from urllib.parse import urlsplit

REDACTED = "<redacted>"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HOST = re.compile(r"[A-Za-z0-9._~-]+")
_OWN_HEADERS = frozenset(
    "accept accept-encoding connection content-length content-type host transfer-encoding user-agent".split()
)
_TYPES = {
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "a table",
}


class ConfigError(ValueError):
    """The configuration, or an option, cannot be used; the message is one line for a person."""


class Secret:
    """A text that no report, log or traceback may show; `reveal()` gives it to the wire alone.

    `variable` is the environment variable that it was read from, empty if from none.
    """

    __slots__ = ("__value", "variable")

    def __init__(self, value: str, variable: str = "") -> None:
        self.__value, self.variable = value, variable

    def reveal(self) -> str:
        """The text itself."""
        return self.__value

    def parts(self) -> Iterator[str]:
        """The whole, and what in it is secret by itself: the token after a scheme, the values of cookies."""
        yield self.__value
        if token := self.__value.partition(" ")[2].strip():
            yield token
        for pair in self.__value.split(";"):
            if value := pair.partition("=")[2].strip('= "'):
                yield value

    def __repr__(self) -> str:
        return REDACTED

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.reveal() == self.__value

    def __hash__(self) -> int:
        return hash(self.__value)


def kind(value: object) -> str:
    """What sort of value it is, in the words of TOML."""
    return _TYPES.get(type(value), f"a {type(value).__name__}")


def plain(text: str) -> str:
    """The text, or its ASCII form where it holds what a terminal should not get."""
    return text if text.isascii() and text.isprintable() else ascii(text)


def shown(value: object) -> str:
    """What was got, in one short line of ASCII."""
    try:
        text = ascii(value)
    except ValueError:  # an integer of more digits than Python writes out
        text = "a huge number"
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({kind(value)})"


def check_url(text: str, key: str = "url") -> str:
    """The http(s) URL without slashes at its end, scheme and host in lower case.

    Raises ConfigError if it is empty, not absolute, or holds a user, a query or a fragment.
    """

    def refuse(why: str) -> NoReturn:
        # What stands before an @ or after a ? may be a credential.
        got = "a URL with an @ (not shown)" if "@" in text else shown(re.sub(r"[?#].*", "?...", text))
        raise ConfigError(f"{key}: got {got}, {why}; allowed: http(s)://host[:port][/prefix]")

    if not text.strip():
        raise ConfigError(f"{key}: got nothing; allowed: http(s)://host[:port][/prefix]")
    if not text.isascii() or not text.isprintable() or set(text) & set(' \\"<>^`{|}'):
        refuse("which holds characters that a URL may not hold")
    if not re.match(r"https?://", text, re.IGNORECASE):
        refuse("which does not begin with http:// or https://")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
        ipv6 = ":" in host and bool(ipaddress.IPv6Address(host))
    except ValueError as error:
        refuse(f"which names no host and port: {error}")
    if "@" in parts.netloc:
        refuse("with a user or password in it (credentials belong into [auth] or --auth-header)")
    if not (ipv6 or _HOST.fullmatch(host)) or port == 0:
        refuse("which names no host and port one could connect to")
    if "?" in text or "#" in text:
        refuse("which has a query or a fragment")
    place = f"[{host}]" if ipv6 else host
    return f"{parts.scheme}://{place}{'' if port is None else f':{port}'}{parts.path.rstrip('/')}"


def check_origin(text: str, key: str) -> str:
    """The origin, without the port that its scheme implies. Raises ConfigError for a URL with a path too."""
    url = check_url(text, key)
    parts = urlsplit(url)
    if parts.path:
        raise ConfigError(f"{key}: got {shown(text)}; allowed: an origin, http(s)://host[:port], no path")
    standard = {"http": 80, "https": 443}[parts.scheme]
    return url.removesuffix(f":{standard}") if parts.port == standard else url


def check_command(text: str, key: str, *, port: bool = False) -> str:
    """The command line as given. Raises ConfigError if it is empty or its quotes are unbalanced.

    `port`: it has to say where the port goes, as `{port}`.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ConfigError(f"{key}: got {shown(text)}; allowed: a command line ({error})") from error
    if not words or "\0" in text:
        raise ConfigError(f"{key}: got {shown(text)}; allowed: a command line")
    if port and "{port}" not in text:
        raise ConfigError(
            f"{key}: got {shown(text)}; allowed: a command line with {{port}} in it, where the port goes "
            "that the suite picks; for a server at a port of its own give its URL"
        )
    return text


def parse_hostport(text: str, key: str) -> tuple[str, int]:
    """Host and port of HOST:PORT, an IPv6 host in brackets; port 0 means any free one. Raises ConfigError."""
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+)):([0-9]{1,5})", text)
    if match is None or int(match[3]) > 65535:
        raise ConfigError(
            f"{key}: got {shown(text)}; allowed: HOST:PORT or [IPv6]:PORT, PORT from 0 to 65535"
        )
    return match[1] or match[2], int(match[3])


def parse_auth_header(text: str, key: str = "--auth-header") -> tuple[str, Secret]:
    """Name and value of "Name: value"; the value `env:NAME` reads the environment. Raises ConfigError."""
    name, colon, value = text.partition(":")
    if not colon or not _TOKEN.fullmatch(name):
        raise ConfigError(
            f'{key}: got something else (not shown); allowed: "Name: value" or "Name: env:VARIABLE"'
        )
    return name, header_value(name, value.strip(" \t"), key)


def header_value(name: str, value: str, key: str) -> Secret:
    """The value of a header that carries a credential, read from the environment if it says so.

    Raises ConfigError, which never shows the value.
    """
    if not _TOKEN.fullmatch(name):
        raise ConfigError(f"{key}: got the name {shown(name)}; allowed: a header's name")
    if name.lower() in _OWN_HEADERS:
        raise ConfigError(f"{key}: got {name}, which the suite sets itself; allowed: a credential's header")
    source, variable = "a value (not shown)", ""
    if value.startswith("env:"):
        variable = value.removeprefix("env:")
        if not _VARIABLE.fullmatch(variable) or variable not in os.environ:
            raise ConfigError(
                f"{key}: got env:{plain(variable)}, which is not set; allowed: a variable that is"
            )
        source, value = f"env:{variable}", os.environ[variable]
    elif re.search(r"\senv:[A-Za-z_]", value):
        raise ConfigError(f'{key}: got env: inside a value; allowed: "env:VARIABLE" alone, holding all of it')
    if not value.strip():
        raise ConfigError(f"{key}: got {source}, which is empty; allowed: a text")
    if not value.isascii() or not value.replace("\t", " ").isprintable() or value != value.strip():
        raise ConfigError(
            f"{key}: got {source} with a line break, another control character, a letter beyond ASCII "
            "or a blank at an end; allowed: printable ASCII"
        )
    return Secret(value, variable)


def names_once(names: list[str], key: str) -> set[str]:
    """The headers' names in lower case. Raises ConfigError if one is there twice."""
    lower = [name.lower() for name in names]
    if twice := next((name for name in names if lower.count(name.lower()) > 1), None):
        raise ConfigError(f"{key}: got {twice} twice; allowed: each header once")
    return set(lower)
