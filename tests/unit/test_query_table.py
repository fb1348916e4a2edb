"""A table of queries is taken whole, or every bad row of it is told."""

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.doubles import exactly
from fencepost.errors import Faults
from fencepost.queries import QuerySet, StandingQuery
from fencepost.times import ALWAYS_FROM, ALWAYS_TO, EARLIEST, LATEST, LONGEST
from tests.support.query_columns import as_lists

INF = math.inf
AXES = ("price", "volume")
LARGEST = 1.7976931348623157e308
NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
NOON_US = 1_795_003_200_000_000


def taken(axes=AXES, **columns):
    n = max((len(values) for values in columns.values()), default=1)
    columns = {"id": [f"q{k}" for k in range(n)], **columns}
    queries = QuerySet.from_table("ticks", axes, pa.table(columns), "q.parquet")
    queries.check()
    return queries


def refused(**columns):
    with pytest.raises(Faults) as caught:
        taken(**columns)
    return caught.value


def told(**columns):
    """The faults as (row, message)."""
    return [(fault.line, fault.message) for fault in refused(**columns).faults]


ENDS = (None, -2.0, -0.0, 0.0, 1.0, 2.5, 1e300)
bounds = st.sampled_from(
    [(lo, hi) for lo in ENDS for hi in ENDS if lo is None or hi is None or lo < hi]
)


@st.composite
def rows(draw):
    begin = draw(st.none() | st.integers(EARLIEST, 0))
    names = st.lists(st.sampled_from(("a", "b", "ü")), min_size=1, max_size=4)
    return {
        **dict(zip(("price_lo", "price_hi"), draw(bounds), strict=True)),
        **dict(zip(("volume_lo", "volume_hi"), draw(bounds), strict=True)),
        "version": draw(st.none() | st.integers(1, 2**31 - 1)),
        "within": draw(st.none() | st.integers(0, LONGEST)),
        "streams": draw(st.none() | names),
        "on_first": draw(st.sampled_from((None, "silent", "enter"))),
        "valid_from": begin,
        "valid_to": draw(st.none() | st.integers((begin or 0) + 1, LATEST - 1)),
    }


def query_of(name, row):
    def box(axis):
        lo, hi = row[f"{axis}_lo"], row[f"{axis}_hi"]
        return (-INF if lo is None else lo, INF if hi is None else hi)

    return StandingQuery(
        id=name,
        feed="ticks",
        where="",
        boxes=((box("price"), box("volume")),),
        streams=row["streams"] and tuple(dict.fromkeys(row["streams"])),
        within=row["within"],
        on_first=row["on_first"] or "silent",
        valid_from=row["valid_from"],
        valid_to=row["valid_to"],
        version=row["version"] or 1,
    )


SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        *((f"{axis}_{end}", pa.float64()) for axis in AXES for end in ("lo", "hi")),
        ("version", pa.int32()),
        ("within", pa.int64()),
        ("streams", pa.list_(pa.string())),
        ("on_first", pa.string()),
        ("valid_from", pa.int64()),
        ("valid_to", pa.int64()),
    ]
)


@given(st.lists(rows(), max_size=6), st.integers(0, 3))
def test_oracle_a_table_is_its_rows_taken_one_by_one(drawn, begin):
    named = [{"id": f"q{k}", **row} for k, row in enumerate(drawn)]
    table = pa.Table.from_pylist(named, SCHEMA).slice(begin)
    queries = QuerySet.from_table("ticks", AXES, table)
    queries.check()
    one_by_one = QuerySet.from_queries(
        "ticks", AXES, [query_of(row["id"], row) for row in named[begin:]]
    )
    assert as_lists(queries.columns()) == as_lists(one_by_one.columns())
    assert queries.fingerprint == one_by_one.fingerprint
    halves = pa.concat_tables([table.slice(0, 2), table.slice(2)])
    assert QuerySet.from_table("ticks", AXES, halves).fingerprint == queries.fingerprint


# ── what a column may be ──────────────────────────────────────────────────────────────────────────


def test_a_bound_that_is_null_infinite_or_absent_is_none():
    queries = taken(price_lo=[None, -INF, 1.0], price_hi=[INF, None, None])
    assert queries.lo.tolist() == [[-INF, -INF, 1.0], [-INF] * 3]
    assert queries.hi.tolist() == [[INF] * 3, [INF] * 3]
    untyped = taken(price_lo=pa.nulls(2), version=pa.nulls(2), streams=pa.nulls(2))
    assert untyped.fingerprint == taken(price_lo=[None, -INF]).fingerprint


