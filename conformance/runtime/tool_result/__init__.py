"""Page "Tool Result": what a runtime owes to it."""
