"""A registration holds whole or not at all, and every number of the sequence is taken once."""

import itertools
from collections.abc import Callable

import pyarrow as pa
import pytest

from fencepost.errors import LakeError
from pipelines.lake.sequence import ARRIVALS, conclude, latest, take_numbers
from pipelines.lake.store import F, Store
from pipelines.registry.changes import QueryChanges
from pipelines.registry.commit import recover, register
from pipelines.registry.queries import version_at
from pipelines.registry.query_files import given_one
from tests.support.crashes import Killed, killed_at
from tests.support.lakes.registry_lake import AXES, NOW, Lake, Row, query


@pytest.fixture
def lake(tmp_path) -> Lake:
    return Lake.new(tmp_path)


POINTS = ("registry.planned", "registry.appended", "registry.done")


def evaluated_and_free(row: Row) -> Row:
    return {name: row[name] for name in row if name not in ("n", "registry_version")}


@pytest.mark.parametrize("place", POINTS)
@pytest.mark.fault(5)
def test_killed_anywhere_and_repeated_the_registry_is_the_same(lake, tmp_path, place):
    unharmed = Lake.new(tmp_path / "unharmed")
    steps = [
        ([query("a"), query("b"), query("c", owner="ada")], ()),
        ([query("a", where="price > 1"), query("c", owner="bob"), query("d")], ("b",)),
    ]
    for queries, gone in steps:
        unharmed.put(*queries, gone=gone)
        with killed_at(place), pytest.raises(Killed):
            lake.put(*queries, gone=gone)
        lake = lake.anew()
        lake.put(*queries, gone=gone)
        assert lake.set().fingerprint == unharmed.set().fingerprint
        assert [evaluated_and_free(row) for row in lake.standing()] == [
            evaluated_and_free(row) for row in unharmed.standing()
        ]
    states = latest(lake.store.rows(ARRIVALS))["state"].to_pylist()
    abandoned = place == "registry.planned"
    assert states == (["refused", "done"] * 2 if abandoned else ["done", "done"])
    version = lake.store.version(ARRIVALS)
    recover(lake.store)
    assert lake.store.version(ARRIVALS) == version


@pytest.mark.fault(28)
def test_what_was_not_done_does_not_stand_and_its_version_is_not_given_again(lake):
    lake.put(query("a"))
    with killed_at("registry.appended"), pytest.raises(Killed):
        lake.put(query("b"))
    assert (Lake(lake.root).ids(), lake.anew().ids()) == (["a"], ["a", "b"])
    with killed_at("registry.planned"), pytest.raises(Killed):
        lake.put(query("c"))
    lake = lake.anew()
    refused = latest(lake.store.rows(ARRIVALS)).to_pylist()[-1]
    assert (refused["state"], refused["reason"], refused["n"]) == ("refused", "abandoned", 3)
    done = lake.put(query("c"))
    assert (done.n, done.registry_version) == (4, 4)
    assert [version_at(lake.store.rows(ARRIVALS), n) for n in (2, 3, 4, 5)] == [1, 2, 2, 4]


class Raced(Store):
    """A store whose next attempt to take a number is late: somebody else comes first."""

    first: Callable[[], object] | None = None

    def fold(self, name: str, begin: Callable[[], F]) -> F:
        found = super().fold(name, begin)
        if name == ARRIVALS and self.first is not None:
            first, self.first = self.first, None
            first()
        return found


def raced_of(lake: Lake) -> Raced:
    raced = Raced.open(lake.root, lake.settings.tables)
    assert isinstance(raced, Raced)
    return raced


def arrival(store: Store, n: int) -> pa.Table:
    row = {
        "n": n, "lane": "ticks", "kind": "delivery", "state": "planned", "plan": f"p{n}",
        "path": "a.csv", "content": "", "partition_key": "2026-11-18", "found_at": NOW,
        "bases": "{}",
    }  # fmt: skip
    return store.as_table(ARRIVALS, [row])


@pytest.mark.fault(21)
def test_a_number_is_taken_once_however_many_want_it(lake):
    raced = raced_of(lake)
    other = lake.store
    asked = []

    def make(n: int) -> pa.Table:
        asked.append(n)
        return arrival(raced, n)

    def two(n: int) -> pa.Table:
        return pa.concat_tables([arrival(other, n), arrival(other, n + 1)])

    raced.first = lambda: take_numbers(other, "planned", "theirs", "ticks", two)
    taken = take_numbers(raced, "planned", "mine", "ticks", make)
    assert (asked, taken["n"].to_pylist()) == ([1, 3], [3])
    assert latest(other.rows(ARRIVALS))["n"].to_pylist() == [1, 2, 3]


def test_who_comes_too_late_registers_nothing(lake):
    raced = raced_of(lake)
    given = given_one({"feed": "ticks"} | query(note="late"), "test", AXES)

    def first() -> None:
        lake.put(query(note="first"))

    raced.first = first
    with pytest.raises(LakeError, match=r"at the same time; nothing was registered"):
        register(raced, lake.settings, QueryChanges(given), NOW)
    (row,) = lake.standing()
    assert row["note"] == "first"


def test_a_conclusion_is_told_once_and_its_row_tells(lake):
    planned = take_numbers(
        lake.store, "planned", "p", "ticks", lambda n: arrival(lake.store, n)
    ).to_pylist()[0]
    for _ in range(3):
        conclude(lake.store, "p", "ticks", [{**planned, "state": "done", "rows": 7}], 0)
    ledger = lake.store.rows(ARRIVALS)
    assert ledger.num_rows == 2
    for order in itertools.permutations(range(2)):
        (row,) = latest(ledger.take(pa.array(order))).to_pylist()
        assert (row["state"], row["rows"]) == ("done", 7)
