"""A share's tuples stand in the one order, however files held them; and files are kept by name."""

from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

from pipelines.execute import read as reading
from pipelines.execute.tuples import RowOrder, Tuples
from schemas import FeedColumns

ORDER = RowOrder(FeedColumns(("price",)))
ARRIVALS = np.array([7, 4])
"""In the order of the feed, which need not be that of the numbers."""


def read(rows: list[tuple[str, int, int, int]]) -> pa.Table:
    """Rows as files hold them: stream, arrival, file, line; each has its price from all of them."""
    streams, arrivals, files, lines = zip(*rows, strict=True)
    return pa.table(
        {
            "stream_id": pa.array(streams).dictionary_encode(),
            "ts": pa.array(lines, pa.timestamp("us", "UTC")),
            "price": pa.array([a * 100.0 + f * 10 + n for _, a, f, n in rows]),
            "arrival": pa.array(arrivals, pa.int64()),
            "file": pa.array(files, pa.int32()),
            "line": pa.array(lines, pa.int64()),
        }
    )


ROWS = [
    (stream, arrival, file, line)
    for arrival in (7, 4)
    for file in (0, 1)
    for line, stream in enumerate("abcab", 1)
]


def by_stream(tuples: Tuples) -> dict[tuple[str, int], list[float]]:
    batch = tuples.batch
    told: dict[tuple[str, int], list[float]] = {}
    for stream, place, price in zip(batch.stream, batch.delivery, batch.values[0], strict=True):
        told.setdefault((batch.names[int(stream)].as_py(), int(place)), []).append(float(price))
    return told


def test_no_order_of_rows_in_files_changes_a_streams_tuples() -> None:
    expected = by_stream(Tuples.of(ORDER, "ticks", read(ROWS), ARRIVALS))
    assert expected["a", 0] == [701.0, 704.0, 711.0, 714.0]
    assert expected["c", 1] == [403.0, 413.0]
    for seed in range(20):
        rows = [ROWS[k] for k in np.random.default_rng(seed).permutation(len(ROWS))]
        tuples = Tuples.of(ORDER, "ticks", read(rows), ARRIVALS)
        assert by_stream(tuples) == expected
        assert (np.diff(tuples.batch.delivery) >= 0).all()


def test_a_tuple_knows_the_row_that_it_was_read_from() -> None:
    rows = [ROWS[k] for k in np.random.default_rng(1).permutation(len(ROWS))]
    second = Tuples.of(ORDER, "ticks", read(rows), ARRIVALS).of_deliveries(1, 2)
    assert len(second) == len(ROWS) // 2
    assert not second.batch.delivery.any()
    origin = second.origin(np.arange(len(second)))
    assert origin["arrival"].to_pylist() == [4] * len(second)
    assert origin["price"].to_pylist() == second.batch.values[0].tolist()


@pytest.mark.parametrize("kind", [pa.array, lambda marks: pa.chunked_array([marks[:7], marks[7:]])])
def test_marks_stand_beside_the_tuples_of_their_rows(kind) -> None:
    marks = [(None, True, False)[k % 3] for k in range(len(ROWS))]
    for seed in range(5):
        chosen = np.random.default_rng(seed).permutation(len(ROWS))
        rows = read([ROWS[k] for k in chosen]).append_column(
            "deleted", kind([marks[k] for k in chosen])
        )
        whole = Tuples.of(ORDER, "ticks", rows, ARRIVALS)
        for tuples in (whole, whole.of_deliveries(1, 2)):
            assert tuples.deleted is not None
            origin = tuples.origin(np.arange(len(tuples)))
            assert tuples.deleted.tolist() == [bool(m) for m in origin["deleted"].to_pylist()]


def test_where_no_row_is_marked_none_is_and_where_marks_were_not_read_there_are_none() -> None:
    nulls = read(ROWS).append_column("deleted", pa.nulls(len(ROWS), pa.bool_()))
    marks = Tuples.of(ORDER, "ticks", nulls, ARRIVALS).deleted
    assert marks is not None
    assert marks.tolist() == [False] * len(ROWS)
    assert Tuples.of(ORDER, "ticks", read(ROWS), ARRIVALS).deleted is None


def test_no_rows_are_no_tuples() -> None:
    assert len(Tuples.of(ORDER, "ticks", read(ROWS).slice(0, 0), ARRIVALS)) == 0


def test_a_file_is_read_once_and_what_was_not_asked_for_the_longest_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = pa.table({"line": np.arange(1_000)})
    monkeypatch.setattr(reading, "MOST_BYTES", 3 * rows.nbytes)
    with mock.patch.object(reading, "_cache", reading.FileCache()):
        asked: list[str] = []

        def ask(name: str) -> None:
            def read_it() -> pa.Table:
                asked.append(name)
                return rows

            assert reading.cached((name,), read_it) is rows

        for name in "abcabcadab":
            ask(name)
    assert asked == [*"abc", "d", "b"]
