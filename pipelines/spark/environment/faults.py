"""What goes wrong around Spark: a Java, a jar, a folder; each with what to do about it."""

from fencepost.errors import FencepostError


class SetupError(FencepostError):
    """Something that Spark needs is missing or does not fit, and what to do about it."""
