"""Scenarios against a runtime: what `rap-conformance runtime` runs. One function a requirement."""
