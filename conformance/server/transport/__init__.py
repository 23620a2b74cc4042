"""Scenarios of the page "Request Transport", one file a heading."""
