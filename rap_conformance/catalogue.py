"""The catalogue of requirements: frozen values, loaded from conformance/requirements/*.toml.

Everything else (scenarios, reports, documentation, command line) reads what
is asserted here and nowhere else. The catalogue has a version `X.Y` of its
own; codes and names never change once released.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from rap_conformance.places import place

CATALOGUE_VERSION = "0.1"
FIRST_VERSION = "0.1"
REVISIONS = ("2026-07-pr62", "2026-08-main")
DEFAULT_REVISION = REVISIONS[0]
NEEDS = frozenset(
    "status auth pending quick sub choice oauth view op control other prefix".split(),
)
_CODE = re.compile(r"[A-Z]{3}\d{3}")
_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_KEYS = frozenset(
    (
        "code name level basis role revisions section statement why remedy needs stage since planned unseen"
    ).split(),
)


def version(text: str) -> tuple[int, int]:
    """Major and minor of a version "X.Y". Raises ValueError for anything else."""
    match = _VERSION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!a} is no version such as 0.1")
    return int(match[1]), int(match[2])


class Level(StrEnum):
    """How binding a requirement is, in the words of RFC 2119; ADVICE is ours."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    ADVICE = "ADVICE"


class Stage(StrEnum):
    """When a scenario runs: what could do harm comes after what could not."""

    HARMLESS = "harmless"
    FLOOD = "flood"
    DEADLY = "deadly"
    RESTART = "restart"


