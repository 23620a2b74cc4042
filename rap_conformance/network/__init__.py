"""The live ends of a run: probe (asks the server), receiver (takes its callbacks), supervisor (its process).

Nothing outside this package opens a socket or waits for time to pass.
"""
