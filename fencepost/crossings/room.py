"""Room for events whose number is not known before they are found.

NumPy's arrays, not the kernels' own: large ones come in huge pages, and pages that nothing is
written to cost nothing. (An array of the kernels' came in small pages, at 5 ns an event for the
faults alone.) A kernel stops at the start of the run that no longer fits and says how far it came;
the room then grows by what is still to be expected.
"""

from collections.abc import Callable

import numpy as np

from fencepost.crossings.columns import Events

FIRST_GUESS = 4  # events a place
SLACK = 64  # entries that kernels may write past the last event

# Of (room, events in it, first run): events in it now, first run that did not fit, candidates met.
Finder = Callable[[Events, int, int], tuple[int, int, int]]


class Room:
    """The events found so far, and room for more: 9 bytes an event."""

    def __init__(self, places: int) -> None:
        """Guess the room from the number of places walked."""
        self.used = 0
        self.met = 0
        self._out = _events(FIRST_GUESS * places + SLACK)

    @property
    def found(self) -> Events:
        """The events found: views of the room."""
        out, used = self._out, self.used
        return Events(out.place[:used], out.query[:used], out.type[:used])

    def gather(self, find: Finder, starts: list[int]) -> None:
        """Let a kernel find the events of runs, which begin at `starts`, the last one its end."""
        run, runs = 0, len(starts) - 1
        while run < runs:
            before, first = self.used, run
            self.used, run, met = find(self._out, self.used, run)
            self.met += met
            if run < runs:
                done, left = starts[run] - starts[first], starts[runs] - starts[run]
                rate = (self.used - before) / done if done else 0.0
                self._grow(max(len(self._out.place), int(1.2 * rate * left)))

    def _grow(self, more: int) -> None:
        found, grown = self.found, _events(len(self._out.place) + more)
        grown.place[: self.used] = found.place
        grown.query[: self.used] = found.query
        grown.type[: self.used] = found.type
        self._out = grown


def _events(room: int) -> Events:
    return Events(np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int8))
