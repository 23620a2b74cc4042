"""Gives scenarios their `runtime`; they are called by a driver, so this only makes the argument known."""

import pytest


@pytest.fixture
def runtime(request: pytest.FixtureRequest) -> None:
    """The runtime under test; scenarios run through `rap_conformance.runtime`, never by themselves."""
    if not request.config.pluginmanager.has_plugin("rap_conformance.driver"):
        pytest.skip("no runtime: use rap-conformance runtime")
