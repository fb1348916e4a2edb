"""Into how many parts the joins of a lane go."""

from types import MappingProxyType
from typing import Any

import pytest

from pipelines.execute.joins.job import ONE_TASK, JoinJob
from pipelines.planning.chain import Chain, Epoch
from pipelines.planning.deliveries import Delivery

LANE = "bids~asks"


def epoch(number: int, **more: Any) -> Epoch:
    told = (LANE, number, 1, "p", number, number, "2026-01-01", (number,), 1, "f", None, (0,))
    return Epoch(*told, False, {}, "c", **more)


def job(tuples: int, before: dict[str, int] | None) -> JoinJob:
    """A job of one delivery with so many tuples, behind an epoch with these counts, if any."""
    epochs = () if before is None else (epoch(1, counts=before, done=True),)
    now = epoch(len(epochs) + 1)
    delivery = Delivery(now.epoch, "bids", "2026-01-01", tuples, tuples, 0, 0, 0, ())
    nothing: Any = MappingProxyType({})
    chain = Chain(LANE, epochs, 1, 0, ())
    store: Any = None
    deliveries = {now.epoch: delivery}
    return JoinJob(
        store, nothing, chain, (now,), deliveries, 4, nothing, nothing, nothing, 0, nothing
    )


@pytest.mark.parametrize(
    ("tuples", "before", "parts"),
    [
        (ONE_TASK + 1, {"accepted": 10, "paired": 30, "came_in": 6, "went_out": 5}, 4),
        (ONE_TASK, {"accepted": 10, "paired": 30, "came_in": 6, "went_out": 5}, 1),
        (ONE_TASK + 1, {"accepted": 10, "paired": 30, "came_in": 6, "went_out": 4}, 1),
        (ONE_TASK + 1, None, 1),
    ],
)
def test_joins_are_parted_where_there_is_much_to_read_and_much_was_found(tuples, before, parts):
    assert job(tuples, before).parts == parts
