"""How far a piece of work is: one callback, from every room to whatever shows it.

Law: progress is for people. Leaving it out changes no result.
"""

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Called with what is being done, and how much of the whole is done, from 0 to 1."""


def no_progress(doing: str, done: float) -> None:
    """Show nothing."""


def part_of(progress: Progress, begin: float, end: float) -> Progress:
    """Give the progress of one part of the work: its 0 to 1 is `begin` to `end` of the whole."""
    return lambda doing, done: progress(doing, begin + (end - begin) * done)
