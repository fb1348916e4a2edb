"""What audits expect of many steps at once is what the reference says of each."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost.queries import CROSSING, MATCH, QuerySet
from fencepost.reference.crossings import event, match
from fencepost.reference.order import Head
from pipelines.checks.audits import crossings, matches, sample
from pipelines.checks.audits.sample import SampledSteps
from tests.support.examples import FEW
from tests.support.stories.strategies import FEED, STREAMS, TICK, VALUES, query_sets

AXES = ("x", "y")

POINT = st.tuples(*[st.sampled_from(VALUES)] * len(AXES))
STEP = st.tuples(
    st.sampled_from(STREAMS), st.integers(0, 9), st.integers(0, 2), POINT, st.none() | POINT
)


def steps_of(drawn: list[Any]) -> SampledSteps:
    """Put steps in columns."""
    nothing = (np.nan,) * len(AXES)
    columns = np.array([(*after, *(before or nothing)) for *_, after, before in drawn])
    points = columns.reshape(len(drawn), 2 * len(AXES)).T
    return SampledSteps(
        pa.array([stream for stream, *_ in drawn], pa.string()),
        np.array([ts * TICK for _, ts, *_ in drawn], np.int64),
        np.array([place for _, _, place, *_ in drawn], np.int64),
        points[: len(AXES)],
        points[len(AXES) :],
        np.array([before is None for *_, before in drawn], np.bool_),
    )


@pytest.mark.parametrize("together", [1, 1 << 18])
@given(queries=query_sets(AXES, most=6), drawn=st.lists(STEP, min_size=1, max_size=12))
@settings(max_examples=FEW)
def test_steps_yield_what_the_reference_says(together, queries, drawn):
    expected: dict[str, set[tuple[Any, ...]]] = {CROSSING: set(), MATCH: set()}
    for stream, ts, place, after, before in drawn:
        here = Head(ts * TICK, after, place)
        there = None if before is None else Head(0, before)
        for query in queries:
            if query.kind == CROSSING:
                found: Any = event(query, stream, there, here, 0)
                kind = () if found is None else (found.type,)
            else:
                found, kind = match(query, stream, here, 0), ()
            if found is not None:
                row = (*kind, query.id, query.version, stream, ts * TICK, place)
                expected[query.kind].add(row)
    steps = steps_of(drawn)
    for audit in (crossings.AUDIT, matches.AUDIT):
        mine = [query for query in queries if query.kind == audit.kind]
        if not mine:
            continue
        standing = QuerySet.from_queries(FEED, AXES, mine, audit.kind)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sample, "TOGETHER", together)
            parts = list(steps.parts(standing.lo.shape[1]))
        found = {row for part in parts for row in audit.expected(standing, part)}
        assert found == expected[audit.kind]
