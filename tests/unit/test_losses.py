"""What is said of lost rows: every kind with its count, an example, and what would take them in."""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.order import DETAILS
from pipelines.files.losses import (
    COMMA,
    CURES,
    MALFORMED,
    Loss,
    RowKind,
    by_option,
    in_feed,
    kinds,
    lines_of,
    loss_of,
)
from pipelines.files.read.delivery import look_at, read
from pipelines.files.read.rows import Declared, ReadDelivery
from pipelines.project.settings.keys import OF_FEED
from tests.support.commands.commands import fencepost

TRACKS = Declared(axes=("lat",), stream_id="uid", ts="datetime")


def delivery(folder: Path, *records: str | bytes, declared: Declared = TRACKS) -> ReadDelivery:
    """Read records as a file of tracks."""
    path = folder / "track.csv"
    lines = [line.encode() if isinstance(line, str) else line for line in records]
    path.write_bytes(b"\n".join([b"lat,datetime,uid", *lines]) + b"\n")
    return read(look_at(str(path), declared), declared.axes or (), declared)


def loss(found: ReadDelivery) -> Loss:
    """Say what a delivery of the feed `tracks` lost."""
    malformed = found.malformed
    reasons = pa.array([MALFORMED] * len(malformed), pa.string())
    told = kinds(reasons, malformed.detail, malformed.raw)
    return loss_of("tracks/track.csv", found.rows, told, in_feed("tracks"))


def test_times_without_an_offset_are_one_reason_and_a_zone_cures_it(tmp_path: Path) -> None:
    records = [f"39.98{k},2008-10-23 05:53:{k:02},001" for k in range(5, 60)]
    (line,) = loss(delivery(tmp_path, *records)).lines()
    assert line == (
        "tracks/track.csv: 55 of 55 rows: '2008-10-23 05:53:05' has no offset; "
        'declare timezone = "…" in [feeds.tracks]'
    )


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ("1,20/03/2021 00:22,a", "'20/03/2021 00:22' is not an instant; declare ts_format = \"…\""),
        ("1,1675329600138,a", 'and no unit is declared; declare ts_unit = "…"'),
        ('"1,5",2026-01-01T00:00:00Z,a', "lat: '1,5' is not a number; declare decimal = \",\""),
        (b"1,2026-01-01T00:00:00Z,Z\xfcrich", 'UTF-8; declare encoding = "latin-1"'),
    ],
)
def test_the_key_is_named_that_would_take_a_row_in(
    tmp_path: Path, record: str | bytes, said: str
) -> None:
    (line,) = loss(delivery(tmp_path, "1,2026-01-01T00:00:00Z,a", record)).lines()
    assert line.startswith("tracks/track.csv: 1 of 2 rows: ")
    assert f"{said} in [feeds.tracks]" in line


@pytest.mark.parametrize("record", ["x,2026-01-01T00:00:00Z,a", "1,2026-01-01T00:00:00Z,", "1,2"])
def test_what_no_key_cures_is_shown_without_one(tmp_path: Path, record: str) -> None:
    (reason,) = loss(delivery(tmp_path, record)).reasons
    assert reason.cure is None
    assert "'" in reason.example, "it shows a value, or the whole record"


CELLS = {
    "lat": {"1": None, "x": "lat is not a number", "yy": "lat is not a number", "": "lat empty"},
    "datetime": {
        "2026-01-01T00:00:00Z": None,
        "2026-01-01 00:00:00": "no offset",
        "2026-01-01 07:00:00.5": "no offset",
        "then; or so": "no instant",
        "it's": "no instant",
        "7": "no unit",
    },
    "uid": {"a": None, "": "uid empty"},
}


@given(st.lists(st.tuples(*(st.sampled_from(list(cells)) for cells in CELLS.values())), min_size=1))
def test_oracle_kinds_are_counted_as_by_hand(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, ...]]
) -> None:
    expected = Counter(
        why
        for row in rows
        for cells, cell in zip(CELLS.values(), row, strict=True)
        if (why := cells[cell]) is not None
    )
    lost = sum(any(c[v] for c, v in zip(CELLS.values(), row, strict=True)) for row in rows)
    found = loss(delivery(tmp_path_factory.mktemp("losses"), *(",".join(row) for row in rows)))
    assert found.lost == lost
    assert len(found.reasons) + found.more == len(expected)
    counts = [reason.rows for reason in found.reasons]
    assert counts == sorted(expected.values(), reverse=True)[:3]


def test_what_the_engine_rejects_has_an_example_too() -> None:
    rows = [
        RowKind("conflict", "", 7, DETAILS["conflict"], "a,1,2"),
        RowKind("late", "", 2, "", "b,0,1"),
    ]
    found = loss_of("a.csv", 10, rows, in_feed("a"))
    assert list(found.lines()) == [
        "a.csv: 7 of 10 rows: conflict, as in 'a,1,2'; declare ties = \"all\" in [feeds.a]",
        "a.csv: 2 of 10 rows: late, as in 'b,0,1'; raise allowed_lateness in [feeds.a]",
    ]
    ordered = loss_of("a.csv", 10, rows[:1], in_feed("a", ("ties",)))
    assert ordered.reasons[0].cure is None, "the tuples have a sequence: ties change nothing"


def test_a_file_is_lost_where_nothing_of_it_is_new() -> None:
    def of(rows: int, *kinds: tuple[str, int]) -> Loss:
        return loss_of("a", rows, [RowKind(r, "", n, "", "") for r, n in kinds], by_option())

    assert of(3, ("malformed", 3)).is_total
    assert of(3, ("malformed", 1), ("duplicate", 2)).is_total
    assert not of(3, ("malformed", 2)).is_total
    assert not of(3, ("duplicate", 3)).is_total, "it came before: nothing is missing"
    assert not of(0).is_total


def test_only_the_deliveries_that_lost_most_are_named() -> None:
    losses = [
        loss_of(f"{k}.csv", 9, [RowKind("late", "", k, "", "r")], by_option()) for k in range(1, 9)
    ]
    *first, last = lines_of(losses)
    assert [line.split(":")[0] for line in first] == [f"{k}.csv" for k in (8, 7, 6, 5, 4)]
    assert last == "and 6 rows of 3 other deliveries"


@pytest.mark.parametrize("cure", [*CURES, COMMA], ids=lambda cure: cure.key)
def test_every_cure_is_a_key_of_a_feed(cure) -> None:
    assert cure.key in {key.name for key in OF_FEED}


def test_every_option_that_is_named_is_one_of_eval() -> None:
    options = fencepost("eval", "--help").out.split()
    for cure in (*CURES, COMMA):
        words = by_option()(cure) or ""
        assert words.split()[1] in options
