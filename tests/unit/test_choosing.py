"""To walk or to compare: what is measured, what is chosen, and that no row depends on it."""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from fencepost.crossings import BorderIndex
from fencepost.crossings.choose import METHODS, Chosen
from fencepost.engine import step
from fencepost.errors import InputError
from fencepost.outcome import FeedOutcome
from fencepost.queries import QuerySet
from fencepost.state import FeedState
from fencepost.tuples import TupleBatch

QUERIES, STREAMS, EACH = 20_000, 50, 400


@cache
def index_of(axes: int, width: float) -> BorderIndex:
    """Boxes of one width, anywhere in the unit cube."""
    rng = np.random.default_rng(1)
    lo = rng.random((axes, QUERIES))
    table = {"id": pa.array([f"q{n}" for n in range(QUERIES)])}
    for axis, begins in enumerate(lo):
        table |= {f"v{axis}_lo": pa.array(begins), f"v{axis}_hi": pa.array(begins + width)}
    names = tuple(f"v{axis}" for axis in range(axes))
    return BorderIndex.build(QuerySet.from_table("f", names, pa.table(table)))


def walked(index: BorderIndex, level: float, method: str = "auto", each: int = EACH) -> FeedOutcome:
    """Streams that move by about this share of each axis at a step, so many steps each."""
    axes = index.queries.axes
    rng = np.random.default_rng(2)
    steps = rng.uniform(-2 * level, 2 * level, (len(axes), STREAMS, each))
    walk = np.cumsum(steps, axis=2) + rng.random((len(axes), STREAMS, 1))
    values = 1.0 - np.abs(1.0 - walk % 2.0)  # turned back at either end
    ids = pa.array(np.repeat([f"s{n}" for n in range(STREAMS)], each))
    ts = np.tile(np.arange(each, dtype=np.int64), STREAMS)
    batch = TupleBatch.from_columns("f", axes, ids, ts, values.reshape(len(axes), -1))
    state = FeedState.empty("f", axes)
    return step(state, batch, index, deliveries=1, method=method)  # type: ignore[arg-type]


def ordered(outcome: FeedOutcome) -> pa.Table:
    return outcome.events.sort_by(
        [("query_id", "ascending"), ("stream_id", "ascending"), ("ts", "ascending")]
    )


@pytest.mark.parametrize(
    ("axes", "width", "level", "expected"),
    [
        (1, 0.01, 0.0001, "walk"),  # FL far below W: the papers' own ground
        (1, 0.0005, 0.05, "difference"),  # a step leaps over what is narrow
        (2, 0.05, 0.001, "walk"),
        (2, 0.01, 0.2, "difference"),
    ],
)
def test_the_cheaper_way_is_chosen_and_says_why(axes, width, level, expected):
    chosen = walked(index_of(axes, width), level).chosen
    assert chosen.method == expected
    assert chosen.fl is not None
    if expected == "difference":
        assert chosen.w is not None
        assert chosen.fl > chosen.w
        assert "queries hold at a place" in chosen.why


def test_what_is_measured_is_what_the_papers_call_so():
    """Of 20,000 boxes of width 0.0005 a place is in 10; steps of mean length 0.05 pass 2,000."""
    chosen = walked(index_of(1, 0.0005), 0.05).chosen
    assert chosen.w == pytest.approx(0.0005, rel=0.3)
    assert chosen.fl == pytest.approx(0.05, rel=0.3)


@pytest.mark.parametrize("axes", [1, 2])
def test_the_rows_are_the_same_whatever_is_chosen(axes):
    index = index_of(axes, 0.02 if axes == 1 else 0.05)
    ways = ("walk", "difference")
    by_walk, by_difference = (walked(index, 0.02, way, EACH // 8) for way in ways)
    assert ordered(by_walk).equals(ordered(by_difference))
    assert len(by_walk.found.type) > 1000


def test_a_small_step_is_walked_and_nobody_looks():
    index = index_of(1, 0.01)
    batch = TupleBatch.empty("f", index.queries.axes)
    chosen = step(FeedState.empty("f", index.queries.axes), batch, index, deliveries=0).chosen
    assert chosen == Chosen("walk", "few steps or few queries")


def test_an_unknown_method_is_refused():
    index = index_of(1, 0.01)
    with pytest.raises(InputError, match="'stroll' was given, expected one of: auto, walk"):
        walked(index, 0.01, "stroll")
    assert set(METHODS) == {"auto", "walk", "difference"}
