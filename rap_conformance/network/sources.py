"""Which environment variable each secret of ours is read from, and how a forged one is made of the right one.

A report never shows a secret, and what it prints to be pasted is to work: so of each secret that a request
carried it is kept of what it can be made again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from rap_conformance.engine.evidence import Headers, Hidden, Piece
from rap_conformance.engine.inputs import Secret
from rap_conformance.network.redaction import SHORTEST

_SCHEMED = frozenset({"authorization", "proxy-authorization"})
"""Headers whose value begins with a word that is no secret."""
OURS = "rapc-"
"""What stands in every credential that is wholly our own invention, and so no secret."""


@dataclass(frozen=True, slots=True)
class _Known:
    name: str
    value: str
    variable: str
    holds: str

    @property
    def token(self) -> str:
        """What in it is secret."""
        _, space, token = self.value.partition(" ") if self.name in _SCHEMED else ("", "", "")
        return token if space else self.value


class Sources:
    """The secrets that a session was given, and the variables to read them from."""

    def __init__(self) -> None:
        self._known: list[_Known] = []

    def learn(self, name: str, value: str, variable: str = "") -> None:
        """The header `name` has this value, which was read from `variable`; from none: a name is made up."""
        holds = ""
        if not variable:
            taken = {each.variable for each in self._known}
            made = placeholder(name)
            variable = next(v for n in range(1, 99) if (v := made if n == 1 else f"{made}_{n}") not in taken)
            holds = f"the whole value of the header {name}"
        self._known.append(_Known(name.lower(), value, variable, holds))

    def hidden(self, sent: Headers, shown: Headers, url: str, shown_url: str) -> tuple[Hidden, ...]:
        """How to make again what of a request is not shown."""
        found = [
            self._header(where, name, value)
            for where, ((name, value), (_, mask)) in enumerate(zip(sent, shown, strict=True))
            if value != mask
        ]
        if url != shown_url:
            found.append(self._inside(url))
        return tuple(found)

    def _header(self, where: int, name: str, value: str) -> Hidden:
        mine = [each for each in self._known if each.name == name.lower()]
        for each in mine:
            if each.value == value:
                return Hidden(where, (Piece(each.variable),), each.holds)
        for each in mine:
            parts = made_of(each.value, value, each.variable, each.name in _SCHEMED)
            if parts is not None and not self._told_by(parts):
                return Hidden(where, parts, each.holds)
        if OURS in value and not mine:
            return Hidden(where, (value,))
        made_up = placeholder(f"forged-{name}")
        return Hidden(where, (Piece(made_up),), f"the value that the header {name} is to have here")

    def _told_by(self, parts: tuple[str | Piece, ...]) -> bool:
        """Whether texts tell something about any secret that is known."""
        texts = [part for part in parts if isinstance(part, str)]
        return any(_alike(text, each.token) for text in texts for each in self._known)

    def _inside(self, text: str) -> Hidden:
        """A text, such as a URL, with whole secrets in it."""
        secrets: dict[str, tuple[Piece, str]] = {}
        for each in self._known:
            for part in Secret(each.value).parts():
                at = each.value.index(part) + 1
                secrets[part] = Piece(each.variable, at, at + len(part) - 1), each.holds
            secrets[each.token] = Piece(each.variable, token=each.token != each.value), each.holds
            secrets[each.value] = Piece(each.variable), each.holds
        held, parts = "", list[str | Piece]()
        long = [secret for secret in secrets if len(secret) >= SHORTEST]
        pattern = "|".join(re.escape(secret) for secret in sorted(long, key=len, reverse=True))
        for text_or_secret in re.split(f"({pattern})", text) if pattern else [text]:
            if text_or_secret in secrets:
                piece, holds = secrets[text_or_secret]
                held = held or holds
                parts.append(piece)
            elif text_or_secret:
                parts.append(text_or_secret)
        if self._told_by(tuple(parts)) or all(isinstance(part, str) for part in parts):
            return Hidden(-1, (Piece("RAP_SECRET"),), "what is hidden in the report")
        return Hidden(-1, tuple(parts), held)


def placeholder(name: str) -> str:
    """The variable for a header's value that was given literally."""
    if name.lower() == "authorization":
        return "RAP_TOKEN"
    return "RAP_" + re.sub(r"[^A-Z0-9]", "_", name.upper())


@lru_cache(maxsize=256)
def made_of(secret: str, forged: str, variable: str, schemed: bool) -> tuple[str | Piece, ...] | None:
    """A forged credential as pieces of the right one and texts of our own; None if that would tell too much.

    `schemed`: what stands before the first space is no secret.
    """
    scheme, space, token = secret.partition(" ") if schemed else ("", "", secret)
    token = token if space else secret
    foreign, between, rest = forged.partition(" ") if space else ("", "", forged)
    if space and not between and foreign != scheme:  # the token without a scheme
        foreign, rest = "", forged
    elif space and _alike(foreign, token):
        return None
    front = foreign + between

    def piece(first: int = 1, last: int = 0, *, swapped: bool = False) -> Piece:
        return Piece(variable, first, last, bool(space), swapped)

    if not rest:
        return (front,) if front else ("",)
    if rest == token.swapcase() and rest != token:
        return tuple(filter(None, (front, piece(swapped=True))))
    if OURS in rest and OURS not in token and not _alike(rest, token):
        return (front + rest,)
    if (at := rest.find(token)) >= 0:
        return tuple(filter(None, (front + rest[:at], piece(), rest[at + len(token) :])))
    short = min(len(rest), len(token))
    head = next((n for n in range(short) if rest[n] != token[n]), short)
    tail = next((n for n in range(short - head) if rest[-1 - n] != token[-1 - n]), short - head)
    middle, replaced = rest[head : len(rest) - tail], token[head : len(token) - tail]
    swapped = middle == replaced.swapcase()
    if _alike(middle, token) and not swapped:
        return None
    parts: list[str | Piece] = [front]
    parts += [piece(1, head)] if head else []
    parts += [piece(head + 1, len(token) - tail, swapped=True)] if swapped and middle else [middle]
    parts += [piece(len(token) - tail + 1)] if tail else []
    return tuple(filter(None, parts))


def _alike(text: str, token: str) -> bool:
    """Whether a text holds enough of a secret to tell something about it."""
    mine, theirs = text.casefold(), token.casefold()
    if len(mine) < 4:
        return bool(mine) and mine == theirs
    return any(mine[n : n + 4] in theirs for n in range(len(mine) - 3))