@pytest.mark.parametrize("kind", ["int8", "int64", "uint8", "uint64", "float16", "float", "double"])
def test_a_bound_is_any_number_that_a_double_holds(kind):
    queries = taken(price_lo=pa.array([5, None, 0], getattr(pa, f"{kind}", pa.float32)()))
    assert queries.lo[0].tolist() == [5.0, -INF, 0.0]


def test_minus_zero_is_zero():
    queries = taken(price_lo=[-0.0], volume_hi=[-0.0])
    assert not np.signbit(queries.lo[0])
    assert not np.signbit(queries.hi[1])


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", "ü"], pa.large_string()),
        pa.array(["a", "ü"], pa.string_view()),
        pa.array(["a", "ü"]).dictionary_encode(),
        pa.chunked_array([["a"], ["ü"]]),
    ],
)
def test_text_is_text_however_it_is_stored(column):
    assert taken(id=column).ids.to_pylist() == ["a", "ü"]
    assert taken(on_first=pa.array(["enter", None]).dictionary_encode()).enters_on_first[0]


def test_times_are_microseconds_typed_or_text():
    short = timedelta(milliseconds=1500)
    for within in (
        [1_500_000],
        ["1.5s"],
        ["PT1.5S"],
        [short],
        pa.array([short], pa.duration("ns")),
    ):
        assert taken(within=within).within.tolist() == [1_500_000]
    for unit in ("s", "ms", "us", "ns"):
        instants = pa.array([NOON, None], pa.timestamp(unit, "Europe/Berlin"))
        assert taken(valid_from=instants).valid_from.tolist() == [NOON_US, ALWAYS_FROM]
    queries = taken(valid_to=["2026-11-18T13:00:00+01:00", None])
    assert queries.valid_to.tolist() == [NOON_US, ALWAYS_TO]
    assert taken(valid_from=pa.array([-1], pa.timestamp("ns", "UTC"))).valid_from.tolist() == [-1]
    assert taken(valid_from=pa.array([7], pa.uint64())).valid_from.tolist() == [7]


def test_a_stream_named_twice_counts_once():
    lists = [["b", "a", "b"], None, ["a"], ["a", "a"]]
    for kind in (pa.list_(pa.string()), pa.large_list(pa.large_string())):
        queries = taken(streams=pa.array(lists, kind))
        assert queries.streams.to_pylist() == ["b", "a", "a", "a"]
        assert queries.stream_ptr.tolist() == [0, 2, 2, 3, 4]
        assert queries.everywhere.tolist() == [False, True, False, False]


# ── faults of columns ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("columns", "message", "hint"),
    [
        ({"prize_lo": [1.0]}, "unknown column `prize_lo`", "Did you mean 'price_lo'?"),
        ({"price": [1.0]}, "unknown column `price`", "the columns are: id, price_lo, price_hi"),
        ({"feed": ["ticks"]}, "unknown column `feed`", None),
        ({"id": [7]}, "`id` holds int64, text was expected", None),
        ({"id": [b"\xff"]}, "`id` holds binary, text was expected", None),
        ({"price_lo": ["1"]}, "`price_lo` holds string, numbers were expected", "cast it to"),
        ({"price_hi": [True]}, "`price_hi` holds bool, numbers were expected", None),
        ({"version": [1.0]}, "`version` holds double, integers were expected", None),
        ({"within": [1.5]}, "`within` holds double, µs, durations or text", None),
        ({"streams": ["AAPL"]}, "`streams` holds string, lists of texts were expected", None),
        ({"streams": [[1]]}, "`streams` holds int64, text was expected", None),
        ({"on_first": [1]}, "`on_first` holds int64, text was expected", None),
        ({"valid_to": [NOON.replace(tzinfo=None)]}, "`valid_to` holds timestamp[us], µs", None),
    ],
)
def test_a_column_of_another_kind_or_name_is_refused(columns, message, hint):
    (fault,) = refused(**columns).faults
    assert fault.message.startswith(message)
    assert fault.line is None
    assert hint is None or hint in str(fault.hint)


