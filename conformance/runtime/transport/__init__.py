"""Page "Transport": what a runtime owes to it."""
