"""An exchange as a command that repeats it: POSIX shell, curl, nothing else.

The command is printable ASCII throughout, whatever was sent, so that it can be
shown and copied anywhere. Bodies that are not printable go through `printf`.
Recorded credentials are redacted; the command reads them from the environment.
"""

from __future__ import annotations

import re
import shlex
from urllib.parse import quote

from rap_conformance.engine.evidence import Exchange

BODY_LIMIT = 4096
"""Bytes of a body written out; a longer body is cut, with a comment that says so."""

_CURL = "curl -sSi --globoff --path-as-is --noproxy '*' --max-time 10"
_LEFT_OUT = frozenset({"content-length", "user-agent", "accept-encoding", "connection"})
_URL_SAFE = "".join(chr(n) for n in range(0x21, 0x7F))
_REDACTED = re.compile(r"<redacted[^<>]*>")
_RUN = re.compile(rb"(.)\1{63,}", re.DOTALL)


def _printable(data: bytes) -> bool:
    return all(0x20 <= byte <= 0x7E for byte in data)


def _printf(data: bytes) -> str:
    """A printf command for exactly these bytes."""
    out = []
    for position, byte in enumerate(data):
        if byte == 0x25:
            out.append("%%")
        elif byte == 0x5C:
            out.append("\\\\")
        # A format that starts with a hyphen would be taken for an option.
        elif not 0x20 <= byte <= 0x7E or byte == 0x27 or (byte == 0x2D and position == 0):
            out.append(f"\\{byte:03o}")
        else:
            out.append(chr(byte))
    return f"printf '{''.join(out)}'"


def _word(value: str) -> str:
    """One shell word for this text; what is not printable goes through printf."""
    data = value.encode("utf-8", "surrogatepass")
    return shlex.quote(value) if _printable(data) else f'"$({_printf(data)})"'


def _with_secrets(value: str, variable: str) -> str:
    """A shell word in which redacted parts are read from the environment."""
    literals = _REDACTED.split(value)
    return f'"${variable}"'.join(_word(part) if part else "" for part in literals) or "''"


def _header(name: str, value: str) -> str:
    if not value:
        return f"-H {_word(name + ';')}"
    variable = "RAP_" + re.sub(r"[^A-Z0-9]", "_", name.upper())
    if name.lower() == "authorization":
        variable = "RAP_TOKEN"
    return f"-H {_with_secrets(f'{name}: {value}', variable)}"


def _headers(exchange: Exchange, sends: bool) -> list[str]:
    there = {name.lower() for name, _ in exchange.request_headers}
    authority = exchange.url.partition("://")[2].partition("/")[0].lower()
    words = []
    for name, value in exchange.request_headers:
        key = name.lower()
        if key in _LEFT_OUT or (key == "host" and value.lower() == authority):
            continue
        words.append(_header(name, value))
    # What curl would add of itself is taken away.
    if "accept" not in there:
        words.append("-H Accept:")
    if sends and "content-type" not in there:
        words.append("-H Content-Type:")
    return words


def _repeated(body: bytes) -> str | None:
    """Shell commands for a long body that is short but for repeated bytes, or None."""
    parts, at, written = [], 0, 0
    for run in _RUN.finditer(body):
        literal = body[at : run.start()]
        written += len(literal) + 64
        if literal:
            parts.append(_printf(literal))
        parts.append(f"printf '%{len(run[0])}s' '' | LC_ALL=C tr ' ' '\\{run[1][0]:03o}'")
        at = run.end()
        if written > BODY_LIMIT:
            return None
    if written + len(body) - at > BODY_LIMIT:
        return None
    if at < len(body):
        parts.append(_printf(body[at:]))
    return "{ " + "; ".join(parts) + "; } |\n"


def _method(exchange: Exchange, sends: bool) -> str:
    # With -X HEAD curl would wait for a body that never comes.
    if exchange.method == "HEAD" and not sends:
        return "--head"
    return f"-X {_word(exchange.method)}"


def curl(exchange: Exchange) -> str:
    """A command that repeats the request; of several lines, each safe to show and to paste."""
    body, before, comments = exchange.request_body, "", ""
    if exchange.inbound:
        comments += "# The peer under test sent this request to the suite, which is closed by now.\n"
    sends = bool(body) or exchange.method in {"POST", "PUT", "PATCH"}
    data = []
    if len(body) > BODY_LIMIT and (repeated := _repeated(body)):
        before, data = repeated, ["--data-binary @-"]
    else:
        if len(body) > BODY_LIMIT:
            comments += f"# The body is cut: the first {BODY_LIMIT:,} of {len(body):,} bytes.\n"
            body = body[:BODY_LIMIT]
        if not _printable(body):
            before, data = f"{_printf(body)} |\n", ["--data-binary @-"]
        elif sends:
            data = [f"--data-raw {shlex.quote(body.decode('ascii'))}"]
    first = f"{_CURL} {_method(exchange, sends)}"
    # What no URL may hold, curl refuses; clients encode it before it is sent.
    encoded = quote(exchange.url, safe=_URL_SAFE, errors="surrogatepass")
    url = _with_secrets(encoded, "RAP_SECRET")
    command = before + " \\\n  ".join([first, *_headers(exchange, sends), *data, url])
    # `##[` is a command to some build logs; every # here stands within single quotes.
    return comments + re.sub("#(?=#)", "#''", command)