def test_the_column_id_is_needed_and_none_stands_twice():
    with pytest.raises(Faults, match="q: the column `id` is missing"):
        QuerySet.from_table("ticks", AXES, pa.table({"price_lo": [1.0]}), "q")
    twice = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["id", "id"])
    with pytest.raises(Faults, match="the column `id` occurs 2 times"):
        QuerySet.from_table("ticks", AXES, twice)


def test_bytes_that_are_no_utf_8_are_no_text():
    bad = pa.StringArray.from_buffers(
        1, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff")
    )
    (fault,) = refused(id=bad).faults
    assert fault.message.startswith("`id` holds what is no text")


# ── faults of rows ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": ["a", None]}, "`id` is null"),
        ({"id": ["a", ""]}, "`id` is empty"),
        ({"id": ["a", "ü" * 257]}, "`id` has 257 characters; the limit is 256"),
        ({"id": ["a", "x\x1f"]}, "`id` holds a control character, U+001F, as character 2"),
        ({"id": ["a", "x\x7f"]}, "`id` holds a control character, U+007F, as character 2"),
        ({"id": ["a", "\x80"]}, "`id` holds a control character, U+0080, as character 1"),
        ({"id": ["a", "a"]}, "the id 'a' occurs twice: in rows 1 and 2"),
        ({"price_lo": [1.0, math.nan]}, "`price_lo` is nan, a number or -inf was expected"),
        ({"price_lo": [1.0, INF]}, "`price_lo` is inf, a number or -inf was expected"),
        ({"volume_hi": [1.0, -INF]}, "`volume_hi` is -inf, a number or inf was expected"),
        (
            {"price_lo": [1, 2**53 + 1]},
            "`price_lo` 9007199254740993 has no exact double",
        ),
        (
            {"price_lo": [1.0, 5.0], "price_hi": [5.0, 5.0]},
            "holds for no value: `price_lo` 5.0 is not below `price_hi` 5.0",
        ),
        (
            {"volume_hi": [1.0, -LARGEST]},
            f"holds for no value: `volume_lo` -inf is not below `volume_hi` {-LARGEST}",
        ),
        ({"version": [1, 0]}, "`version` is 0, 1 to 2147483647 was expected"),
        ({"version": [1, 2**31]}, "`version` is 2147483648, 1 to 2147483647 was expected"),
        ({"within": [0, -1]}, "`within` -1 us is negative or over 400 years"),
        ({"within": [0, LONGEST + 1]}, f"`within` {LONGEST + 1} us is negative or over 400 years"),
        (
            {"within": pa.array([0, 2**64 - 1], pa.uint64())},
            "`within` 18446744073709551615 us is negative or over 400 years",
        ),
        ({"within": ["3m", "3"]}, "`within`: '3' is not a duration like"),
        ({"streams": [["a"], []]}, "`streams` is an empty list: null watches all streams"),
        ({"streams": [["a"], ["a", None]]}, "a stream of `streams` is null"),
        ({"streams": [["a"], ["a", ""]]}, "a stream of `streams` is empty"),
        ({"on_first": ["enter", "Enter"]}, "`on_first`: 'Enter' was given, 'silent' or 'enter'"),
        ({"valid_from": [0, LATEST]}, f"`valid_from` {LATEST} us lies outside the years 1900 to"),
        ({"valid_to": [0, EARLIEST - 1]}, f"`valid_to` {EARLIEST - 1} us lies outside the years"),
        (
            {"valid_to": pa.array([0, 2**62], pa.timestamp("s", "UTC"))},
            f"`valid_to` {2**62} s lies outside the years 1900 to 2200",
        ),
        ({"valid_from": [None, "2026"]}, "`valid_from`: '2026' is not an instant like"),
        ({"valid_from": [0, 5], "valid_to": [1, 5]}, "`valid_from` is not before `valid_to`"),
    ],
)
def test_a_bad_row_is_told_with_its_number(columns, message):
    ((row, said),) = told(**columns)
    assert row == 2
    assert said.startswith(message)


def test_every_fault_of_every_row_is_told_in_the_order_of_the_rows():
    faults = told(
        id=["a", "", "b", "a"],
        price_lo=[math.nan, 1.0, 9.0, 1.0],
        price_hi=[1.0, 1.0, 2.0, 5.0],
        version=[0, 1, 1, 1],
    )
    assert [(row, said.split()[0]) for row, said in faults] == [
        *((1, "`price_lo`"), (1, "`version`"), (2, "`id`"), (2, "holds"), (3, "holds")),
        (4, "the"),
    ]


