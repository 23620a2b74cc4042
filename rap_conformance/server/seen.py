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
    """What one call did: `seconds` until then, `said` in an error, whether a subscription's end came."""

    operation: str
    arguments: Mapping[str, Any]
    did: Did
    seconds: float
    said: str = ""
    ended: bool = False

    def __str__(self) -> str:
        if self.did is Did.NOTHING:
            return f"{self.operation}: nothing within {self.seconds:.0f} s"
        said = f": {self.said}" if self.said else ""
        return f"{self.operation}: {self.did} after {self.seconds:.1f} s{said}"


@dataclass(frozen=True, slots=True)
class Measured:
    """What was seen, the tools that were not called, each with the reason, and why it ended early if so."""

    seen: tuple[Seen, ...]
    left: tuple[tuple[str, str], ...]
    cut_short: str = ""
