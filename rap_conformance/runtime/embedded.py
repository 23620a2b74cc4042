"""How to start the runtimes that this suite carries itself: the reference, and its mutants by name."""

from __future__ import annotations

import importlib
import os
import shlex
import sys
from typing import Any

from rap_conformance.places import place

Environment = tuple[tuple[str, str], ...]


def package() -> tuple[str, str]:
    """The fixtures' import name, and the folder that has to be on Python's path for it."""
    home = place("fixtures").parent
    if home.name == "rap_conformance":
        return "rap_conformance.fixtures", str(home.parent)
    return "fixtures", str(home)


def command(mutant: str | None = None) -> tuple[str, Environment]:
    """The command of an embedded runtime's adapter, with `{port}`, and what to add to its environment."""
    name, home = package()
    words = [sys.executable, "-m", f"{name}.runtimes.reference"]
    if mutant is not None:
        words = [sys.executable, "-m", f"{name}.runtimes.mutants", mutant]
    path = os.pathsep.join([home, *filter(None, [os.environ.get("PYTHONPATH")])])
    return shlex.join([*words, "--port"]) + " {port}", (("PYTHONPATH", path),)


def mutants() -> dict[str, Any]:
    """Every mutant runtime by its name."""
    name, home = package()
    if home not in sys.path:
        sys.path.insert(0, home)
    found: dict[str, Any] = importlib.import_module(f"{name}.runtimes.mutants").MUTANTS
    return found
