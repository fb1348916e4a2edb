"""What an evaluation was asked for, its words taken apart.

Law: `FEED=FILE` names a feed where what stands before the first `=` is no path, or where only what
stands behind it exists.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fencepost.errors import Fault
from pipelines.reading.raw_rows import STREAM_ID, TS, Declared, refuse
from pipelines.writing.form import OutForm


@dataclass(frozen=True)
class Given:
    """One --tuples: a delivery's file, and its feed where it was named."""

    source: str
    feed: str | None

    @classmethod
    def of(cls, argument: str) -> "Given":
        """Take FEED= off, if there is one."""
        feed, equals, path = argument.partition("=")
        is_path = any(mark in feed for mark in "/\\.") or not (feed and equals and path)
        if is_path or (Path(argument).exists() and not Path(path).exists()):
            return cls(argument, None)
        return cls(path, feed)


@dataclass(frozen=True)
class EvalRequest:
    """Times are µs. `axes` by feed; those under None are for every feed that is not there."""

    queries: tuple[str, ...]
    tuples: tuple[Given, ...]
    out: Path
    form: OutForm
    ts_unit: str | None = None
    axes: Mapping[str | None, tuple[str, ...]] | None = None
    lateness: int = 0
    clock: str | None = None
    max_skew: int = 0

    @classmethod
    def of(
        cls, *, queries: Sequence[str], tuples: Sequence[str], out: str, axes: Sequence[str], **rest: object
    ) -> "EvalRequest":
        ...

    def declared(self, feed: str) -> Declared:
        """Say what is known of a feed's files beforehand."""
        axes = self.axes or {}
        return Declared(axes.get(feed, axes.get(None)), self.clock, self.ts_unit)


def axes_by_feed(arguments: Sequence[str], clock: str | None) -> dict[str | None, tuple[str, ...]]:
    """Take every --axes apart; Faults tell what is wrong with them."""
    axes: dict[str | None, tuple[str, ...]] = {}
    faults: list[Fault] = []
    for argument in arguments:
        feed, equals, names = argument.rpartition("=")
        listed = tuple(name.strip() for name in names.split(","))
        taken = (STREAM_ID, TS, clock)
        for place, name in enumerate(listed):
            if not name:
                faults.append(Fault(f"--axes {argument}", f"name {place + 1} is empty"))
            elif name in taken:
                faults.append(Fault(f"--axes {argument}", f"'{name}' can be no axis"))
            elif name in listed[:place]:
                faults.append(Fault(f"--axes {argument}", f"'{name}' stands twice"))
        key = feed if equals else None
        if key in axes:
            faults.append(Fault(f"--axes {argument}", "axes are given twice for the same feed"))
        axes[key] = listed
    refuse(faults)
    return axes
