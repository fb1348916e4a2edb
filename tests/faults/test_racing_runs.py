"""Runs over one lake at the same time, and no lock keeps them apart.

Law of the ledger: what is new is judged by the ledger that gives the number, so who comes second
finds the delivery there, under whatever name. The lock saves work; no delivery needs it.
"""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from fencepost.errors import LakeError
from pipelines import ingest
from pipelines.ingest import IngestReport
from pipelines.ingest.landing import KnownFiles
from pipelines.lake.sequence import ARRIVALS, Numbers, latest
from pipelines.lake.store import F, Store
from pipelines.places import is_remote, place_of
from pipelines.places import replace as write
from pipelines.registry.changes import QueryChanges
from pipelines.registry.commit import register
from pipelines.registry.query_files import given_one
from pipelines.spark.runner import HereRunner
from tests.support.crashes import hooked
from tests.support.lakes import registry_lake
from tests.support.lakes.landing_place import T0, Place, ticks

MOMENTS = pytest.mark.parametrize("moment", [KnownFiles, Numbers])
"""When the other comes: after the look, or after the look at the number."""


class Raced(Store):
    """The store of a run that another overtakes, once: when it has read a ledger so far."""

    moment: Callable[[], object] | None = None
    other: Callable[[], object] | None = None

    def fold(self, name: str, begin: Callable[[], F]) -> F:
        found = super().fold(name, begin)
        if self.other is not None and name == ARRIVALS and begin is self.moment:
            other, self.other = self.other, None
            other()
        return found


def overtaken(place: Place, moment: Callable[[], object], other: Callable[[], object]) -> Raced:
    store = Raced.open(place.settings.root, place.settings.tables)
    assert isinstance(store, Raced)
    store.moment, store.other = moment, other
    return store


def ingested(place: Place, store: Store) -> IngestReport:
    return ingest.ingest(store, place.settings, HereRunner(), T0)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place.make(tmp_path)


@MOMENTS
@pytest.mark.fault(21)
def test_two_runs_that_find_a_delivery_at_once_take_it_once(place, moment):
    place.land("a.csv", ticks(1, 2))
    place.land("b.csv", ticks(3))
    late = ingested(place, overtaken(place, moment, place.ingest))
    assert (late.loaded, late.refused, late.done) == ([], [], 1.0)
    assert [(r["n"], r["path"], r["state"]) for r in place.arrivals()] == [
        (1, "a.csv", "done"), (2, "b.csv", "done")
    ]  # fmt: skip
    assert len(place.tuples()) == 3


@MOMENTS
@pytest.mark.fault(21)
def test_of_two_runs_that_find_the_same_content_under_two_names_one_takes_it(place, moment):
    """Each lists another state of the folder, as two machines may."""
    place.declare("ticks", source=place.folder / "listed early")
    first = replace(place, folder=place.folder)
    first.declare("ticks", source=place.folder / "listed late")
    place.land("b.csv", ticks(1, 2))
    place.land("c.csv", ticks(3))
    first.land("a.csv", ticks(1, 2))
    late = ingested(place, overtaken(place, moment, first.ingest))
    assert [each.path for each in late.loaded] == ["c.csv"]
    (refused,) = late.refused
    assert (refused.path, refused.reason) == ("b.csv", "repeat")
    assert refused.detail == "'b.csv' holds the same as 'a.csv' of delivery 1, which was loaded"
    assert [(r["path"], r["state"]) for r in place.arrivals()] == [
        ("a.csv", "done"), ("b.csv", "refused"), ("c.csv", "done")
    ]  # fmt: skip
    assert [row["price"] for row in place.tuples()] == [1.0, 2.0, 3.0]


@MOMENTS
@pytest.mark.fault(21)
def test_of_two_runs_that_find_one_name_with_two_contents_one_takes_it(place, moment):
    place.declare("ticks", source=place.folder / "listed early")
    first = replace(place, folder=place.folder)
    first.declare("ticks", source=place.folder / "listed late")
    place.land("a.csv", ticks(1, 2))
    first.land("a.csv", ticks(3))
    late = ingested(place, overtaken(place, moment, first.ingest))
    assert [(each.path, each.reason) for each in late.refused] == [("a.csv", "changed")]
    assert [row["price"] for row in place.tuples()] == [3.0]


