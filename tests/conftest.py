"""What all our own tests share: one warm process, what is deep, and what goes first.

Tests marked `deep` are slow and rare: `make deep`, or `-m deep`. Those marked `long` take over ten seconds.
"""

from __future__ import annotations

import os
import random

import pytest

from tests import warm

SOME = "RAPC_DEEP_SAMPLE"
"""The variable that says how many of the deep tests are run, drawn by the seed in another."""
SEED_OF_SOME = "RAPC_DEEP_SEED"


def _worker(config: pytest.Config) -> bool:
    """Whether this is one of the workers of pytest-xdist."""
    return hasattr(config, "workerinput")


def pytest_configure(config: pytest.Config) -> None:
    """Start the warm process before the workers, which find it then."""
    if SOME in os.environ:
        os.environ.setdefault(SEED_OF_SOME, str(random.SystemRandom().randrange(1, 2**31)))
    if not _worker(config) and getattr(config.option, "numprocesses", None):
        warm.start()


def pytest_unconfigure(config: pytest.Config) -> None:
    """End it after them."""
    if not _worker(config):
        warm.stop()


@pytest.hookimpl(trylast=True)  # after marks have chosen
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is deep, unless marks were asked for; what takes long goes first, beside all else."""
    deep = [item for item in items if item.get_closest_marker("deep") is not None]
    left_out: list[pytest.Item] = []
    if not config.option.markexpr:
        left_out = deep
    elif SOME in os.environ:
        chance = random.Random(os.environ[SEED_OF_SOME])
        left_out = chance.sample(deep, max(0, len(deep) - int(os.environ[SOME])))
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_report_header() -> list[str]:
    """Say which of the deep tests were drawn."""
    return [f"{name}={os.environ[name]}" for name in (SOME, SEED_OF_SOME) if name in os.environ]
