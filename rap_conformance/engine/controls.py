"""Positive controls: the same request, one thing different, accepted.

A check that something is refused, absent or unchanged passes just as well where nothing is there at all. So
each such check has a control, named where its scenario is. A control that fails accuses nobody: the
requirement is untested, and the reason names the requirement that is about it. The engine makes controls and
sees to it that those which only the scenario can make were made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Control:
    """What must be accepted beside what a check expects to be refused.

    `make` is called by the engine before the scenario and raises Untested if it is not accepted. Without it
    the scenario makes the control itself, amid what it judges, and says so by `peer.controlled(…)`; a pass
    without that is an error of ours.
    """

    what: str
    make: Callable[[Any], None] | None = None


@dataclass(frozen=True, slots=True)
class Positive:
    """Why a check needs no control: what has to be there for it to pass."""

    what: str
