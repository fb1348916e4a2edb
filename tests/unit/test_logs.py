"""A log as of an epoch: of each key the newest row that counts, whatever was written since."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.execute.logs import AsOf, newest
from pipelines.lake.data_files import write_files
from schemas import all_tables, axes_only

REORDER = all_tables(axes_only({"grid": ("x",)}))["reorder"]
KEYS = ("stream_id", "ts")
MOST = 8

Row = dict[str, Any]


def row_of(drawn: tuple[str, int, int, int, bool, bool]) -> Row:
    stream, ts, epoch, generation, gone, snapshot = drawn
    row = {"feed": "grid", "stream_id": stream, "ts": ts, "x": 0.0, "bucket": -1}
    return row | {
        "epoch": epoch,
        "generation": generation,
        "gone": gone and not snapshot,
        "snapshot": snapshot,
    }


def one_of_each(rows: Sequence[Row]) -> list[Row]:
    """An epoch writes one row of a key, and one more with a snapshot."""
    keys = ("stream_id", "ts", "epoch", "generation", "snapshot")
    return list({tuple(row[key] for key in keys): row for row in rows}.values())


rows = st.lists(
    st.tuples(
        st.sampled_from("abü"),
        st.integers(0, 1),
        st.integers(1, MOST),
        st.integers(1, 3),
        st.booleans(),
        st.booleans(),
    ).map(row_of),
    max_size=30,
).map(one_of_each)


@st.composite
def points(draw: st.DrawFn) -> AsOf:
    """Generations that rise, each in force for some epochs, and a snapshot at or before the end."""
    ends = sorted(draw(st.sets(st.integers(1, MOST), max_size=3)))
    generations = sorted(draw(st.sets(st.integers(1, 4), min_size=len(ends), max_size=len(ends))))
    begins = [1, *(end + 1 for end in ends)]
    eras = tuple(zip(generations, begins, ends, strict=False))
    return AsOf(eras, draw(st.integers(0, ends[-1] if ends else 0)))


def table(of: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist(list(of), REORDER.arrow)


def counts(row: Row, as_of: AsOf) -> bool:
    """By the words: in force, and of the last snapshot or behind it."""
    force = any(g == row["generation"] and a <= row["epoch"] <= b for g, a, b in as_of.eras)
    if row["snapshot"]:
        return force and row["epoch"] == as_of.snapshot
    return force and row["epoch"] > as_of.snapshot


def standing(of: Sequence[Row]) -> dict[tuple[Any, ...], int]:
    latest: dict[tuple[Any, ...], Row] = {}
    for row in sorted(of, key=lambda row: row["epoch"]):
        latest[row["stream_id"], row["ts"]] = row
    return {key: row["epoch"] for key, row in latest.items() if not row["gone"]}


def read(of: Sequence[Row], as_of: AsOf) -> dict[tuple[Any, ...], int]:
    found = newest(as_of.counting(table(of)), KEYS)
    ts = found["ts"].cast(pa.int64()).to_pylist()
    keys = list(zip(found["stream_id"].to_pylist(), ts, strict=True))
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, found["epoch"].to_pylist(), strict=True))


@given(rows, points())
def test_oracle_a_log_as_of_an_epoch_is_what_its_words_say(rows, as_of) -> None:
    assert read(rows, as_of) == standing([row for row in rows if counts(row, as_of)])


@given(rows, points(), st.data())
@pytest.mark.fault(3)
def test_what_is_written_later_or_under_another_generation_changes_nothing(
    rows, as_of, data
) -> None:
    before = [row for row in rows if counts(row, as_of)]
    others = [row for row in rows if not counts(row, as_of)]
    later = [row | {"epoch": row["epoch"] + as_of.epoch} for row in rows]
    mixed = data.draw(st.permutations([*before, *others, *later]))
    assert read(mixed, as_of) == read(before, as_of)


@given(rows, points())
def test_a_file_is_passed_over_only_if_none_of_its_rows_counts(tmp_path_factory, rows, as_of):
    folder = tmp_path_factory.mktemp("log")
    for part in (rows[:3], rows[3:9], rows[9:]):
        for file in write_files(folder, REORDER, table(part)):
            assert as_of.may_count(file) or not any(counts(row, as_of) for row in part)


def test_a_file_outside_the_epochs_that_count_is_passed_over(tmp_path) -> None:
    of_five = [row_of(("a", 0, 5, 1, False, False))]
    [file] = write_files(tmp_path, REORDER, table(of_five))
    assert AsOf(((1, 1, 5),), 0).may_count(file)
    assert not AsOf(((1, 1, 4),), 0).may_count(file)
    assert not AsOf(((1, 1, 9),), 6).may_count(file)


def test_a_snapshot_stands_for_all_rows_before_it() -> None:
    log = [
        row_of(("a", 0, 1, 1, False, False)),
        row_of(("b", 0, 1, 1, False, False)),
        row_of(("b", 0, 2, 1, True, False)),
        row_of(("a", 0, 2, 1, False, True)),
        row_of(("c", 0, 3, 1, False, False)),
    ]
    whole = read(log, AsOf(((1, 1, 3),), 0))
    assert whole.keys() == read(log, AsOf(((1, 1, 3),), 2)).keys() == {("a", 0), ("c", 0)}


def test_streams_coded_in_a_dictionary_are_read_alike() -> None:
    log = table([row_of((name, 0, k, 1, False, False)) for k, name in enumerate("abab", 1)])
    place = log.column_names.index("stream_id")
    coded = log.set_column(place, "stream_id", log["stream_id"].dictionary_encode())
    told = newest(coded, KEYS)
    assert sorted(zip(told["stream_id"].to_pylist(), told["epoch"].to_pylist(), strict=True)) == [
        ("a", 3),
        ("b", 4),
    ]


@given(points())
def test_a_point_survives_its_journey_to_a_task(as_of) -> None:
    assert AsOf.from_json(as_of.as_json()) == as_of