def test_of_many_bad_rows_a_hundred_are_listed_and_the_rest_counted():
    error = refused(price_lo=[5.0] * 1234, price_hi=[1.0] * 1234)
    assert [fault.line for fault in error.faults] == list(range(1, 101))
    assert str(error).endswith("100 faults, … and 1,134 more, nothing imported.")
    assert str(error).startswith("q.parquet:1: holds for no value: `price_lo` 5.0")


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-(2**10), 2**10).map(lambda n: n << 52))
)
def test_oracle_an_integer_bound_is_taken_iff_a_double_holds_it(whole):
    def fits(n):
        try:
            return exactly(n) == n
        except ValueError:
            return False

    good = [n for n in whole if fits(n)]
    assert taken(("x",), x_lo=pa.array(good, pa.int64())).lo[0].tolist() == good
    bad = [n for n in whole if not fits(n)]
    if bad:
        assert len(told_of(bad)) == len(bad)


def told_of(whole):
    with pytest.raises(Faults) as caught:
        taken(("x",), x_lo=pa.array(whole, pa.int64()))
    return caught.value.faults


def test_ids_are_compared_byte_by_byte():
    names = ["é", "e\u0301", "E", "e", "e ", "e\u200b", "x" * 9, "x" * 8, "x" * 16]
    assert taken(id=names).ids.to_pylist() == names
    assert len(told(id=[*names, *names])) == len(names)


def test_a_query_of_two_axes_takes_a_hundred_bytes():
    n = 100_000
    lo = np.arange(n) * 1.0
    queries = taken(price_lo=lo, price_hi=lo + 0.5)
    assert len(queries) == n
    assert queries.nbytes < 105 * n


# ── kinds ─────────────────────────────────────────────────────────────────────────────────────────


MIXED = pa.table(
    {
        "id": ["a", "b", "c", "d"],
        "price_lo": [1.0, 2.0, 3.0, 4.0],
        "kind": ["match", None, "crossing", "match"],
        "within": [None, "3m", None, None],
        "streams": [["s", "t"], None, ["u"], None],
    }
)


def test_a_table_of_both_kinds_becomes_a_set_of_each_in_its_order():
    sets = QuerySet.of_each_kind("ticks", AXES, MIXED)
    for kind, ids, lows in (("crossing", ["b", "c"], [2, 3]), ("match", ["a", "d"], [1, 4])):
        queries = sets[kind]
        queries.check()
        assert (queries.kind, queries.ids.to_pylist()) == (kind, ids)
        assert queries.lo[0].tolist() == lows
    assert sets["crossing"].within.tolist() == [180_000_000, -1]
    assert sets["match"].streams.to_pylist() == ["s", "t"]
    plain = MIXED.drop_columns(["kind"])
    assert list(QuerySet.of_each_kind("ticks", AXES, plain)) == ["crossing"]


def test_a_table_of_one_kind_need_not_say_it():
    table = MIXED.select(["id", "price_lo"])
    queries = QuerySet.from_table("ticks", AXES, table, kind="match")
    queries.check()
    assert (queries.kind, len(queries)) == ("match", 4)
    again = pa.table({"id": ["a", "b"], "kind": ["match", None]})
    assert len(QuerySet.from_table("ticks", AXES, again, kind="match")) == 2
    with pytest.raises(Faults, match="t:1: `kind` is not 'crossing'"):
        QuerySet.from_table("ticks", AXES, again, "t")


def test_a_match_with_what_only_crossings_have_is_a_fault_of_its_row():
    table = pa.table(
        {
            "id": ["a", "b", "c", "d"],
            "kind": ["match", "match", "crossing", "band_join"],
            "within": ["0s", None, "1s", None],
            "on_first": [None, "silent", "enter", None],
        }
    )
    with pytest.raises(Faults) as told:
        QuerySet.of_each_kind("ticks", AXES, table, "t")
    assert [(fault.line, fault.message.split(":")[0]) for fault in told.value.faults] == [
        (1, "a match has no `within`"),
        (2, "a match has no `on_first`"),
        (4, "`kind`"),
    ]
    assert "'crossing' or 'match' was expected" in told.value.faults[2].message
    numbers = pa.table({"id": ["a"], "kind": [1]})
    with pytest.raises(Faults, match="`kind` holds int64, text was expected"):
        QuerySet.of_each_kind("ticks", AXES, numbers, "t")
