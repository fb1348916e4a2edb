"""The request for an evaluation, parsed from the options.

Law: `FEED=` names a feed where it is no part of a path, or where only what follows it is a file.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fencepost.api.tables import Axes
from fencepost.errors import Fault, refuse
from fencepost.queries.geojson_fields import PLAIN, FeatureFields
from pipelines.eval.shape import NOTHING_WRITTEN, FileShapes
from pipelines.files.read.rows import STREAM_ID, TS
from pipelines.files.write.form import OutForm


@dataclass(frozen=True)
class Given:
    """One --tuples: a delivery's file, and its feed if named."""

    source: str
    feed: str | None

    @classmethod
    def of(cls, argument: str) -> "Given":
        """Split off FEED=, if there is one."""
        feed, _, path = argument.partition("=")
        is_path = not (feed and path) or any(mark in feed for mark in "/\\.")
        if is_path or (Path(argument).exists() and not Path(path).exists()):
            return cls(argument, None)
        return cls(path, feed)


@dataclass(frozen=True)
class EvalRequest:
    """What to evaluate; times are µs. `shapes` says how the files of each feed are read.

    `features` says how the zones of maps become queries, `layer` which of theirs.
    """

    queries: tuple[str, ...]
    tuples: tuple[Given, ...]
    out: Path
    form: OutForm = OutForm.CSV
    shapes: FileShapes = field(default_factory=FileShapes)
    max_skew: int = 0
    features: FeatureFields = PLAIN
    layer: str | None = None


def axes_by_feed(arguments: Sequence[str], clock: str | None) -> dict[str | None, Axes]:
    """Parse every --axes; Faults lists what is wrong with them."""
    axes: dict[str | None, Axes] = {}
    faults: list[Fault] = []
    for argument in arguments:
        feed, equals, names = argument.rpartition("=")
        listed = tuple(name.strip() for name in names.split(","))
        key = feed if equals else None
        wrong = [_why_no_axis(name, listed[:place], clock) for place, name in enumerate(listed)]
        if key in axes:
            wrong.append("the axes of one feed are given twice")
        faults += [Fault(f"--axes {argument}", why) for why in wrong if why is not None]
        axes[key] = listed
    refuse(faults, NOTHING_WRITTEN)
    return axes


def _why_no_axis(name: str, before: Axes, clock: str | None) -> str | None:
    if not name:
        return "a name is empty, where axes separated by commas were expected"
    if name in before:
        return f"'{name}' occurs twice"
    return f"'{name}' is no axis" if name in (STREAM_ID, TS, clock) else None


def clock_column(name: str | None) -> str | None:
    """Refuse a clock that is another column."""
    if name in (STREAM_ID, TS):
        fault = Fault(f"--clock {name}", f"the clock must be a column other than '{name}'")
        refuse([fault], NOTHING_WRITTEN)
    return name
