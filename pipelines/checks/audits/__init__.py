"""Audits: a bounded sample of the engine's work, done once more by other means."""
