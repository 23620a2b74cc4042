"""The rooms of this house and who imports whom, as a picture (Mermaid) and a table, read from the source.

An arrow points at what is imported. Arrows that follow from others are left out of the picture: whoever
imports a room imports what that one stands on. The table has every direct import, and what is not imported
but found by its place (`places.place`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

SUITE = "rap_conformance"
HALVES = ("conformance", "fixtures")
"""Packages beside the suite whose folders (the roles) are rooms of their own."""
FOLDERS = (*HALVES, "schemas")
"""What `places.place` finds."""
SHAPES = {"doors": "([{}])", "machinery": "[{}]", "asserted": "[/{}/]"}
"""How the rooms of a group are drawn; others import nothing and are not."""


@dataclass(frozen=True, slots=True)
class Room:
    """A folder or a single file: `group` is what it stands among, `what` the first sentence about it."""

    name: str
    group: str
    what: str
    imports: frozenset[str]
    finds: frozenset[str]


def rooms(root: Path) -> str:
    """Picture and table of the repository at `root`, as Markdown."""
    found = read(root)
    return f"{picture(found)}\n\n{table(found)}"


def read(root: Path) -> list[Room]:
    """Every room, in order of group and name."""
    places = list(_places(root))
    names = {path: name for name, _, path in places}
    found = []
    for name, group, path in places:
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        trees = [ast.parse(file.read_text("utf-8")) for file in files]
        imported = {_room_of(root, module, names) for tree in trees for module in _modules(tree)}
        found.append(
            Room(
                name,
                group,
                _sentence((path / "__init__.py" if path.is_dir() else path).read_text("utf-8")),
                frozenset(other for other in imported if other is not None and other != name),
                frozenset(folder for tree in trees for folder in _found_by_place(tree)),
            )
        )
    return found


def _places(root: Path) -> Iterator[tuple[str, str, Path]]:
    """Name, group and path of every room."""
    suite = sorted((root / SUITE).iterdir())
    for path in suite:
        if path.suffix == ".py" and not path.name.startswith("_"):
            yield path.stem, "doors", path
    for path in suite:
        if (path / "__init__.py").is_file() and path.name not in FOLDERS:
            yield path.name, "machinery", path
    for half, group in zip(HALVES, ("asserted", "fixtures"), strict=True):
        for path in sorted((root / half).iterdir()):
            if (path / "__init__.py").is_file():
                yield f"{half}/{path.name}", group, path


def _modules(tree: ast.Module) -> Iterator[str]:
    """Every module of ours that is imported, wherever in the file, and every name taken from one, in full."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _room_of(root: Path, module: str, names: Mapping[Path, str]) -> str | None:
    """The room that a module is in; None for what is not ours."""
    package, _, rest = module.partition(".")
    first = root / package / rest.partition(".")[0]
    return names.get(first) or names.get(first.with_suffix(".py"))


def _found_by_place(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "place":
            for argument in node.args:
                if isinstance(argument, ast.Constant) and argument.value in FOLDERS:
                    yield str(argument.value)


def _sentence(source: str) -> str:
    """The first sentence of a module's docstring."""
    first = (ast.get_docstring(ast.parse(source)) or "").split("\n\n")[0]
    text = " ".join(first.split())
    return text.split(". ")[0].rstrip(".")


def reduced(arrows: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """The arrows without those that follow from others."""

    def reach(name: str) -> set[str]:
        found = set[str]()
        for other in arrows.get(name, ()):
            found |= {other} | reach(other)
        return found

    return {
        name: sorted(o for o in others if not any(o in reach(between) for between in others if between != o))
        for name, others in arrows.items()
    }


def picture(found: Iterable[Room]) -> str:
    """A Mermaid flowchart: doors rounded, scenarios slanted, folders of the machinery square."""
    shown = [room for room in found if room.group in SHAPES]
    lines = ["```mermaid", "flowchart TD"]
    lines += [f"  {_id(room.name)}{SHAPES[room.group].format(room.name)}" for room in shown]
    for name, others in reduced({room.name: room.imports for room in shown}).items():
        lines += [f"  {_id(name)} --> {_id(other)}" for other in others]
    return "\n".join([*lines, "```"])


def _id(name: str) -> str:
    return "n_" + name.replace("/", "_")


def table(found: Iterable[Room]) -> str:
    """Every room with what it is, all that it imports directly, and what it finds by its place."""
    lines = ["| room | what it is | imports | finds |", "|---|---|---|---|"]
    for room in found:
        name = f"{room.name}.py" if room.group == "doors" else f"{room.name}/"
        finds = ", ".join(f"{folder}/" for folder in sorted(room.finds))
        what = room.what.replace("|", "\\|")
        lines.append(f"| `{name}` | {what} | {', '.join(sorted(room.imports)) or '-'} | {finds or '-'} |")
    return "\n".join(lines)
