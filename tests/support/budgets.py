"""Seconds that each room of the tests may cost, and what it did cost.

Seconds are those of the tests' own reports, over all workers: of the short set, on two quiet cores,
a room's sum over two is about what it adds to `make test`.
"""

from collections.abc import Iterable, Mapping

BUDGETS = {
    "unit": 300,
    "property": 120,
    "conformance": 60,
    "faults": 180,
    "spark": 150,
    "dagster": 150,
    "e2e": 240,
}
"""Seconds by room, which are to be reached: together ten minutes of two workers."""

FAR = 10
"""In CI, where more examples are drawn, a room fails at so many times its budget."""


def seconds_by_room(durations: Iterable[tuple[str, float]]) -> Mapping[str, float]:
    """Add up the durations of tests, given with their ids, by the folder they are in."""
    total = dict.fromkeys(BUDGETS, 0.0)
    for id_, seconds in durations:
        room = id_.removeprefix("tests/").partition("/")[0]
        if room in total:
            total[room] += seconds
    return {room: seconds for room, seconds in total.items() if seconds}


def summary(spent: Mapping[str, float]) -> str:
    """Write what each room cost and may cost; a room over its budget is marked."""
    rooms = (
        f"{room} {seconds:.0f}/{BUDGETS[room]}" + " (over)" * (seconds > BUDGETS[room])
        for room, seconds in spent.items()
    )
    return " · ".join(rooms)


def far_over(spent: Mapping[str, float]) -> list[str]:
    """Name the rooms that took far more than their budget."""
    return [room for room, seconds in spent.items() if seconds > FAR * BUDGETS[room]]
