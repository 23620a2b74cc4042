"""Does the suite find what it should, and accuse nobody wrongly? Nothing in a run needs this package."""
