"""Where the suite's data lives: beside the package in a checkout, inside it in a wheel."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def place(name: str) -> Path:
    """The folder or file called `name` ("conformance", "schemas", "fixtures").

    Raises FileNotFoundError when the installation is damaged.
    """
    for base in (PACKAGE, PACKAGE.parent):
        if (base / name).exists():
            return base / name
    raise FileNotFoundError(f"{name} is neither in {PACKAGE} nor beside it: reinstall rap-conformance")


def in_checkout() -> bool:
    """Whether this is a working copy of the repository rather than an installation."""
    return not (PACKAGE / "conformance").exists()
