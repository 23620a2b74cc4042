"""Page "Subscription Events": what a runtime owes to it."""
