"""What a step emits part by part is what it finds along the whole path, however it is parted."""

from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fencepost import engine
from fencepost.crossings import BorderIndex
from fencepost.crossings.choose import Method
from fencepost.engine import step
from fencepost.outcome import FeedOutcome, Findings
from fencepost.queries import QuerySet
from fencepost.state import FeedState
from pipelines.workloads import PriceBands, PriceWalks, Squares
from tests.support.oracles.oracles import batch_of, epochs, query_set_of
from tests.support.stories.strategies import FEED, Story, judged_stories

METHODS: tuple[Method, ...] = ("walk", "difference")


def rows_of(*tables: pa.Table) -> list[str]:
    return sorted(repr(row) for table in tables for row in table.to_pylist())


def assert_parts_are_the_whole(
    whole: FeedOutcome, parts: list[Findings], emitting: FeedOutcome
) -> None:
    assert rows_of(*(part.events for part in parts)) == rows_of(whole.events)
    assert rows_of(*(part.transitions for part in parts)) == rows_of(whole.transitions)
    assert emitting.counts == whole.counts
    one, other = (each.state for each in (emitting, whole))
    pending = [each.pending.to_table(each.heads.names) for each in (one, other)]
    assert rows_of(pending[0]) == rows_of(pending[1])
    assert one.heads.to_table().equals(other.heads.to_table())
    with pytest.raises(ValueError, match="in parts"):
        _ = emitting.events


@given(judged_stories(), st.sets(st.integers(1, 9)), st.integers(1, 5), st.sampled_from(METHODS))
def test_parts_are_the_whole(story: Story, cuts: set[int], most: int, method: Method) -> None:
    state = FeedState.empty(FEED, story.axes)
    for epoch in epochs(story.script, cuts):
        index = BorderIndex.build(query_set_of(FEED, story.axes, epoch.registration))
        batch = batch_of(FEED, story.axes, epoch.deliveries)
        many, parts = len(epoch.deliveries), list[Findings]()
        options = {"deliveries": many, "rules": story.rules, "method": method}
        whole = step(state, batch, index, **options)  # type: ignore[arg-type]
        with mock.patch.object(engine, "AT_ONCE", most):
            emitting = step(state, batch, index, emit=parts.append, **options)  # type: ignore[arg-type]
        event(f"{min(len(parts), 3)} parts")
        assert_parts_are_the_whole(whole, parts, emitting)
        state = emitting.state


@pytest.mark.parametrize("axes", [1, 2])
def test_a_path_is_parted_by_what_its_streams_cross(axes: int) -> None:
    walks = PriceWalks(streams=60, length=40, fluctuation=0.01, dimensions=axes)
    if axes == 1:
        queries = QuerySet.from_table("ticks", ("price",), PriceBands(count=500, width=0.1).table())
    else:
        table = Squares(count=400, width=walks.domain / 9, extent=walks.domain).table()
        ends = ("x_lo", "x_hi", "y_lo", "y_hi")
        names = dict(zip(ends, ("a0_lo", "a0_hi", "a1_lo", "a1_hi"), strict=True))
        table = table.rename_columns([names.get(name, name) for name in table.column_names])
        queries = QuerySet.from_table("ticks", ("a0", "a1"), table)
    index, ticks = BorderIndex.build(queries), walks.tuples()
    empty, parts = FeedState.empty("ticks", queries.axes), list[Findings]()
    whole = step(empty, ticks, index, deliveries=1, fast=True)
    found = len(whole.found.type)
    with mock.patch.object(engine, "AT_ONCE", found // 5):
        emitting = step(empty, ticks, index, deliveries=1, fast=True, emit=parts.append)
    assert_parts_are_the_whole(whole, parts, emitting)
    assert 4 < len(parts) < 30
    assert max(len(part.found.type) for part in parts) < found / 2
