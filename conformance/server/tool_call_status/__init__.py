"""Scenarios of the page "Tool Call Status Check", one file a heading."""
