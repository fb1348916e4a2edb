"""Audits: a bounded sample of the engine's work, repeated by other means."""