class CatalogueError(ValueError):
    """The catalogue's data is damaged; the message names file and entry."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One statement of the specification that a peer can be judged by.

    `basis` is "stated" where a sentence says so with that word, "derived"
    where a definition or another MUST leaves no other reading, "practice"
    for advice; followed by the reason. `section` is the page and heading of
    the specification, `needs` what must be known before it can be judged.
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

    @property
    def derived(self) -> bool:
        """Whether no sentence uses the word, but another leaves no other reading."""
        return self.basis.startswith("derived")

    @property
    def url(self) -> str:
        """Where to read the specification at the requirement's first revision."""
        page = self.section.split("#", 1)[0]
        commit = {"2026-07-pr62": "bb01dcc6fde42b2a09f55736a3bebf88d8a883d6"}.get(
            self.revisions[0], "9c921fde280b50c89c3e5b9caadccf83a46078a4"
        )
        anchor = "#" + self.section.split("#", 1)[1] if "#" in self.section else ""
        return f"https://github.com/hydro-project/infinity/blob/{commit}/docs/docs/rap/spec/{page}{anchor}"


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All requirements, in order of their codes."""

    requirements: tuple[Requirement, ...]

    def __iter__(self) -> Iterator[Requirement]:
        return iter(self.requirements)

    def __len__(self) -> int:
        return len(self.requirements)

    def get(self, code: str) -> Requirement | None:
        """The requirement with that code, or None."""
        return next((r for r in self.requirements if r.code == code), None)

    def select(self, patterns: Sequence[str]) -> tuple[Requirement, ...]:
        """Those whose code matches one of the globs, in any letter case.

        Raises LookupError, naming the pattern, if one matches nothing.
        """
        chosen: set[str] = set()
        for pattern in patterns:
            hits = [r.code for r in self.requirements if fnmatch.fnmatchcase(r.code, pattern.upper())]
            if not hits:
                raise LookupError(pattern)
            chosen.update(hits)
        return tuple(r for r in self.requirements if r.code in chosen)

    def pinned(self, pin: str | None) -> Catalogue:
        """The catalogue as it gates at version `pin`: what came later is advice.

        Without a pin, what is new in this version of the catalogue is advice for as long as it is the newest.
        """
        if pin is None:
            newest = version(CATALOGUE_VERSION)
            late = {r.code for r in self.requirements if version(r.since) == newest != version(FIRST_VERSION)}
        else:
            late = {r.code for r in self.requirements if version(r.since) > version(pin)}
        return Catalogue(tuple(replace(r, level=Level.ADVICE) if r.code in late else r for r in self))

    def at(self, revision: str, role: str = "server") -> tuple[Requirement, ...]:
        """Those that a revision of the specification contains, for one role."""
        return tuple(r for r in self.requirements if revision in r.revisions and r.role == role)

    @property
    def digest(self) -> str:
        """SHA-256 over everything the catalogue says, in hex."""
        return hashlib.sha256("\n".join(repr(r) for r in self.requirements).encode()).hexdigest()


def _requirement(entry: dict[str, Any], where: str) -> Requirement:
    def text(key: str) -> str:
        value = entry.get(key, "")
        if not isinstance(value, str) or not value.strip():
            raise CatalogueError(f"{where}: {key} must be a text that is not empty, got {value!r}")
        return " ".join(value.split())

    if unknown := set(entry) - _KEYS:
        raise CatalogueError(f"{where}: unknown keys {sorted(unknown)}")
    code, name = text("code"), text("name")
    if not _CODE.fullmatch(code) or not _NAME.fullmatch(name):
        raise CatalogueError(f"{where}: code is three capitals and three digits, name is kebab-case")
    revisions = tuple(entry.get("revisions", REVISIONS))
    if not revisions or set(revisions) - set(REVISIONS):
        raise CatalogueError(f"{where}: revisions are some of {REVISIONS}, got {revisions}")
    needs = tuple(entry.get("needs", ()))
    if set(needs) - NEEDS:
        raise CatalogueError(f"{where}: needs are some of {sorted(NEEDS)}, got {needs}")
    basis = text("basis")
    if basis.split(":")[0] not in {"stated", "derived", "practice"}:
        raise CatalogueError(f'{where}: basis begins with "stated", "derived" or "practice", got {basis!r}')
    level, stage = text("level"), entry.get("stage", "harmless")
    if level not in set(Level):
        raise CatalogueError(f"{where}: level is one of {[*map(str, Level)]}, got {level!r}")
    if stage not in set(Stage):
        raise CatalogueError(f"{where}: stage is one of {[*map(str, Stage)]}, got {stage!r}")
    since = entry.get("since", FIRST_VERSION)
    if (
        not isinstance(since, str)
        or not _VERSION.fullmatch(since)
        or version(since) > version(CATALOGUE_VERSION)
    ):
        raise CatalogueError(
            f"{where}: since is a version of the catalogue up to {CATALOGUE_VERSION}, got {since!r}"
        )
    if entry.get("role", "server") not in {"server", "runtime"}:
        raise CatalogueError(f"{where}: role is server or runtime, got {entry['role']!r}")
    return Requirement(
        code=code,
        name=name,
        level=Level(level),
        basis=basis,
        role=entry.get("role", "server"),
        revisions=revisions,
        section=text("section"),
        statement=text("statement"),
        why=text("why"),
        remedy=text("remedy"),
        needs=needs,
        stage=Stage(stage),
        since=since,
        planned=bool(entry.get("planned", False)),
        unseen=entry.get("unseen", ""),
    )


def load(folder: Path) -> Catalogue:
    """Read every TOML file of a folder. Raises CatalogueError on damaged or doubled entries."""
    found: dict[str, Requirement] = {}
    for path in sorted(folder.glob("*.toml")):
        try:
            entries = tomllib.loads(path.read_text("utf-8")).get("requirement", [])
        except tomllib.TOMLDecodeError as error:
            raise CatalogueError(f"{path.name}: {error}") from error
        for entry in entries:
            requirement = _requirement(entry, f"{path.name}: {entry.get('code', 'an entry without code')}")
            if requirement.code in found:
                raise CatalogueError(f"{path.name}: {requirement.code} is there twice")
            found[requirement.code] = requirement
    return Catalogue(tuple(found[code] for code in sorted(found)))


@cache
def catalogue() -> Catalogue:
    """The catalogue this suite ships."""
    return load(place("conformance") / "requirements")
