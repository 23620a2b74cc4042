"""The role "tool server under test": its configuration, preflight, session and peer."""
