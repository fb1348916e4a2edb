"""Faults of the Spark set-up: a Java, a jar, a folder; each with its remedy."""

from fencepost.errors import FencepostError


class SetupError(FencepostError):
    """A requirement of Spark is missing or does not fit; the message says what to do."""
