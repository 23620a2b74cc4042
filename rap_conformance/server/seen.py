"""What calls of tools did, as `init --probe` saw it. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Did(StrEnum):
    """What a call turned out to do."""

    RESULT = "a result"
    SUBSCRIPTION = "a subscription"
    CHOICE = "a choice"
    ERROR = "an error"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Seen:
    """What one call did: `seconds` until then, `said` in an error, whether a subscription's end came.

    `setup` is what was called before it in the same thread: its operation and arguments.
    """

    operation: str
    arguments: Mapping[str, Any]
    did: Did
    seconds: float
    said: str = ""
    ended: bool = False
    setup: tuple[str, Mapping[str, Any]] | None = None

    def __str__(self) -> str:
        name = f"{self.operation} after {self.setup[0]}" if self.setup else self.operation
        if self.did is Did.NOTHING:
            return f"{name}: nothing within {self.seconds:.0f} s"
        said = f": {self.said}" if self.said else ""
        return f"{name}: {self.did} after {self.seconds:.1f} s{said}"


@dataclass(frozen=True, slots=True)
class Measured:
    """What was seen, the tools that were not called, each with the reason, and why it ended early if so."""

    seen: tuple[Seen, ...]
    left: tuple[tuple[str, str], ...]
    cut_short: str = ""
