"""One table of a TOML file, read key by key, with a ConfigError that names the path of what is wrong."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from rap_conformance.engine.inputs import ConfigError, kind, shown

_TEXT = "a text that is not empty"


class Table:
    """A table whose keys are known; one that nobody knows is refused at once.

    `key` is its path in the file, `origin` the file's name, and a `secret` table
    tells only the type of what it got, since it may hold credentials.
    """

    def __init__(
        self, data: object, key: str, origin: str, known: Sequence[str], *, secret: bool = False
    ) -> None:
        self.key, self.origin, self.secret = key, origin, secret
        if not isinstance(data, dict):
            self.refuse("", data, "a table")
        self.data: dict[str, Any] = data
        for name in data:
            if name not in known:
                near = difflib.get_close_matches(str(name), known, 1)
                hint = f"did you mean {near[0]}? " if near else ""
                raise ConfigError(f"{self.where(name)}: is unknown; {hint}allowed: {', '.join(known)}")

    def path(self, name: str) -> str:
        """The dotted path of a key, as the file would write it."""
        part = name if re.fullmatch(r"[\w.\[\]-]*", name, re.ASCII) else ascii(name)
        return ".".join(filter(None, (self.key, part)))

    def where(self, name: str) -> str:
        """Origin and path: what a message begins with."""
        return ": ".join(filter(None, (self.origin, self.path(name))))

    def refuse(self, name: str, got: object, allowed: str) -> NoReturn:
        """Raise the ConfigError for what a key got."""
        raise ConfigError(
            f"{self.where(name)}: got {kind(got) if self.secret else shown(got)}; allowed: {allowed}"
        )

    def missing(self, name: str, allowed: str) -> NoReturn:
        """Raise the ConfigError for a key that must be there."""
        raise ConfigError(f"{self.where(name)}: is missing; allowed: {allowed}")

    def table(self, name: str, known: Sequence[str], *, secret: bool = False) -> Table:
        """The table under a key, an empty one where the key is absent."""
        return Table(
            self.data.get(name, {}), self.path(name), self.origin, known, secret=secret or self.secret
        )

    def text(self, name: str, allowed: str = _TEXT) -> str | None:
        """The text under a key, None where the key is absent."""
        value = self.data.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip() or "\0" in value:
            self.refuse(name, value, allowed)
        return value

    def needed(self, name: str) -> str:
        """The text under a key that must be there."""
        value = self.text(name)
        if value is None:
            self.missing(name, _TEXT)
        return value

    def flag(self, name: str) -> bool:
        """The boolean under a key that is there."""
        value = self.data[name]
        if not isinstance(value, bool):
            self.refuse(name, value, "true or false")
        return value

    def number(self, name: str, default: float, low: float, high: float) -> float:
        """The number of seconds under a key; a boolean is none."""
        value = self.data.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            self.refuse(name, value, f"a number of seconds from {low:g} to {high:g}")
        return float(value)

    def json_object(self, name: str) -> Mapping[str, Any]:
        """The table under a key, as a JSON object; an empty one where the key is absent."""
        value = self.data.get(name, {})
        if not isinstance(value, dict):
            self.refuse(name, value, "a table")
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            self.refuse(name, value, "what JSON can hold (no dates, no nan, no inf)")
        return value

    def items(self, name: str, allowed: str) -> list[Any]:
        """The array under a key, an empty one where the key is absent."""
        value = self.data.get(name, [])
        if not isinstance(value, list):
            self.refuse(name, value, allowed)
        return value
