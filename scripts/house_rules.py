"""House rules that no linter knows: short files and functions, no registry address, no path of this machine.

What has a good reason to be long says so in its docstring: "Long because …".

Prints one line for each breach and exits 1 if there is one.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_LINES = 600
MOST_LINES_OF_MODULES, MOST_LINES_OF_FUNCTIONS = 300, 60
REASON = "Long because"
WRITTEN_BY_HAND = {".py", ".jinja", ".sh", ".toml", ".mjs", ".js", ".md", ".css", ".yaml", ""}
MAY_BE_LONG = {
    "docs/requirements.md",
    "docs/detection.md",
    "CHANGELOG.md",
    "LICENSE",
}  # generated, growing, not ours
OUTPUT = {".git", ".venv", "reports", "dist", "build", "__pycache__", "node_modules"}

# The names are put together here, so that this file does not break its own rule.
_HOSTS = "|".join(
    ["py" + "pi", "python" + "hosted", "npm" + "js", "registry", "crates", "maven", "artifactory"]
)
RULES = (
    ("a registry address", re.compile(rf"\w+://(?!\S+/POM/)[^/\s\"']*\b({_HOSTS})[\w-]*\.", re.IGNORECASE)),
    (
        "a package index setting",
        re.compile(r"(?<!no-emit-)\b(extra-)?index-url\s*[= ]\s*\S*://|find-links\s*[= ]"),
    ),
    ("the path of this checkout", re.compile(re.escape(str(ROOT)) + r"\b")),
)


def files() -> Iterator[Path]:
    """What git tracks or would add; without git (a source archive), everything but outputs."""
    try:
        command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, capture_output=True, check=True).stdout.decode().split("\0")
        candidates = [ROOT / name for name in listed if name]
    except (OSError, subprocess.CalledProcessError):
        candidates = [p for p in ROOT.rglob("*") if not OUTPUT & set(p.relative_to(ROOT).parts)]
    yield from sorted(path for path in candidates if path.is_file())


def breaches(path: Path, name: str) -> Iterator[str]:
    """What one file does against the rules; binary files have no lines."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except UnicodeDecodeError:
        return
    if len(lines) > MOST_LINES and path.suffix in WRITTEN_BY_HAND and name not in MAY_BE_LONG:
        yield f"{name}: {len(lines)} lines, at most {MOST_LINES}"
    for number, line in enumerate(lines, 1):
        yield from (f"{name}:{number}: {what}" for what, pattern in RULES if pattern.search(line))
    if path.suffix == ".py":
        yield from too_long("\n".join(lines), len(lines), name)
    if name == "constraints.txt" and "://" in "\n".join(lines):
        yield f"{name}: an address; a lock holds names, versions and hashes"


def too_long(source: str, lines: int, name: str) -> Iterator[str]:
    """Modules and functions that are longer than they may be and do not say why."""
    tree = ast.parse(source)
    found = [(name, lines, MOST_LINES_OF_MODULES, tree)]
    found += [
        (
            f"{name}:{node.lineno}: {node.name}",
            node.end_lineno - node.lineno + 1,
            MOST_LINES_OF_FUNCTIONS,
            node,
        )
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    for what, length, most, node in found:
        if length > most and REASON not in (ast.get_docstring(node) or ""):
            yield f"{what}: {length} lines, at most {most} without a reason in the docstring"


def main() -> int:
    """Check every file; 1 if any breaks a rule."""
    found = [breach for path in files() for breach in breaches(path, path.relative_to(ROOT).as_posix())]
    print("\n".join(found) if found else "house rules: kept")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
