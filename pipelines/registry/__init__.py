"""The registry of standing queries: what was given, what it changes, what is active."""
