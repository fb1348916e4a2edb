"""What the tests of faults did, in figures: each test records its own, the summary adds them up."""

from collections import Counter
from collections.abc import Iterable

FIGURES = {
    "kills": "processes killed (SIGKILL)",
    "kills on Spark": "of Spark's",
    "crashes": "crashes at named points",
    "failed calls": "system calls made to fail",
    "seeds": "seeds of the simulated lake",
    "simulated kills": "kills in them",
    "epochs": "epochs of soaks",
    "flips": "bytes flipped",
}
"""The names that tests give to `record_property`, and how the summary calls them."""


def told(properties: Iterable[tuple[str, object]]) -> str:
    """Add up what tests recorded, in one line; nothing where no test did."""
    total: Counter[str] = Counter()
    for name, figure in properties:
        if name in FIGURES and isinstance(figure, int):
            total[name] += figure
    return " · ".join(f"{total[name]:,} {words}" for name, words in FIGURES.items() if total[name])
