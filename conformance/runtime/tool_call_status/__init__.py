"""Page "Tool Call Status Check": what a runtime owes to it."""
