"""What all our own tests share: one warm process, one folder for what is certified once, and what is deep.

Tests marked `deep` are slow and rare: `make deep`, or `-m deep`. Those marked `long` take over ten seconds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import warm


def _worker(config: pytest.Config) -> bool:
    """Whether this is one of the workers of pytest-xdist."""
    return hasattr(config, "workerinput")


def pytest_configure(config: pytest.Config) -> None:
    """Start the warm process before the workers, which find it then."""
    if not _worker(config) and getattr(config.option, "numprocesses", None):
        warm.start()


def pytest_unconfigure(config: pytest.Config) -> None:
    """End it after them."""
    if not _worker(config):
        warm.stop()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is deep, unless marks were asked for; what takes long goes first, beside all else."""
    if not config.option.markexpr:
        deep = [item for item in items if item.get_closest_marker("deep") is not None]
        config.hook.pytest_deselected(items=deep)
        items[:] = [item for item in items if item not in deep]
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A folder that all workers of this session have in common."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if _worker(request.config) else own
