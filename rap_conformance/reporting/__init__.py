"""Reports: run in, text out. Pure functions, no network, no knowledge of any scenario.

`safe` makes text from the server under test harmless, `view` reads a run in
the ways that several reports share; every other module is one kind of report.
"""
