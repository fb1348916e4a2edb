"""The way of a row through the code stays short: ARCHITECTURE.md tells it with these figures."""

import pytest

from tests.support.trace import WALKS, played, room

MOST_FILES = dict(zip(WALKS, (71, 55, 7, 88), strict=True))
"""They only go down: a file more on the way wants a reason. The last seven: what is declared of
a feed's files and of their order, on the way in and to the epoch; times in any form; ties; losses;
columns by the names that a file spells. The last six: where a place is; a lease in the place
of a lock; what a commit replaces; which tasks share an epoch. The last four of a tick: what a
step found; the order of its rows; the pieces that they are written in; its tuples in turn, or
sorted. The last of a rule: where a position is; a feature of a map; its region, in the registry
and in the index; a set's files apart from what is in them. The last on the way in: where a record
of CSV ends, apart from its cells. The last of the three: the hash of a table, apart from those of
texts, since it has kernels, and the reference has none."""


@pytest.mark.parametrize("name", WALKS)
def test_a_walk_gets_no_longer(name):
    walk = played(name)
    assert len(walk.files) <= MOST_FILES[name], sorted(walk.files)


def test_a_tick_goes_from_the_command_through_the_engine_to_the_ledger():
    rooms = {room(file) for file in played(next(iter(WALKS))).files}
    assert {"pipelines/cli", "pipelines/ingest", "pipelines/files", "fencepost"} <= rooms
    assert {"fencepost/crossings", "pipelines/lake"} <= rooms
