"""`python -m rap_conformance.contract [--check]`: write schemas/openapi.json, or say that it is stale."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rap_conformance.contract.document import as_text
from rap_conformance.contract.schemas import GENERATED, Contract
from rap_conformance.places import place


def main(arguments: list[str] | None = None) -> int:
    """Write or check the generated description. Returns 0, or 1 if a check finds it stale."""
    parser = argparse.ArgumentParser(prog="python -m rap_conformance.contract", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if the file is stale")
    parser.add_argument("--schemas", type=Path, default=None, help="another folder of schemas")
    options = parser.parse_args(arguments)
    folder: Path = options.schemas or place("schemas")
    target, text = folder / GENERATED, as_text(Contract(folder).openapi())
    if options.check:
        if target.exists() and target.read_text("utf-8") == text:
            return 0
        print(f"{target} is stale: run python -m rap_conformance.contract", file=sys.stderr)
        return 1
    target.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
