"""The shortest text for a pattern, read as far as patterns of schemas usually go.

What is made is a guess: whoever uses it matches it. Conditions that look around are ignored; references to
groups and whatever else is rare are not understood.
"""

from __future__ import annotations

import re

_LONGEST = 10_000
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_MANY = re.compile(r"(?:(?P<none>[*?])|\+|\{(?!\})(?P<least>\d*)(?:,\d*)?\})[?+]?")
_OPENED = re.compile(r"\((?:\?(?:P?<\w+>|:|>|[aimsux-]+:|(?P<look><?[=!])))?")
_ESCAPED = re.compile(r"\\(?:x(?P<x>[0-9A-Fa-f]{2})|u(?P<u>[0-9A-Fa-f]{4})|(?P<one>\D))", re.DOTALL)
_OF_ESCAPES = {
    **dict.fromkeys("bBAZz", ""),
    **dict.fromkeys("wDS", "a"),
    **dict.fromkeys("sW", " "),
    "d": "0",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "f": "\f",
    "v": "\v",
}
_CHARACTERS = "a0A _-.b1B\u00e9" + "".join(map(chr, range(0x20, 0xD800)))
"""What the member of a class is taken from, the plainest first."""


class NotUnderstood(ValueError):
    """The pattern holds what is not read here, or asks for too long a text."""


def shortest(pattern: str, variant: int = 0) -> str:
    """The text; of each alternative the one that `variant` counts out. Raises NotUnderstood, or re.error."""
    reading = _Reading(pattern, variant)
    text = reading.alternatives()
    if reading.left:
        raise NotUnderstood
    return text


class _Reading:
    def __init__(self, pattern: str, variant: int) -> None:
        self._pattern, self._variant, self._at = pattern, variant, 0

    @property
    def left(self) -> str:
        """The next character, "" at the end."""
        return self._pattern[self._at : self._at + 1]

    def alternatives(self) -> str:
        """Up to the end of the group, or of the pattern."""
        found = [self._sequence()]
        while self.left == "|":
            self._at += 1
            found.append(self._sequence())
        return found[self._variant % len(found)]

    def _sequence(self) -> str:
        text = ""
        while self.left and self.left not in "|)":
            piece = self._piece()
            if many := self._taken(_MANY):
                times = 0 if many["none"] else int(many["least"] or 0) if many["least"] is not None else 1
                if times * len(piece) > _LONGEST:
                    raise NotUnderstood
                piece *= times
            text += piece
        return text

    def _taken(self, what: re.Pattern[str]) -> re.Match[str] | None:
        found = what.match(self._pattern, self._at)
        self._at = found.end() if found else self._at
        return found

    def _piece(self) -> str:
        if found := self._taken(_CLASS):
            member = re.search(found[0], _CHARACTERS)
            if member is None:
                raise NotUnderstood
            return member[0]
        if found := self._taken(_OPENED):
            inside = self.alternatives()
            if self.left != ")":
                raise NotUnderstood
            self._at += 1
            return "" if found["look"] else inside
        if found := self._taken(_ESCAPED):
            code = found["x"] or found["u"]
            return chr(int(code, 16)) if code else _OF_ESCAPES.get(found["one"], found["one"])
        one = self.left
        if one in "\\?*+[":
            raise NotUnderstood
        self._at += 1
        return {".": "a", "^": "", "$": ""}.get(one, one)
