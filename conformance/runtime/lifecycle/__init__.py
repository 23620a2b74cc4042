"""Page "Protocol Lifecycle": what a runtime owes to it."""
