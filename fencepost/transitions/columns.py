"""The events to decide on, what the kernel and its twin are given, and the fates they hand out."""

from typing import NamedTuple

from fencepost.tuples import Int8s, Int32s, Int64s

UNDECIDED, ANSWERED, TIMED_OUT, DROPPED = 0, 1, 2, 3
BEFORE = -1  # the delivery of an event that was pending already


class Crossed(NamedTuple):
    """The events of a step, of queries with `within`."""

    query: Int32s
    stream: Int32s
    ts: Int64s
    type: Int8s
    delivery: Int32s
    order: Int32s  # which of a stream's events came first; greater than -1
    place: Int32s  # which of its stream and ts

    def take(self, rows: Int32s | Int64s) -> "Crossed":
        """Return some of them."""
        return Crossed(
            self.query[rows],
            self.stream[rows],
            self.ts[rows],
            self.type[rows],
            self.delivery[rows],
            self.order[rows],
            self.place[rows],
        )


class Sequences(NamedTuple):
    """The events of every (query, stream), a sequence each, in the order they happened."""

    query: Int32s
    stream: Int32s
    ts: Int64s
    delivery: Int32s
    within: Int64s
    valid_to: Int64s


class Clocks(NamedTuple):
    """Where the streams' own watermarks moved: by stream, then delivery; -1 is before the first.

    A stream's watermark after a delivery is the last of its `mark`s so far, or the feed's, if that
    is further. Streams are numbered as the events' are.
    """

    stream: Int32s
    delivery: Int32s
    mark: Int64s


class Fates(NamedTuple):
    """What became of each event, and in which delivery that was decided."""

    fate: Int8s
    delivery: Int32s
