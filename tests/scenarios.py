"""The scenarios there are, for the tests of laws, controls and detection."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from rap_conformance.engine.scenario import Scenario, scenario_of
from rap_conformance.places import place


def scenarios(folder: str) -> Iterator[tuple[str, Scenario]]:
    """Each scenario below a folder of conformance/ by where it is: its module and its function."""
    home = place("conformance")
    for path in sorted((home / folder).rglob("test_*.py")):
        name = ".".join(path.relative_to(home.parent).with_suffix("").parts)
        for function, value in vars(importlib.import_module(name)).items():
            mark = scenario_of(value)
            if mark is not None and getattr(value, "__module__", "") == name:
                yield f"{name}:{function}", mark
