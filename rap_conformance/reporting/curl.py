"""An exchange as a command that repeats it: POSIX shell, curl, nothing else.

The command is printable ASCII throughout, whatever was sent, so that it can be
shown and copied anywhere. Bodies that are not printable go through `printf`.
Recorded credentials are redacted; the command reads them from the variables that they were configured with.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from rap_conformance.engine.evidence import Exchange, Piece

BODY_LIMIT = 4096
"""Bytes of a body written out; a longer body is cut, with a comment that says so."""

IN_A_ROW = "-sSi -w '\\n'"
"""What curl prints where several answers follow each other."""
_ALWAYS = "--globoff --path-as-is --noproxy '*' --max-time 10"
_LEFT_OUT = frozenset({"content-length", "user-agent", "accept-encoding", "connection"})
_SIGNED = frozenset({"authorization", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token"})
_QUOTABLE = re.compile(r"[A-Za-z0-9 :;,./=@%+&?_-]*")
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


def _piece(piece: Piece) -> str:
    """What stands for a piece of a secret between double quotes."""
    whole = f"${{{piece.variable}#* }}" if piece.token else f"${piece.variable}"
    how = "" if piece.first == 1 and not piece.last else f" | cut -c{piece.first}-{piece.last or ''}"
    how += " | tr a-zA-Z A-Za-z" if piece.swapped else ""
    return f'$(printf %s "{whole}"{how})' if how else whole


def _made(parts: Sequence[str | Piece]) -> str:
    """A shell word of texts and pieces of secrets, in one pair of quotes where that can be."""
    if all(isinstance(part, Piece) or _QUOTABLE.fullmatch(part) for part in parts):
        inside = [_braced(part, after) for part, after in zip(parts, (*parts[1:], ""), strict=True)]
        return f'"{"".join(inside)}"'
    return "".join(f'"{_piece(part)}"' if isinstance(part, Piece) else _word(part) for part in parts if part)


def _braced(part: str | Piece, after: str | Piece) -> str:
    shown = part if isinstance(part, str) else _piece(part)
    # "$NAME0" would read another variable.
    if isinstance(part, Piece) and shown == f"${part.variable}" and after and isinstance(after, str):
        return f"${{{part.variable}}}"
    return shown


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
    hidden = {each.where: each.parts for each in exchange.hidden}
    signed = any(name == "aws-sigv4" for name, _ in exchange.proof)
    words = []
    for where, (name, value) in enumerate(exchange.request_headers):
        key = name.lower()
        if key in _LEFT_OUT or (key == "host" and value.lower() == authority):
            continue
        if signed and key in _SIGNED:
            if key == "x-amz-security-token":
                words.append(f'-H "{name}: $AWS_SESSION_TOKEN"')
            continue
        if where not in hidden:
            words.append(_header(name, value))
        elif all(isinstance(part, str) for part in hidden[where]):
            words.append(_header(name, "".join(map(str, hidden[where]))))
        else:
            words.append(f"-H {_made((f'{name}: ', *hidden[where]))}")
    # What curl would add of itself is taken away.
    if "accept" not in there:
        words.append("-H Accept:")
    if sends and "content-type" not in there:
        words.append("-H Content-Type:")
    return words


def _proof(exchange: Exchange) -> list[str]:
    words = []
    for name, value in exchange.proof:
        words.append(f"--{name} {_word(value)}")
        if name == "aws-sigv4":
            words.append('--user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"')
    return words


def _url(exchange: Exchange) -> str:
    # What no URL may hold, curl refuses; clients encode it before it is sent.
    for each in exchange.hidden:
        if each.where < 0:
            return _made([part if isinstance(part, Piece) else _encoded(part) for part in each.parts])
    return _with_secrets(_encoded(exchange.url), "RAP_SECRET")


def _encoded(url: str) -> str:
    return quote(url, safe=_URL_SAFE, errors="surrogatepass")


def _repeated(body: bytes) -> list[str] | None:
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
    return parts


def _method(exchange: Exchange, sends: bool) -> str:
    # With -X HEAD curl would wait for a body that never comes.
    if exchange.method == "HEAD" and not sends:
        return "--head"
    return f"-X {_word(exchange.method)}"


def _data(body: bytes, sends: bool, piped: bool) -> tuple[str, list[str], list[str]]:
    """What comes before the command, its words for the body, and comments."""
    comments = []
    if len(body) > BODY_LIMIT and (commands := _repeated(body)):
        making = "{ " + "; ".join(commands) + "; }"
    else:
        if len(body) > BODY_LIMIT:
            comments.append(f"The body is cut: the first {BODY_LIMIT:,} of {len(body):,} bytes.")
            body = body[:BODY_LIMIT]
        if _printable(body):
            return "", [f"--data-raw {shlex.quote(body.decode('ascii'))}"] if sends else [], comments
        making = _printf(body)
    if piped:
        return f"{making} |\n", ["--data-binary @-"], comments
    if b"\0" in body or body.endswith(b"\n"):
        comments.append(
            "A shell cannot hand on the NUL bytes, or line feeds at the end, of one of the bodies."
        )
    return "", [f'--data-raw "$({making})"'], comments


def _request(exchange: Exchange, *, piped: bool = True, show: str = "-sSi") -> tuple[str, str, list[str]]:
    """What comes before a request's command, the command without `curl`, and comments."""
    body = exchange.request_body
    sends = bool(body) or exchange.method in {"POST", "PUT", "PATCH"}
    before, data, comments = _data(body, sends, piped)
    if exchange.inbound:
        comments.append("The peer under test sent this request to the suite, which is closed by now.")
    for each in exchange.hidden:
        names = [part.variable for part in each.parts if isinstance(part, Piece)]
        if each.holds and names:
            comments.append(f"{names[0]} has to hold {_plain(each.holds)}.")
    words = [f"{show} {_ALWAYS} {_method(exchange, sends)}", *_proof(exchange)]
    words += [*_headers(exchange, sends), *data, _url(exchange)]
    return before, " \\\n  ".join(words), comments


def _plain(text: str) -> str:
    return re.sub(r"[^ -~]", "?", text)


def _safe(command: str) -> str:
    # `##[` is a command to some build logs; every # here stands within single quotes.
    return re.sub("#(?=#)", "#''", command)


def commented(comments: Iterable[str]) -> str:
    """Comments, each once, on lines of their own."""
    return "".join(f"# {_plain(comment)}\n" for comment in dict.fromkeys(comments))


def curl(exchange: Exchange, *, show: str = "-sSi") -> str:
    """A command that repeats the request; of several lines, each safe to show and to paste.

    `show` are curl's options about what it prints.
    """
    before, command, comments = _request(exchange, show=show)
    return commented(comments) + _safe(f"{before}curl {command}")


def chained(exchanges: Sequence[Exchange]) -> str:
    """One command that makes several requests, in this order, on one connection."""
    said: list[str] = []
    commands = []
    ahead = ""
    for exchange in exchanges:
        before, command, comments = _request(exchange, piped=exchange is exchanges[-1], show=IN_A_ROW)
        ahead += before
        said += comments
        commands.append(command)
    return commented(said) + _safe(f"{ahead}curl " + " \\\n  --next ".join(commands))
