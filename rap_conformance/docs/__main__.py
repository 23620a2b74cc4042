"""`python -m rap_conformance.docs [--check]`: write what is generated of the documents, or say what is stale.

With `--check` nothing is written: one line names each stale file, exit 1 if there is any.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rap_conformance.docs.pages import generated, settle
from rap_conformance.engine.catalogue import CatalogueError
from rap_conformance.places import PACKAGE, in_checkout
from rap_conformance.protocol.specification import catalogue


def main(arguments: Sequence[str] | None = None, root: Path | None = None) -> int:
    """Generate, or with `--check` compare. Returns the exit status: 0, 1 stale, 4 bad input."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given not in ([], ["--check"]):
        sys.stderr.write(f"usage: python -m rap_conformance.docs [--check], got {given}\n")
        return 4
    if root is None and not in_checkout():
        sys.stderr.write("rap_conformance.docs works in a checkout of the repository only\n")
        return 4
    base = PACKAGE.parent if root is None else root
    try:
        files = generated(base, catalogue())
    except CatalogueError as error:
        sys.stderr.write(f"{error}\n")
        return 4
    return settle(files, base, check=bool(given), command="python -m rap_conformance.docs")


if __name__ == "__main__":
    raise SystemExit(main())
