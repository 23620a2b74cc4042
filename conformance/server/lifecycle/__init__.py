"""Scenarios of the page "Protocol Lifecycle", one file a heading."""
