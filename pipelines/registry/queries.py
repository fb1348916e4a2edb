"""Queries as the registry keeps them: rows of the table, and the sets that are active at a version.

A definition is what a user says of a query: the columns of `queries` without the registry's own
(n, registry_version, version, removed). A join is stored as the given text; `feed` is its
lane. A row counts if `arrivals` says that its registry commit is done; of the rows of an id the
newest is current. A set has its queries in the order in which their versions were
registered, by (n, id): what is registered later comes last.

Law: `query_set_of(rows_of(q))` is q, to the bit, and in the same order. The registry as of
a version never changes. Everything works by column: (measured) a million queries each way in
0.1 s.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from math import inf
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Int32s, Int64s
from fencepost.errors import LakeError
from fencepost.lanes import feeds_of
from fencepost.queries import Query, QuerySet, StandingQuery, parted
from fencepost.queries.columns import CROSSING, no_tests
from fencepost.queries.condition import OPS
from fencepost.queries.joins import JoinQuery, SomeStreams
from fencepost.queries.region import listed_regions
from fencepost.times import ALWAYS_FROM, ALWAYS_TO
from pipelines.lake.sequence import ARRIVALS
from pipelines.lake.store import Store
from pipelines.planning.deliveries import Arrivals
from pipelines.project.settings import Settings
from pipelines.registry.current_rows import newest_rows, standing_rows
from pipelines.registry.regions import REGION, region_columns, regions_of, side_texts
from schemas.arrivals import DONE, REGISTRY
from schemas.queries import QUERIES as QUERIES_TABLE
from schemas.table import TIME

ITS_OWN = ("n", "registry_version", "version", "removed")
FREE = ("owner", "tags", "note")
ENTER, SILENT = "enter", "silent"

Axes = Mapping[str, tuple[str, ...]]
"""The axes of every feed."""

DEFINITION = pa.schema([field for field in QUERIES_TABLE.arrow if field.name not in ITS_OWN])
"""What a user says of a query."""

OF_JOINS = (
    *("joined_on", "window_us", "window_count"),
    *("left_axis", "right_axis", "at_least", "at_most"),
    *("distance", "right_streams", "right_streams_like"),
)
"""Columns that only joins have."""

OF_WATCHING = ("tests", "within", "leaps")
"""Columns that joins do not have."""


def rows_of(queries: QuerySet, more: Mapping[str, Any]) -> pa.Table:
    """Give a set as definitions; `more` holds `where` and the free columns, as far as given."""
    n, d = len(queries), len(queries.axes)
    offsets = pa.array((queries.box_ptr * d).astype(np.int32))
    streams = pa.ListArray.from_arrays(
        pa.array(queries.stream_ptr.astype(np.int32)),
        queries.streams,
        mask=pa.array(np.diff(queries.stream_ptr) == 0),
    )
    first = pa.DictionaryArray.from_arrays(
        queries.enters_on_first.astype(np.int8), pa.array([SILENT, ENTER])
    )
    columns = {
        "id": queries.ids,
        "feed": pa.repeat(pa.scalar(queries.feed), n),
        "kind": pa.repeat(pa.scalar(queries.kind), n),
        "lo": pa.ListArray.from_arrays(offsets, pa.array(queries.lo.T.ravel())),
        "hi": pa.ListArray.from_arrays(offsets, pa.array(queries.hi.T.ravel())),
        "tests": _tests_listed(queries),
        "streams": streams,
        "streams_like": _patterns_listed(queries),
        "within": pa.array(queries.within, mask=queries.within < 0),
        "on_first": first.cast(pa.string()),
        "valid_from": _instants(queries.valid_from, ALWAYS_FROM),
        "valid_to": _instants(queries.valid_to, ALWAYS_TO),
        "leaps": pa.array(queries.leaps, mask=~queries.leaps),
        **_regions_listed(queries),
        **more,
    }
    return pa.table([columns.get(f.name, pa.nulls(n, f.type)) for f in DEFINITION], DEFINITION)


def rows_of_each(queries: Sequence[Query]) -> pa.Table:
    """Give parsed queries, of any feeds, as definitions. 2 µs a query.

    Joins come last.
    """
    watching, joins = parted(queries)
    return pa.concat_tables([_rows_of_watching(watching), rows_of_joins(joins)])


def _rows_of_watching(queries: Sequence[StandingQuery]) -> pa.Table:
    ends = np.fromiter(
        chain.from_iterable(chain.from_iterable(chain.from_iterable(q.boxes for q in queries))),
        np.float64,
    ).reshape(-1, 2)
    ends += 0.0  # -0.0 becomes 0.0
    offsets = pa.array(np.cumsum([0, *(sum(map(len, q.boxes)) for q in queries)]).astype(np.int32))
    columns: dict[str, pa.Array] = {
        "lo": pa.ListArray.from_arrays(offsets, pa.array(ends[:, 0])),
        "hi": pa.ListArray.from_arrays(offsets, pa.array(ends[:, 1])),
        "tests": pa.array([_tests_of(q) for q in queries], pa.list_(pa.int32())),
        "tags": pa.array([q.tags or None for q in queries], pa.list_(pa.string())),
        "leaps": pa.array([q.leaps or None for q in queries], pa.bool_()),
    }
    regions = region_columns([q.region for q in queries], [q.position for q in queries])
    for name, values in regions.items():
        columns[name] = pa.array(values, DEFINITION.field(name).type)
    for field in DEFINITION:
        if field.name in OF_JOINS:
            columns[field.name] = pa.nulls(len(queries), field.type)
        elif field.name not in columns:
            columns[field.name] = pa.array([getattr(q, field.name) for q in queries], field.type)
    return pa.table([columns[name] for name in DEFINITION.names], DEFINITION)


def rows_of_joins(queries: Sequence[JoinQuery]) -> pa.Table:
    """Give joins as definitions: their texts, never their conjuncts."""
    n = len(queries)
    columns: dict[str, Iterable[Any]] = {
        "feed": (q.lane for q in queries),
        "lo": repeat([], n),
        "hi": repeat([], n),
        "on_first": repeat(SILENT, n),
        "tags": (q.tags or None for q in queries),
        "joined_on": (q.on for q in queries),
        "window_us": (q.window for q in queries),
        "window_count": (q.last for q in queries),
        "at_least": (None if q.low == -inf else q.low for q in queries),
        "at_most": (None if q.high == inf else q.high for q in queries),
        **{name: repeat(None, n) for name in (*OF_WATCHING, *REGION)},
        "region": (side_texts(q.regions) for q in queries),
        **_of_near_joins(queries),
    }
    for name in DEFINITION.names:
        columns.setdefault(name, map(attrgetter(name), queries))
    return pa.table([pa.array(list(columns[f.name]), f.type) for f in DEFINITION], DEFINITION)


def _of_near_joins(queries: Sequence[JoinQuery]) -> dict[str, Iterable[Any]]:
    """Give what only near joins have: the streams that they take, and where positions are."""
    some = SomeStreams()
    left, right = ([q.takes[side] or some for q in queries] for side in (0, 1))
    return {
        "streams": (each.named or None for each in left),
        "streams_like": (each.likes or None for each in left),
        "right_streams": (each.named or None for each in right),
        "right_streams_like": (each.likes or None for each in right),
        "region_on": ([*q.positions[0], *q.positions[1]] if q.positions else None for q in queries),
        "on_earth": (q.earth if q.positions else None for q in queries),
    }


def query_set_of(feed: str, axes: Sequence[str], rows: pa.Table, kind: str = CROSSING) -> QuerySet:
    """Give one feed's definitions of one kind as a set.

    Without a column `version` all are first versions.
    """
    mine = pc.equal(rows["kind"], kind)
    if not pc.all(mine).as_py():
        rows = rows.filter(mine)
    n, d = rows.num_rows, len(axes)
    lo, lo_ptr = _flat(rows["lo"])
    hi, hi_ptr = _flat(rows["hi"])
    if (lo_ptr % d).any() or not np.array_equal(lo_ptr, hi_ptr):
        raise LakeError(
            f"the boxes of the queries on '{feed}' are not over its {d} axes, {', '.join(axes)}: "
            "they were registered for others. Give the feed its axes back in fencepost.toml."
        )
    streams, likes = (rows[name].combine_chunks() for name in ("streams", "streams_like"))
    nameless, patternless = (
        each.is_null().to_numpy(zero_copy_only=False) for each in (streams, likes)
    )
    versions = np.ones(n, np.int32)
    if "version" in rows.column_names:
        versions = rows["version"].to_numpy().astype(np.int32)
    position, shape, shapes = regions_of(feed, rows)
    return QuerySet(
        feed,
        tuple(axes),
        rows["id"].combine_chunks(),
        versions,
        lo_ptr // d,
        np.ascontiguousarray(lo.reshape(-1, d).T),
        np.ascontiguousarray(hi.reshape(-1, d).T),
        nameless | ~patternless,
        _ptr(streams),
        streams.flatten(),
        rows["within"].fill_null(-1).to_numpy(),
        pc.equal(rows["on_first"], ENTER).to_numpy(),
        rows["valid_from"].cast(pa.int64()).fill_null(ALWAYS_FROM).to_numpy(),
        rows["valid_to"].cast(pa.int64()).fill_null(ALWAYS_TO).to_numpy(),
        *_tests_flat(rows["tests"], lo_ptr // d),
        np.repeat(np.arange(n), np.diff(_ptr(likes))),
        likes.flatten(),
        rows["leaps"].fill_null(False).to_numpy(),
        shape,
        shapes,
        kind,
        position,
    )


def _tests_of(query: StandingQuery) -> list[int] | None:
    """Write the tests of a query end to end, four numbers each, box by box."""
    flat: list[int] = []
    for box, tests in enumerate(query.tests):
        for left, op, right in tests:
            flat += (box, left, OPS.index(op), right)
    return flat or None


def _tests_listed(queries: QuerySet) -> pa.Array:
    """Give the tests of each query as `_tests_of` writes them."""
    if len(queries.tests) == 0:
        return pa.nulls(len(queries), pa.list_(pa.int32()))
    boxes = np.diff(queries.box_ptr)
    place = np.arange(len(queries.test_ptr) - 1) - np.repeat(queries.box_ptr[:-1], boxes)
    box = np.repeat(place, np.diff(queries.test_ptr)).astype(np.int32)
    flat = pa.array(np.column_stack([box, queries.tests]).ravel())
    offsets = queries.test_ptr[queries.box_ptr] * 4
    none = offsets[1:] == offsets[:-1]
    return pa.ListArray.from_arrays(offsets.astype(np.int32), flat, mask=pa.array(none))


def _patterns_listed(queries: QuerySet) -> pa.Array:
    """Give the patterns of each query."""
    if queries.patterns is None:
        return pa.nulls(len(queries), pa.list_(pa.string()))
    has, ptr, likes, *_ = queries.patterns
    return pa.ListArray.from_arrays(pa.array(ptr.astype(np.int32)), likes, mask=pa.array(~has))


def _regions_listed(queries: QuerySet) -> dict[str, pa.Array]:
    """Give the regions of each query; nothing where none has one."""
    if queries.position is None:
        return {}
    regions = listed_regions(queries.shape, queries.shapes)
    columns = region_columns(regions, [queries.position] * len(queries))
    return {name: pa.array(columns[name], DEFINITION.field(name).type) for name in columns}


def _tests_flat(lists: pa.ChunkedArray, box_ptr: Int64s) -> tuple[Int64s, Int32s]:
    """Give the tests of all boxes end to end, and where each box's begin."""
    if lists.null_count == len(lists):
        return no_tests(int(box_ptr[-1]))
    flat, ptr = _flat(lists)
    numbers = flat.reshape(-1, 4)
    box = numbers[:, 0] + np.repeat(box_ptr[:-1], np.diff(ptr) // 4)
    test_ptr = np.zeros(box_ptr[-1] + 1, np.int64)
    np.cumsum(np.bincount(box, minlength=int(box_ptr[-1])), out=test_ptr[1:])
    return test_ptr, np.ascontiguousarray(numbers[:, 1:], np.int32)


def _instants(times: Int64s, always: int) -> pa.Array:
    return pa.array(times, mask=times == always).cast(TIME)


def _flat(lists: pa.ChunkedArray) -> tuple[npt.NDArray[Any], Int64s]:
    """Give the members of lists end to end, and where each list begins."""
    array = lists.combine_chunks()
    return array.flatten().to_numpy(), _ptr(array)


def _ptr(lists: pa.ListArray) -> Int64s:
    ptr = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(lists.value_lengths().fill_null(0).to_numpy(), out=ptr[1:])
    return ptr


QUERIES = "queries"


def version_at(arrivals: pa.Table, n: int) -> int:
    """Give the registry version that delivery n is evaluated with; 0: no query was registered."""
    before = pc.less(arrivals["n"], n)
    return int(pc.max(done_versions(arrivals.filter(before))).as_py() or 0)


def newest_version(store: Store) -> int:
    """Give the newest registry version; 0: nothing was registered yet."""
    return store.fold(ARRIVALS, Arrivals).registry_version


def newest(store: Store, version: int | None = None) -> pa.Table:
    """Give the newest row of every registered id, removed ones included."""
    return newest_rows(history(store, version))


def standing(store: Store, version: int | None = None) -> pa.Table:
    """Give the active queries as of a registry version (None: the newest), in the order of sets."""
    return standing_rows(history(store, version))


def history(store: Store, version: int | None = None) -> pa.Table:
    """Give all rows of done commits, up to a registry version."""
    done = store.fold(ARRIVALS, Arrivals).registry_versions
    counts = [each for each in done if version is None or each <= version]
    rows = store.rows(QUERIES)
    value_set = pa.array(counts, pa.int64())
    return rows.filter(pc.is_in(rows["registry_version"], value_set=value_set))


def rows_since(store: Store, after: int, version: int) -> pa.Table:
    """Give the rows of done commits after a registry version, up to another; older files stay shut.

    Of any feed: a query may have come from another one.
    """
    done = store.fold(ARRIVALS, Arrivals).registry_versions
    counts = [each for each in done if after < each <= version]
    rows = store.rows_between(QUERIES, QUERIES, "registry_version", after + 1, version)
    return rows.filter(pc.is_in(rows["registry_version"], value_set=pa.array(counts, pa.int64())))


def done_versions(arrivals: pa.Table) -> pa.ChunkedArray:
    """List the versions of the registry commits that are done."""
    mine = pc.and_(pc.equal(arrivals["kind"], REGISTRY), pc.equal(arrivals["state"], DONE))
    return arrivals["registry_version"].filter(mine)


def is_watched(store: Store, feed: str) -> bool:
    """Whether any query watches a feed, alone or in a join. (Measured) a million queries 30 ms."""
    rows = store.some_columns(QUERIES, ["n", "id", "feed", "removed"])
    lanes = [lane for lane in pc.unique(rows["feed"]).to_pylist() if feed in feeds_of(lane)]
    rows = rows.filter(pc.field("feed").isin(pa.array(lanes, pa.string())))
    gone = rows.filter(pc.field("removed"))
    ever = pc.is_in(rows["id"], value_set=pc.unique(gone["id"]))
    if not pc.all(ever, min_count=0).as_py():  # one that was never removed
        return True
    newest: dict[str, tuple[int, bool]] = {}
    for n, name, removed in zip(
        *(rows[c].to_pylist() for c in ("n", "id", "removed")), strict=True
    ):
        newest[name] = max((n, removed), newest.get(name, (0, True)))
    return not all(removed for _, removed in newest.values())


def query_set(
    store: Store,
    settings: Settings,
    feed: str,
    version: int | None = None,
    kind: str = CROSSING,
) -> QuerySet:
    """Give the set of a feed's queries of a kind as of a registry version (None: the newest)."""
    rows = _that_concern(history(store, version), feed, kind)
    found = standing_rows(rows)
    mine = pc.equal(found["feed"], feed)
    found = found if pc.all(mine, min_count=0).as_py() else found.filter(mine)
    return query_set_of(feed, settings.axes[feed], found, kind)


def _that_concern(rows: pa.Table, feed: str, kind: str) -> pa.Table:
    """Leave away the rows of ids that never were a feed's queries of a kind."""
    mine = pc.and_(pc.equal(rows["feed"], feed), pc.equal(rows["kind"], kind))
    if pc.all(mine, min_count=0).as_py():
        return rows
    return rows.filter(pc.is_in(rows["id"], value_set=pc.unique(rows["id"].filter(mine))))
