"""Scenarios of the page "Toolsets", one file a heading."""
