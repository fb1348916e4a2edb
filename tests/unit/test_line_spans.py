"""A large file of lines is read by several tasks, and gives the rows that one would give."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.files.read.content import LineSpan
from pipelines.files.read.delivery import look_at, pieces
from pipelines.files.read.rows import Declared
from pipelines.ingest import line_spans
from pipelines.ingest.deliveries import Planned
from pipelines.ingest.line_spans import line_spans as spans_of
from pipelines.ingest.units import FilePart, ReadJob, cut
from pipelines.project.settings import Feed

T = "2026-11-18T14:02:11Z"
HEADER = 'stream_id,ts,"price"\n'
LINES = (
    f"a,{T},1\n",
    f'"b,",{T},2\r\n',
    f'"c""",{T},3\n',
    f"d,{T},x\n",
    f'e"f,{T},1\n',
    f'"g\nh",{T},4\n',
    "é\n",
    "\n",
)
ROWS = st.lists(st.sampled_from(LINES), max_size=30)


def rows_of(path: Path, span: LineSpan | None, declared: Declared) -> list[tuple[Any, ...]]:
    found = list[tuple[Any, ...]]()
    for piece in pieces(look_at(str(path), declared), declared, span):
        found += zip(piece.line.tolist(), piece.ids.to_pylist(), piece.values[0], strict=True)
        bad = piece.malformed
        found += zip(bad.line.tolist(), bad.detail.to_pylist(), bad.raw.to_pylist(), strict=True)
    return sorted(found, key=lambda row: row[0])


@given(ROWS, st.integers(1, 200), st.booleans(), st.integers(1, 50), st.booleans())
def test_spans_hold_each_row_once_under_its_line(
    tmp_path_factory, rows, most, last, piece, is_json
):
    path = tmp_path_factory.mktemp("spans") / ("f.json" if is_json else "f.csv")
    if is_json:
        rows = [json.dumps({"stream_id": "a", "ts": T, "price": 1}) + "\n", *rows]
    content = ("" if is_json else HEADER + f"a,{T},1\n") + "".join(rows)
    path.write_bytes((content if last else content.removesuffix("\n")).encode())
    declared = Declared(axes=("price",))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_spans, "PIECE", piece)
        spans = spans_of(path, declared, most)
    apart = [row for span in spans for row in rows_of(path, span, declared)]
    if spans:
        assert apart == rows_of(path, None, declared)
        assert [span.begin for span in spans[1:]] == [span.end for span in spans[:-1]]
    else:
        assert any(line.count('"') % 2 for line in content.split("\n"))


@pytest.mark.parametrize("name", ["f.csv", "f.json"])
def test_what_is_packed_or_not_in_utf8_is_one_piece(tmp_path, name):
    for head in (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"):
        path = tmp_path / name
        path.write_bytes(head + b"\n" * 100)
        assert spans_of(path, Declared(), 10) == []
    path.write_bytes(b"\n" * 100)
    assert len(spans_of(path, Declared(), 10)) == 10
    assert spans_of(path, Declared(encoding="latin-1"), 10) == []
    assert spans_of(tmp_path / "gone.csv", Declared(), 10) == []


def test_a_large_file_is_cut_evenly_for_all_slots(tmp_path, monkeypatch):
    monkeypatch.setattr("pipelines.ingest.units.LEAST", 1000)
    monkeypatch.setattr("pipelines.ingest.units.MOST", 2000)
    monkeypatch.setattr("pipelines.ingest.units.SMALL", 100)
    (tmp_path / "f.csv").write_text(HEADER + f"a,{T},1\n" * 200)
    size = (tmp_path / "f.csv").stat().st_size
    feed = Feed("ticks", ("price",), tmp_path)

    planned = Planned({"n": 1, "found_at": datetime.now(UTC)})
    job = ReadJob(planned, (FilePart(0, "f.csv", size, None),))
    units = cut(tmp_path, feed, 8, [job], slots=2)
    spans = [file.span for unit in units for file in unit.parts[0].files]
    sizes = [span.end - span.begin for span in spans if span]
    assert len(sizes) == len(spans)
    assert len(units) == 4
    assert sum(sizes) == size
    assert max(sizes) - min(sizes) < 60
