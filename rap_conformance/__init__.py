"""rap-conformance: the conformance suite of the Reactive Agent Protocol (RAP)."""

__version__ = "0.1.0"
