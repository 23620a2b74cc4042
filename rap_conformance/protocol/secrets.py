"""Where the secrets are in the headers that identify a caller, and which texts are one and the same secret.

Specification: "Transport", section "Authentication" (any scheme); "Tool Call Status Check", section "Security
Considerations": a request must be authentic, whatever in it shows that. No I/O.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from rap_conformance.engine.evidence import Headers

_HEX = re.compile(r"[0-9a-fA-F]+")
_UUID = re.compile(r"\{?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\}?")
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/]")
_ROUTE = re.compile(r"(.{16,}?)([.!~][\w-]{1,12}(?:![\w-]*)?)", re.DOTALL)
"""A session's id with the name of the machine that holds it: servlet containers cut that off."""
_SIGNED = "AWS4-HMAC-SHA256"
_SIGNATURE = re.compile(r"(.*\bSignature=)([0-9a-f]+)(.*)", re.DOTALL)
_SECRET_NAME = re.compile(r"auth|key|token|secret|sess|sid|pass|jwt|credential", re.IGNORECASE)
_SHORT, _LONG = 8, 12
"""Characters from which on a text with such a name counts as a secret, or one that looks random."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A text in a header that may show who calls: `before` and `after` stand around the secret.

    `place` is a cookie's name, empty where the header holds one piece only.
    """

    header: str
    place: str
    before: str
    secret: str
    after: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from the other pieces of a request."""
        return self.header.lower(), self.place

    @property
    def title(self) -> str:
        """The piece in words."""
        return f"the cookie {self.place}" if self.place else self.header

    @property
    def scheme(self) -> str:
        """The word before the secret, as in `Bearer …`; empty without one."""
        return "" if self.place else self.before.strip()

    @property
    def signed(self) -> bool:
        """Whether the secret is a signature made for one request."""
        return self.before.startswith(_SIGNED)

    @property
    def basic(self) -> bytes | None:
        """User and password of basic credentials (RFC 7617), None for others."""
        if self.scheme.lower() != "basic":
            return None
        decoded = _base64(self.secret)
        return decoded if b":" in decoded else None

    def holding(self, secret: str) -> str:
        """The piece with another secret in it."""
        return f"{self.before}{secret}{self.after}"

    @property
    def text(self) -> str:
        """The piece as it is."""
        return self.holding(self.secret)

    @property
    def telling(self) -> bool:
        """Whether it looks like a secret, by its name or itself: a tenant, a language, a version does not."""
        if _SECRET_NAME.search(self.place or self.header):
            return len(self.secret) >= _SHORT
        words = re.split(r"[-_. ]", self.secret)
        named = all(word.isdigit() or word.isalpha() or not word for word in words)
        return len(self.secret) >= _LONG and not named


def pieces(headers: Headers) -> list[Piece]:
    """The pieces of all headers."""
    found: list[Piece] = []

    def keep(piece: Piece) -> str:
        found.append(piece)
        return piece.text

    rewritten(headers, keep)
    return found


def rewritten(headers: Headers, change: Callable[[Piece], str | None]) -> Headers:
    """The headers with each piece as `change` gives it; None leaves it out."""
    made: list[tuple[str, str]] = []
    for name, value in headers:
        parts = [change(piece) for piece in _pieces(name, value)]
        kept = [part for part in parts if part is not None]
        if kept or not parts:
            made.append((name, "; ".join(kept) if parts else value))
    return tuple(made)


def _pieces(name: str, value: str) -> Iterator[Piece]:
    if name.lower() == "cookie":
        for pair in filter(None, (pair.strip() for pair in value.split(";"))):
            place, equals, text = pair.partition("=")
            quoted = '"' if len(text) > 1 and text[0] == text[-1] == '"' else ""
            secret = text.strip('"') if quoted else text
            route = _ROUTE.fullmatch(secret)
            if route:
                secret = route[1]
            yield Piece(name, place, place + equals + quoted, secret, (route[2] if route else "") + quoted)
    elif name.lower().startswith("x-amz-"):
        return  # belongs to the signature beside it
    elif value.startswith(_SIGNED) and (match := _SIGNATURE.fullmatch(value)):
        yield Piece(name, "", match[1], match[2], match[3])
    else:
        scheme, space, token = value.partition(" ")
        yield Piece(name, "", scheme + space, token) if space else Piece(name, "", "", value)


def same(one: str, other: str) -> bool:
    """Whether two texts may well be the same secret, decoded leniently, as many servers do.

    Percent-encoding, quotes, the case of hex digits and UUIDs, what a base64 decoder passes over.
    """
    one, other = (unquote(text).strip(' "') for text in (one, other))
    return one == other or _caseless(one) == _caseless(other) or _segments(one) == _segments(other)


def _caseless(text: str) -> str:
    if _UUID.fullmatch(text):
        return text.strip("{}").replace("-", "").lower()
    return text.lower() if _HEX.fullmatch(text) else text


def _segments(text: str) -> object:
    """What base64 between dots (a token of three parts, for instance) decodes to, or else the text."""
    decoded = [_base64(part) for part in text.split(".")]
    return decoded if all(decoded) else text


def _base64(text: str) -> bytes:
    """Base64 of either alphabet, read as leniently as anybody does: to the padding, passing over the rest."""
    plain = _NOT_BASE64.sub("", text.partition("=")[0].translate(str.maketrans("-_", "+/")))
    plain = plain[: len(plain) - (len(plain) % 4 == 1)]
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4))
    except binascii.Error:
        return b""
