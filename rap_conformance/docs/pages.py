"""Which files are generated, in whole or between two markers, and what each of them should hold."""

from __future__ import annotations

import sys
from pathlib import Path

from rap_conformance.docs.requirements import counts, requirements_page
from rap_conformance.docs.rooms import rooms
from rap_conformance.docs.states import states
from rap_conformance.engine.catalogue import Catalogue


def block(name: str) -> tuple[str, str]:
    """The two markers between which something is generated."""
    return f"<!-- {name} -->", f"<!-- /{name} -->"


def with_block(text: str, name: str, generated: str) -> str:
    """The text with what stands between its two markers replaced; unchanged where they are not in order."""
    opening, closing = block(name)
    before, opened, rest = text.partition(opening)
    _, closed, after = rest.partition(closing)
    if not opened or not closed:
        return text
    return f"{before}{opening}\n{generated}\n{closing}{after}"


def generated(root: Path, found: Catalogue) -> dict[Path, str]:
    """What each generated file under the repository's root should hold. Reads files, writes nothing."""
    files = {root / "docs" / "requirements.md": requirements_page(found)}
    readme, architecture = root / "README.md", root / "docs" / "architecture.md"
    if readme.exists():
        files[readme] = with_block(readme.read_text("utf-8"), "counts", counts(found))
    if architecture.exists():
        text = with_block(architecture.read_text("utf-8"), "rooms", rooms(root))
        files[architecture] = with_block(text, "states", states())
    return files


def stale(files: dict[Path, str]) -> list[Path]:
    """Those files that are missing or differ from what they should hold."""
    return [path for path, text in files.items() if not path.exists() or path.read_text("utf-8") != text]


def settle(files: dict[Path, str], base: Path, *, check: bool, command: str) -> int:
    """Write what is stale, or with `check` only say so, naming the command that writes it: 1 then, else 0."""
    old = stale(files)
    for path in old:
        name = path.relative_to(base).as_posix()
        if check:
            sys.stdout.write(f"{name} is stale: run {command}\n")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path], "utf-8", newline="\n")
            sys.stdout.write(f"{name} written\n")
    return 1 if check and old else 0
