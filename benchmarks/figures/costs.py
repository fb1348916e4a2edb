"""How cost grows with each thing that can grow, and how far each stage is from its floor."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.figures import crossings as by
from benchmarks.figures import s1_axes, s4
from benchmarks.figures.headlines import All
from benchmarks.figures.lines import Source


@dataclass(frozen=True)
class Growth:
    """A curve of ours: what grows, in which figure, and what its cost is of."""

    what: str
    figure: str
    panel: str
    curve: str
    unit: str
    why: str


GROWTHS = (
    Growth("tuples", "ours-growth", "a", "Fencepost", "a tuple, ns", "each is looked at once"),
    Growth(
        "crossings a tuple",
        "ours-growth",
        "b",
        "Fencepost",
        "a tuple, ns",
        "a step costs what it crosses",
    ),
    Growth(
        "streams, one tuple each",
        "s1-15",
        "a",
        by.AUTO,
        "all, ms",
        "a call costs a tenth of a millisecond by itself",
    ),
    Growth("queries", "s1-10", "b", by.AUTO, "a tuple, ns", "with 10 × the events a tuple"),
    Growth(
        "the width of queries, % of the domain",
        "s1-11",
        "b",
        by.AUTO,
        "a tuple, ns",
        "at W = FL steps leap over queries",
    ),
    Growth("axes", "s1-19", "a", s1_axes.OURS, "a tuple, ns", "each axis has its own borders"),
    Growth("bands of a join", "s4-updates", "a", s4.OURS, "an update, µs", "as many changes each"),
    Growth("groups τ of a join", "s4-updates", "b", s4.OURS, "an update, µs", "met one by one"),
    Growth(
        "epochs: the lake's age",
        "ours-age",
        "a",
        "Fencepost",
        "an epoch, ms",
        "states are written anew now and then, and logs are cut",
    ),
)


def growths(drawn: All) -> Iterator[tuple[str, ...]]:
    """Rows: what grows, from and to, how often, its cost at both ends, how often that."""
    for each in GROWTHS:
        if each.figure not in drawn:
            continue
        points = drawn[each.figure][each.panel][each.curve]
        (x0, y0), (x1, y1) = points[0], points[-1]
        grows = f"{_short(x0)} → {_short(x1)} ({_short(x1 / x0)} ×)"
        cost = f"{_short(y0)} → {_short(y1)}"
        yield (
            each.what,
            grows,
            each.unit,
            cost,
            f"**{y1 / y0:.2f} ×**",
            each.why,
            each.figure,
        )


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


@dataclass(frozen=True)
class Floor:
    """A stage, the floor that it is measured against, and the line that has both."""

    stage: str
    floor: str
    source: Source
    inverse: bool = False
    """The line has the floor's time of ours."""


FLOORS: Sequence[Floor] = (
    Floor(
        "all crossings of a path, 20 events a tuple",
        "memory bandwidth: NumPy fills as many columns of events",
        Source("engine", "default", "S1 default"),
    ),
    Floor(
        "a path on which little crosses",
        "`np.searchsorted` of every value",
        Source("engine", "sparse", "sparse: np.searchsorted"),
        inverse=True,
    ),
    Floor(
        "a step: tuples judged, arranged, walked, the next state",
        "the kernels alone, on a path that lies ready",
        Source("engine", "step", "of the kernels alone"),
    ),
    Floor(
        "building the index of a million queries",
        "`np.argsort` of their borders",
        Source("engine", "index", "1 M queries: build"),
    ),
    Floor(
        "peak memory of a step",
        "its input, output and index",
        Source("engine", "memory", "peak memory of a step"),
    ),
    Floor(
        "ingest of Parquet, each row checked and numbered",
        "Spark reads and writes the same rows, unchecked",
        Source("lake", "ingest", "ingest of Parquet"),
    ),
    Floor(
        "ingest of CSV, each row checked and numbered",
        "Spark reads and writes the same rows, unchecked",
        Source("lake", "csv", "ingest of CSV"),
    ),
    Floor(
        "an epoch, table to tables",
        "tasks that only decode its Parquet columns",
        Source("lake", "epoch", "one epoch, of tasks that only decode"),
    ),
    Floor(
        "an epoch, table to tables",
        "Spark's own `lag()` over the table, written nowhere",
        Source("lake", "epoch", "one epoch, files read by workers"),
    ),
    Floor(
        "an epoch whose rows go through Spark (`mapInArrow`)",
        "Spark's own `lag()` over the table, written nowhere",
        Source("lake", "epoch", "one epoch through mapInArrow"),
    ),
    Floor(
        "event rows written",
        "Spark writes as many rows of the same schema",
        Source("lake", "events", "an epoch of many events, of Spark's own write"),
    ),
    Floor(
        "a micro-batch of 1,000 tuples, a million streams known",
        "one Delta append of 1,000 rows by Spark",
        Source("lake", "micro", "1,000 tuples, of a Delta append"),
    ),
)


def floors() -> Iterator[tuple[str, ...]]:
    """Rows: a stage, its floor, ours of the floor, facts, where from."""
    for each in FLOORS:
        row = each.source.row()
        if row is None or row.value is None:
            continue
        ratio = 1 / row.value if each.inverse else row.value
        yield each.stage, each.floor, f"**{ratio:.2f} ×**", row.facts, each.source.link
