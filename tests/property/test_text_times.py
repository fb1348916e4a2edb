"""Times that come as text are read as each of them alone is, in every form and layout of a file."""

import io
import json
import re
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fencepost.times import parse_instant
from tests.support.commands.files import Row, faulty, rows_of, shared, taken, written

Cells = list[str | None]

TIMES = st.from_regex(
    r"(19|20|22)[0-9]{2}-[01][0-9]-[0-3][0-9][Tt ][0-2][0-9]:[0-6][0-9]"
    r"(:[0-6][0-9]([.,][0-9]{1,12})?)?(Z|z|[+-][0-2][0-9](:?[0-6][0-9])?)?",
    fullmatch=True,
)
GOOD = st.builds(
    "2026-{:02}-{:02}T{:02}:{:02}:{:02}{}{}".format,
    st.integers(1, 12),
    st.integers(1, 28),
    st.integers(0, 23),
    st.integers(0, 59),
    st.integers(0, 59),
    st.integers(1, 10**9).map(lambda n: f".{n}") | st.just(""),
    st.sampled_from(["Z", "+05:30", "-05:00", "+00:00"]),
)
CELLS = GOOD | GOOD | TIMES | st.text("0123456789-:TZ.+ é", max_size=30)
COLUMNS = st.lists(CELLS, min_size=1, max_size=12)


def as_parquet(cells: Cells, kind: pa.DataType, group: int) -> bytes:
    """Write groups of rows, so that a batch is put together of parts of columns."""
    names = pa.array([f"s{row}" for row in range(len(cells))], pa.large_string())
    ts = pa.array(cells, pa.string()).cast(kind)
    table = pa.table({"stream_id": names, "ts": ts, "x": pa.array([0.5] * len(cells))})
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=group)
    return sink.getvalue()


def as_csv(cells: Cells) -> bytes:
    lines = [f's{row},"{text}",0.5' for row, text in enumerate(cells)]
    return "\n".join(["stream_id,ts,x", *lines, ""]).encode()


def as_json(cells: Cells) -> bytes:
    lines = [{"stream_id": f"s{row}", "ts": text, "x": 0.5} for row, text in enumerate(cells)]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def alone(cells: Cells) -> tuple[list[Row], list[tuple[int, str]]]:
    """Read each cell by itself."""
    read: list[Row] = []
    refused = []
    for row, text in enumerate(cells):
        try:
            if text is None:
                refused.append((row + 1, "ts is null"))
            else:
                read.append((f"s{row}", parse_instant(text), (0.5,)))
        except ValueError as why:
            refused.append((row + 1, f"ts: {in_words(text, why)}" if text else "ts is empty"))
    return read, refused


def in_words(text: str, why: ValueError) -> object:
    """Give the words for a text that is no time: of an integer, what a declaration would mend."""
    if re.fullmatch("[+-]?[0-9]+", text):
        return f"{text!r} is an integer, and no unit is declared (--ts-unit s, ms or us)"
    if re.fullmatch(r"[+-]?[0-9]+(\.[0-9]*)?", text):
        return f"{text!r} is a number, and no unit is declared (--ts-unit s, ms or us)"
    if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return f'{text!r} has no offset: declare timezone = "…"'
    return str(why).replace("end it with Z or one like +01:00", 'declare timezone = "…"')


def holds(name: str, content: bytes, cells: Cells, first: int = 1) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = taken(written(Path(folder), name, content))
    read, refused = alone(cells)
    assert rows_of(found) == read
    assert [(line - first + 1, why) for line, why in faulty(found)] == refused


KINDS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
SEEN = [f"2026-11-10T00:14:{row:02}{'.1234567' * (row % 4 == 3)}Z" for row in range(10)]


@pytest.mark.fault(37)
@given(
    st.lists(CELLS | st.none(), min_size=1, max_size=12), st.sampled_from(KINDS), st.integers(1, 5)
)
@example(SEEN, pa.string(), 3)
@example([*SEEN, None, "junk"], pa.large_string(), 4)
def test_differential_text_times_of_parquet_are_read_as_each_alone_is(cells, kind, group):
    holds("day.parquet", as_parquet(cells, kind, group), cells)


@pytest.mark.fault(37)
@given(COLUMNS, st.booleans())
def test_differential_text_times_of_lines_are_read_as_each_alone_is(cells, is_json):
    if is_json:
        holds("day.jsonl", as_json(cells), cells)
    else:
        holds("day.csv", as_csv(cells), cells, first=2)


def test_a_delivery_seen_to_give_memory_that_nobody_wrote_is_read():
    case = shared("cases/text-times.parquet")
    axes = [f"a{axis}" for axis in range(7)]
    found = taken(case, tuple(axes))
    rows = pq.read_table(case).to_pylist()
    assert rows_of(found) == [
        (row["stream_id"], parse_instant(row["ts"]), tuple(row[axis] for axis in axes))
        for row in rows[:9]
    ]
    assert faulty(found) == [(10, "a5: inf is not a finite number")]
