"""Which mutants a change calls for: those of the requirements it touches, and those it touches itself."""

from __future__ import annotations

import ast
import shutil
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

WATCHED = (
    "conformance/requirements",
    "conformance/server",
    "conformance/runtime",
    "fixtures/servers/mutants",
    "fixtures/runtimes/mutants",
)


def touched(root: Path, since: str) -> tuple[set[str], set[str]]:
    """Codes of requirements and names of mutants that differ from a revision of the checkout in `root`.

    A scenario counts as touched if it, or a function of its file that it uses, is another one. Raises
    LookupError if git does not know the revision.
    """
    codes, names = set[str](), set[str]()
    for path in _git(root, "diff", "--name-only", since, "--", *WATCHED).splitlines():
        before = _git(root, "show", f"{since}:{path}", missing=True)
        file = root / path
        after = file.read_text("utf-8") if file.exists() else ""
        if path.endswith(".toml"):
            codes |= _differing(_entries(before), _entries(after))
        elif path.endswith(".py"):
            changed = _differing(_parts(before), _parts(after))
            for part, labels in _labels(after, changed).items():
                (names if part == "mutant" else codes).update(labels)
    return codes, names


def _git(root: Path, *words: str, missing: bool = False) -> str:
    command = [shutil.which("git") or "git", *words]
    done = subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8", check=False)
    if done.returncode and not missing:
        said = done.stderr.strip().splitlines() or ["it failed"]
        raise LookupError(f"git {words[0]}: {said[-1]}")
    return done.stdout if not done.returncode else ""


def _differing(before: Mapping[str, object], after: Mapping[str, object]) -> set[str]:
    return {name for name in after if before.get(name) != after[name]}


def _entries(text: str) -> dict[str, object]:
    return {entry["code"]: entry for entry in tomllib.loads(text).get("requirement", ())}


def _parts(source: str) -> dict[str, object]:
    """Functions, classes and constants of a module by name, as something that can be compared."""
    return {name: ast.dump(node) for node in ast.parse(source).body for name in _names(node)}


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _labels(source: str, changed: set[str]) -> dict[str, set[str]]:
    """What the decorators `scenario` and `mutant` say of whatever uses something that changed."""
    found: dict[str, set[str]] = {"scenario": set(), "mutant": set()}
    body = ast.parse(source).body
    uses = {name: _used(node) for node in body for name in _names(node)}
    reached = set(changed)
    while more := {name for name, used in uses.items() if used & reached} - reached:
        reached |= more
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in reached:
            for kind, label in _decorations(node):
                if kind in found:
                    found[kind].add(label)
    return found


def _used(node: ast.stmt) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _decorations(node: ast.FunctionDef | ast.ClassDef) -> Iterator[tuple[str, str]]:
    for call in node.decorator_list:
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.args:
            if isinstance(call.args[0], ast.Constant):
                yield call.func.id, str(call.args[0].value)
