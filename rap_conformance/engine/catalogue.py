"""The catalogue of requirements: frozen values, loaded from TOML files, one a page of the specification.

Everything else (scenarios, reports, documentation, command line) reads what
is asserted here and nowhere else. The catalogue has a version `X.Y` of its
own; codes and names never change once released.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rap_conformance.engine.requirement import VERSION, Area, Level, Requirement, Stage, version

_CODE = re.compile(r"[A-Z]{3}\d{3}")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_KEYS = frozenset(
    (
        "code name level basis role revisions section statement why remedy needs parts stage since planned "
        "unseen"
    ).split(),
)


@dataclass(frozen=True, slots=True)
class Specification:
    """What a catalogue is about.

    `version` is the catalogue's, `first` the first one it had. `revisions` are those of the specification,
    the default first; `roles` who is judged by it, the default first. `needs` says in words what may have to
    be there before something can be judged. `page` gives the address of a section at a revision.
    """

    name: str
    version: str
    first: str
    revisions: tuple[str, ...]
    roles: tuple[str, ...]
    needs: Mapping[str, str]
    page: Callable[[str, str], str]


class CatalogueError(ValueError):
    """The catalogue's data is damaged; the message names file and entry."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All requirements of a specification, in order of their codes."""

    requirements: tuple[Requirement, ...]
    specification: Specification

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
            newest = version(self.specification.version)
            late = {
                r.code
                for r in self.requirements
                if version(r.since) == newest != version(self.specification.first)
            }
        else:
            late = {r.code for r in self.requirements if version(r.since) > version(pin)}
        return Catalogue(
            tuple(replace(r, level=Level.ADVICE) if r.code in late else r for r in self), self.specification
        )

    def at(self, revision: str, role: str) -> tuple[Requirement, ...]:
        """Those that a revision of the specification contains, for one role."""
        return tuple(r for r in self.requirements if revision in r.revisions and r.role == role)

    @property
    def digest(self) -> str:
        """SHA-256 over everything the catalogue says, in hex."""
        return hashlib.sha256("\n".join(repr(r) for r in self.requirements).encode()).hexdigest()


def _requirement(entry: dict[str, Any], where: str, about: Specification, area: Area) -> Requirement:
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
    revisions = tuple(entry.get("revisions", about.revisions))
    if not revisions or set(revisions) - set(about.revisions):
        raise CatalogueError(f"{where}: revisions are some of {about.revisions}, got {revisions}")
    needs, parts = (tuple(entry.get(key, ())) for key in ("needs", "parts"))
    if {*needs, *parts} - about.needs.keys():
        raise CatalogueError(
            f"{where}: needs and parts are some of {sorted(about.needs)}, got {needs + parts}"
        )
    basis = text("basis")
    if basis.split(":")[0] not in {"stated", "derived", "practice"}:
        raise CatalogueError(f'{where}: basis begins with "stated", "derived" or "practice", got {basis!r}')
    level, stage = text("level"), entry.get("stage", "harmless")
    if level not in set(Level):
        raise CatalogueError(f"{where}: level is one of {[*map(str, Level)]}, got {level!r}")
    if stage not in set(Stage):
        raise CatalogueError(f"{where}: stage is one of {[*map(str, Stage)]}, got {stage!r}")
    since = entry.get("since", about.first)
    if not isinstance(since, str) or not VERSION.fullmatch(since) or version(since) > version(about.version):
        raise CatalogueError(
            f"{where}: since is a version of the catalogue up to {about.version}, got {since!r}"
        )
    role = entry.get("role", about.roles[0])
    if role not in about.roles:
        raise CatalogueError(f"{where}: role is one of {about.roles}, got {role!r}")
    return Requirement(
        code=code,
        name=name,
        level=Level(level),
        basis=basis,
        role=role,
        revisions=revisions,
        section=text("section"),
        url=about.page(revisions[0], text("section")),
        statement=text("statement"),
        why=text("why"),
        remedy=text("remedy"),
        needs=needs,
        parts=parts,
        area=area,
        stage=Stage(stage),
        since=since,
        planned=bool(entry.get("planned", False)),
        unseen=entry.get("unseen", ""),
    )


def _area(table: dict[str, Any], path: Path) -> Area:
    """What a file is about: `[area]` with `name`, `title` and `order`; without it, the file's own name."""
    if unknown := set(table) - {"name", "title", "order"}:
        raise CatalogueError(f"{path.name}: unknown keys {sorted(unknown)} in [area]")
    name = str(table.get("name", path.stem))
    return Area(int(table.get("order", 99)), name, str(table.get("title", name)))


def load(folder: Path, about: Specification) -> Catalogue:
    """Read every TOML file of a folder. Raises CatalogueError on damaged or doubled entries."""
    found: dict[str, Requirement] = {}
    for path in sorted(folder.glob("*.toml")):
        try:
            data = tomllib.loads(path.read_text("utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise CatalogueError(f"{path.name}: {error}") from error
        area = _area(data.get("area", {}), path)
        for entry in data.get("requirement", []):
            where = f"{path.name}: {entry.get('code', 'an entry without code')}"
            requirement = _requirement(entry, where, about, area)
            if requirement.code in found:
                raise CatalogueError(f"{path.name}: {requirement.code} is there twice")
            found[requirement.code] = requirement
    return Catalogue(tuple(found[code] for code in sorted(found)), about)
