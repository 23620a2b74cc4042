"""Reads a configuration from a TOML file of its own, or from its table in a pyproject.toml.

Roles share one file. Each reads its own tables; that nobody gave a table or a key that no role knows is found
out here, by the names alone, so that a typo in another role's table is refused too.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rap_conformance.engine.inputs import ConfigError, plain
from rap_conformance.engine.toml_table import Table

FILE_NAME = "rap-conformance.toml"
SECTION = "rap-conformance"
"""The name of our table among the tools of a pyproject.toml."""
_LARGEST_FILE = 1 << 20  # bytes
_OUR_TABLE = re.compile(
    rb"""^\s*\[\s*["']?tool["']?\s*\.\s*["']?%s["']?\s*[\].]""" % SECTION.encode(), re.MULTILINE
)

Keys = Mapping[str, "Keys | None"]
"""The keys of a table; those of the tables below it where they are known, None where anything goes."""


@dataclass(frozen=True, slots=True)
class Document:
    """What a file holds: `origin` is how messages name it, `folder` where relative paths in it start."""

    data: object
    origin: str
    folder: Path = Path()

    def check(self, keys: Keys) -> None:
        """Raises ConfigError, one line, for a table or a key that is none of these."""
        _check(Table(self.data, "", plain(self.origin), tuple(keys)), keys)


def _check(table: Table, keys: Keys) -> None:
    for name, below in keys.items():
        if below is not None and isinstance(table.data.get(name), dict):
            _check(table.table(name, tuple(below)), below)


def read(path: Path) -> Document:
    """The document in a TOML file, in a pyproject.toml under [tool.rap-conformance].

    Raises ConfigError, also for a file that is absent, unreadable, over 1 MiB or not TOML.
    """
    data = load(path)
    name = plain(str(path))
    if path.name != "pyproject.toml":
        return Document(data, str(path), path.parent)
    tool = data.get("tool")
    if not isinstance(tool, dict) or SECTION not in tool:
        raise ConfigError(f"{name}: tool.{SECTION}: is missing; allowed: a table with the configuration")
    return Document(tool[SECTION], f"{path} [tool.{SECTION}]", path.parent)


def load(path: Path, option: str = "") -> dict[str, Any]:
    """What a TOML file holds.

    Raises ConfigError, also for a file that is absent, unreadable, over 1 MiB or not TOML. `option` is what
    names the file on a command line.
    """
    name = plain(str(path))
    return _parsed(_content(path, name, option), name)


def _content(path: Path, name: str, option: str) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        where = f"{option}: {name}" if option else f"{name}:"
        raise ConfigError(f"{where} cannot be read ({getattr(error, 'strerror', None) or error})") from error
    if len(content) > _LARGEST_FILE:
        raise ConfigError(f"{name}: is larger than {_LARGEST_FILE} bytes; allowed: a TOML file")
    return content


def _parsed(content: bytes, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name}: is not UTF-8 (at byte {error.start}); allowed: a TOML file") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name}: is not TOML: {plain(str(error))}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{name}: holds what is too long or nested too deeply; allowed: a TOML file"
        ) from error


def find_default(folder: Path) -> Path | None:
    """The file that is taken unasked: rap-conformance.toml, else a pyproject.toml with our table.

    A pyproject.toml that is not TOML counts only if it seems to hold our table.
    """
    if (folder / FILE_NAME).exists():
        return folder / FILE_NAME
    path = folder / "pyproject.toml"
    try:
        content = path.read_bytes()
    except OSError:
        return None
    try:
        tool = tomllib.loads(content.decode("utf-8")).get("tool")
    except (ValueError, RecursionError):
        return path if _OUR_TABLE.search(content) else None
    return path if isinstance(tool, dict) and SECTION in tool else None
