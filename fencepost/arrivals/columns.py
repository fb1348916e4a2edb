"""What the kernels of arrivals are given: plain arrays, under names."""

from typing import NamedTuple

from fencepost.tuples import Doubles, Int8s, Int32s, Int64s


class Incoming(NamedTuple):
    """The tuples of a batch, in the order in which they came."""

    code: Int32s  # of each name of the batch: its number among all streams
    stream: Int32s  # [tuple] its name in the batch
    ts: Int64s
    values: Doubles  # [axis, tuple]
    delivery: Int32s  # -1 for what waits from before: that comes first
    tag: Int64s  # empty where there are none


class Lasts(NamedTuple):
    """The last tuple of each stream before the batch."""

    ts: Int64s  # NEVER where there is none
    values: Doubles  # [axis, stream]
    place: Int32s  # which of its instant it is


class Verdicts(NamedTuple):
    """What becomes of the tuples, written as they are judged."""

    verdict: Int8s  # [tuple] why it is rejected; or PASSED_BY, KEPT, WAITS
    nth: Int32s  # [tuple] which of its stream and ts
    seen: Doubles  # [stream, (ts, row, (low, high) of each axis)] of its last tuple so far
    kept: Int32s  # [stream] how many of its tuples are KEPT
    before: Int32s  # [tuple] the row of the stream's tuple before it in time, -1 for the first
    marks: Int64s  # [delivery + 1] the watermark before the deliveries, and after each


class Places(NamedTuple):
    """The places of a path that tuples are written to."""

    next: Int64s  # [stream] the place of its next tuple
    ts: Int64s
    values: Doubles  # [axis, place]
    delivery: Int32s
    nth: Int32s  # empty where none ties
    tag: Int64s  # empty where there are none
