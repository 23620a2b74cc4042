"""Gives scenarios their `peer`; the driver calls them, so this only makes the argument a known fixture."""

import pytest


@pytest.fixture
def peer(request: pytest.FixtureRequest) -> None:
    """The live server under test; scenarios run through `rap_conformance.driver`, never by themselves."""
    if not request.config.pluginmanager.has_plugin("rap_conformance.driver"):
        pytest.skip("no target: give --server-url or --server-cmd")
