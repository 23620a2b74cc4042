"""Scenarios against a tool server: what `pytest --server-url URL` runs. One item a requirement."""
