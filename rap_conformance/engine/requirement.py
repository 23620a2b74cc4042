"""One statement of a specification that a peer can be judged by, as a frozen value."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum

VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})")


def version(text: str) -> tuple[int, int]:
    """Major and minor of a version "X.Y". Raises ValueError for anything else."""
    match = VERSION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!a} is no version such as 0.1")
    return int(match[1]), int(match[2])


@dataclass(frozen=True, slots=True, order=True)
class Area:
    """The message or page that a requirement is about: a short `name`, a `title`, and its place in order."""

    order: int
    name: str
    title: str


class Level(StrEnum):
    """How binding a requirement is, in the words of RFC 2119; ADVICE is ours."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    ADVICE = "ADVICE"


class Stage(StrEnum):
    """When a scenario runs: what could do harm comes after what could not.

    FORGED: whoever sends what is not authentic may be shut out for a while, and the others with him.
    """

    HARMLESS = "harmless"
    FORGED = "forged"
    FLOOD = "flood"
    DEADLY = "deadly"
    RESTART = "restart"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One statement of the specification that a peer can be judged by.

    `basis` is "stated" where a sentence says so with that word, "derived"
    where a definition or another MUST leaves no other reading, "practice"
    for advice; followed by the reason. `section` is the page and heading of
    the specification, `url` where to read it. `needs` is what must be there
    before it can be judged at all, `parts` what parts of it need that are
    each judged where they can be; `area` is what it is about.
    """

    code: str
    name: str
    level: Level
    basis: str
    role: str
    revisions: tuple[str, ...]
    section: str
    statement: str
    why: str
    remedy: str
    needs: tuple[str, ...]
    stage: Stage
    since: str = "0.1"
    planned: bool = False
    unseen: str = ""
    parts: tuple[str, ...] = ()
    url: str = field(default="", repr=False)
    area: Area = field(default=Area(99, "", ""), repr=False)

    @property
    def derived(self) -> bool:
        """Whether no sentence uses the word, but another leaves no other reading."""
        return self.basis.startswith("derived")
