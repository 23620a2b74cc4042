"""Gives scenarios their `runtime`; the driver calls them, so this only makes the argument known."""

import pytest


@pytest.fixture
def runtime(request: pytest.FixtureRequest) -> None:
    """The runtime under test; scenarios run through `rap_conformance.driver`, never by themselves."""
    if not request.config.pluginmanager.has_plugin("rap_conformance.driver"):
        pytest.skip("no runtime: use rap-conformance runtime, or give --rap-adapter-cmd")
