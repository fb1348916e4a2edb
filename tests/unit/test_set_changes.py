"""A set of queries changed is the set made anew; so is an index over it, and the file of it."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.matches import Matcher
from fencepost.matches.matcher import ProbeInput
from fencepost.queries import QuerySet
from fencepost.queries.columns import CROSSING, MATCH
from pipelines.execute import task
from pipelines.registry import cache
from pipelines.registry.cache import compiled_queries, load_changes, load_queries, named
from pipelines.registry.changes import QueryChanges, compare
from pipelines.registry.current_rows import newest_rows, standing_rows
from pipelines.registry.queries import DEFINITION, query_set, query_set_of, rows_of
from pipelines.registry.query_files import given_one
from pipelines.registry.set_changes import changes_in
from pipelines.workloads import PriceBands
from schemas.queries import QUERIES
from tests.support.lakes.on_disk import on_disk
from tests.support.lakes.registry_lake import AXES, Lake, query

SETS = [("ticks", CROSSING), ("ticks", MATCH), ("locations", CROSSING)]
WHERES = {"ticks": ("price > 1", "price < 3 OR volume > 2"), "locations": ("x > 1", "y < 3")}
watched = st.sampled_from(SETS).flatmap(
    lambda of: st.fixed_dictionaries(
        {"feed": st.just(of[0]), "kind": st.just(of[1]), "where": st.sampled_from(WHERES[of[0]])},
        optional={
            "owner": st.sampled_from(("ada", "bob")),
            "streams": st.just(["s", "t"]),
            "streams_like": st.just("v*"),
        },
    )
)
registrations = st.lists(
    st.tuples(st.dictionaries(st.sampled_from("abcd"), watched), st.sets(st.sampled_from("abcd"))),
    min_size=1,
    max_size=4,
)


def same(one: QuerySet, other: QuerySet) -> bool:
    equal = [
        a.equals(b) if isinstance(a, pa.Array) else np.array_equal(a, b)
        for name, a, b in zip(one.columns()._fields, one.columns(), other.columns(), strict=True)
        if name != "shapes"
    ]
    return all(equal) and one.fingerprint == other.fingerprint


@given(registrations)
def test_what_changed_since_any_version_gives_the_set_of_the_last(steps):
    log, versions = QUERIES.arrow.empty_table(), []
    for n, (queries, gone) in enumerate(steps, 1):
        one_each = [given_one({"id": id} | fields, "test", AXES) for id, fields in queries.items()]
        request = QueryChanges(
            pa.concat_tables([DEFINITION.empty_table(), *one_each]),
            pa.array(sorted(gone), pa.string()),
        )
        rows = compare(newest_rows(log), request, AXES).rows
        for name in ("n", "registry_version"):
            rows = rows.append_column(name, pa.repeat(pa.scalar(n), rows.num_rows))
        rows = rows.select(QUERIES.arrow.names).cast(QUERIES.arrow)
        log = pa.concat_tables([log, rows])
        versions.append(log.num_rows)
    for feed, kind in SETS:

        def standing(upto: int, feed: str = feed, kind: str = kind) -> QuerySet:
            rows = standing_rows(log.slice(0, upto))
            rows = rows.filter(pa.compute.equal(rows["feed"], feed))
            return query_set_of(feed, AXES[feed], rows, kind)

        for upto in (0, *versions):
            base = standing(upto)
            changed = changes_in(base, log.slice(upto)).applied_to(base)
            changed.check()
            assert same(changed, standing(log.num_rows))


@pytest.fixture
def large(tmp_path) -> Lake:
    """A lake with as many queries as are worth keeping apart from what changed since."""
    lake = Lake.new(tmp_path)
    bands = PriceBands(count=cache.LARGE, axes=AXES["ticks"], width=0.01).table()
    lake.register(rows_of(QuerySet.from_table("ticks", AXES["ticks"], bands), {}))
    return lake


def changed_twice(lake: Lake) -> str:
    ids = lake.set().ids
    lake.put(query("more"), query(ids[7].as_py(), where="price > 5"), gone=(ids[9].as_py(),))
    lake.put(query("elsewhere", feed="locations", where="x > 1"), query("most"))
    return str(ids[7])


def test_of_a_large_set_only_what_changed_is_written(large):
    whole = on_disk(compiled_queries(large.store, large.settings, "ticks", 1))
    changed = changed_twice(large)
    for version, came in ((2, [changed, "more"]), (3, [changed, "more", "most"])):
        path = on_disk(compiled_queries(large.store, large.settings, "ticks", version))
        base, changes = load_changes(path)
        assert (base, changes.added.ids.to_pylist()) == (whole, came)
        assert len(changes.gone) == 2
        assert path.stat().st_size < whole.stat().st_size // 10
        queries = query_set(large.store, large.settings, "ticks", version)
        assert same(load_queries(path), queries)
        assert named(path) == (len(queries), queries.fingerprint)


def test_what_changed_too_much_is_written_whole(large):
    compiled_queries(large.store, large.settings, "ticks", 1)
    gone = large.set().ids[: cache.LARGE // cache.CHANGED + 1].to_pylist()
    large.put(query("more"), gone=gone)
    path = compiled_queries(large.store, large.settings, "ticks", 2)
    base, changes = load_changes(path)
    assert base is None
    assert same(changes.added, query_set(large.store, large.settings, "ticks", 2))


@pytest.mark.parametrize("harm", ["torn", "missing"])
def test_where_the_set_that_it_changes_is_gone_it_is_made_anew(large, harm):
    whole = on_disk(compiled_queries(large.store, large.settings, "ticks", 1))
    changed_twice(large)
    before = load_queries(compiled_queries(large.store, large.settings, "ticks", 3))
    if harm == "torn":
        whole.write_bytes(whole.read_bytes()[:-9])
    else:
        whole.unlink()
    path = compiled_queries(large.store, large.settings, "ticks", 3)
    base, changes = load_changes(path)
    assert base is None
    assert same(changes.added, before)


def test_a_worker_changes_the_index_that_it_has(large):
    older = compiled_queries(large.store, large.settings, "ticks", 1)
    changed_twice(large)
    newer = compiled_queries(large.store, large.settings, "ticks", 3)
    before = task._index_of(older)
    before.stabbing.check()
    after = task._index_of(newer)
    assert after.layers[0] is before.layers[0]
    assert after.base == before.base
    assert after.has_stabbing
    after.check()
    anew = query_set(large.store, large.settings, "ticks", 3)
    assert same(after.queries, anew)
    points = np.random.default_rng(1).uniform(0, 1e6, (len(AXES["ticks"]), 200))
    probes = ProbeInput(points, pa.array(["s"]), np.zeros(200, np.int32), None)
    found, expected = (each.probe(probes) for each in (after.stabbing, Matcher.build(anew)))
    assert np.array_equal(found.ptr, expected.ptr)
    for a, b in zip(found.ptr[:-1], found.ptr[1:], strict=True):
        assert set(found.ids[a:b].tolist()) == set(expected.ids[a:b].tolist())