@pytest.mark.fault(21)
def test_a_file_that_would_repeat_one_that_another_run_refused_is_looked_at_again(place):
    """The first run has loaded `a.csv` with older content: this one found its copy beside it."""
    place.declare("ticks", source=place.folder / "listed early")
    first = replace(place, folder=place.folder)
    first.declare("ticks", source=place.folder / "listed late")
    place.land("a.csv", ticks(1, 2))
    place.land("b.csv", ticks(1, 2))
    first.land("a.csv", ticks(3))
    late = ingested(place, overtaken(place, Numbers, first.ingest))
    assert [(each.path, each.reason) for each in late.refused] == [("a.csv", "changed")]
    assert [each.path for each in place.ingest().loaded] == ["b.csv"]
    assert [row["price"] for row in place.tuples()] == [3.0, 1.0, 2.0]


@pytest.mark.fault(21)
def test_two_runs_that_retry_the_same_at_once_take_it_once(place):
    place.land("a.csv", ticks(1, 2) + "no tuple\n")
    place.land("b.parquet", "no Parquet")
    place.ingest()
    (place.settings.feeds["ticks"].source / "b.parquet").write_text(ticks(7))
    place.declare("ticks", form="csv")

    def retried(store: Store) -> IngestReport:
        return ingest.retry(store, place.settings, HereRunner(), T0)

    late = retried(overtaken(place, Numbers, lambda: retried(place.store)))
    assert (late.loaded, late.refused) == ([], [])
    assert [(r["n"], r["path"], r["state"]) for r in place.arrivals()] == [
        (1, "a.csv", "done"), (2, "b.parquet", "refused"),
        (3, "a.csv", "done"), (4, "b.parquet", "done"),
    ]  # fmt: skip
    assert [row["price"] for row in place.tuples()] == [1.0, 2.0, 7.0]
    assert len(place.aside()) == 2, "the row itself, and as retried once"


@pytest.mark.fault(21)
def test_a_registration_that_another_is_in_the_middle_of_registers_nothing(tmp_path):
    lake = registry_lake.Lake.new(tmp_path)
    given = given_one({"feed": "ticks"} | registry_lake.query(note="late"), "t", registry_lake.AXES)

    def meanwhile(point: str) -> None:
        if point == "registry.planned":
            store = Store.open(lake.root, lake.settings.tables)
            with pytest.raises(LakeError, match="at the same time; nothing was registered"):
                register(store, lake.settings, QueryChanges(given), T0)

    with hooked(meanwhile):
        lake.put(registry_lake.query(note="first"))
    assert [row["note"] for row in lake.standing()] == ["first"]
    assert len(latest(lake.store.rows(ARRIVALS))) == 1


MACHINES, RUNS, FILES = 6, 50, 40


@pytest.mark.fault(21)
def test_of_three_hundred_racing_runs_without_a_lock_each_delivery_is_taken_once(place):
    """Files land all the while; each content lands under two names."""
    race(place, MACHINES, RUNS, FILES)


@pytest.mark.slow
@pytest.mark.fault(21)
def test_of_racing_runs_over_a_lake_on_a_store_without_a_lease_one_takes_each(place, gateway_s3):
    """The lake and what lands are on a server whose conditional puts race as in real stores."""
    root = place_of(gateway_s3.uri("lake"), place.folder)
    place.declare("ticks", source=place_of(gateway_s3.uri("landing"), place.folder))
    place.settings = replace(place.settings, root=root)
    Store.create(root, place.settings.tables, buckets=4)
    race(place, 4, 10, 20)


def race(place: Place, machines: int, runs: int, files: int) -> None:
    landing = iter(range(files))
    source = place.settings.feeds["ticks"].source
    lock = threading.Lock()

    def land(k: int) -> None:
        content = ticks(k // 2, k // 2 + 0.5)
        if is_remote(source):
            write(source / f"{k:03}.csv", content.encode())
        else:
            place.land(f"{k:03}.csv", content)

    def machine(_: int) -> int:
        store = Store.open(place.settings.root, place.settings.tables)
        loaded = 0
        for _ in range(runs):
            with lock:
                for k in islice(landing, 2):
                    land(k)
            ingest.recover(store, place.settings, HereRunner())
            loaded += len(ingested(place, store).loaded)
        return loaded

    with ThreadPoolExecutor(machines) as racing:
        loaded = sum(racing.map(machine, range(machines)))
    place.store = Store.open(place.settings.root, place.settings.tables)
    rows = place.arrivals()
    assert sorted(row["path"] for row in rows) == [f"{k:03}.csv" for k in range(files)]
    assert Counter(row["state"] for row in rows) == {"done": files // 2, "refused": files // 2}
    assert {row["reason"] for row in rows} == {None, "repeat"}
    assert sorted(row["price"] for row in place.tuples()) == [k / 2 for k in range(files)]
    assert loaded == files // 2
