"""Lines read by a pattern are the same tuples and malformed rows as by the slow way."""

import json
from dataclasses import replace
from decimal import Context, Decimal, localcontext
from random import Random
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.lines.kernels import NUMBER, STREAM
from fencepost.lines.pattern import LineCell, LinePattern
from pipelines.files.read import csv_rows, json_rows, patterns
from pipelines.files.read.rows import Declared, TuplePiece
from tests.support.commands.files import lines_of

IDS = st.sampled_from(["a", "AAPL", "é", "x" * 8, "y" * 16, "z" * 17, "z" * 16 + "a", "z" * 300])
ODD_IDS = st.sampled_from(["", "\x01", "\x7f", "a b", "7", "-7", "007", "NA", "null", "\\u0061"])
DIGITS = st.text("0123456789", max_size=20)
NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True).map(repr),
    st.floats(-1e16, 1e16).map(repr),
    st.integers(-(2**55), 2**55).map(str),
    st.builds("{}{}.{}".format, st.sampled_from(["", "-", "+"]), DIGITS, DIGITS),
    st.builds("{}e{}".format, DIGITS, st.integers(-40, 40)),
    st.sampled_from(
        ["", ".", "-", "1e", "1e+", " 1", "1 ", "0x1", "1_0", "-0", "-0.0", "NaN", "01"]
    ),
)
TIMES = st.one_of(
    st.builds(
        "{:04}-{:02}-{:02}{}{:02}:{:02}:{:02}{}{}".format,
        st.integers(1890, 2210),
        st.integers(1, 12),
        st.integers(1, 31),
        st.sampled_from("T "),
        st.integers(0, 23),
        st.integers(0, 59),
        st.integers(0, 59),
        st.one_of(st.just(""), st.text("0123456789", min_size=1, max_size=17).map(".{}".format)),
        st.sampled_from(["Z", "Z", "+01:00", "-23:59", "+24:00", "+0100", "", "z"]),
    ),
    st.sampled_from(["2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2000-02-29T00:00:00Z"]),
    st.sampled_from(
        ["", "now", "2026-1-05T00:00:00Z", "2026-01-05T24:00:00Z", "2026-01-05T00:00Z"]
    ),
    st.integers(-(10**19), 10**19).map(str),
)
GOOD = ("s1", "2026-01-05T00:00:00.25Z", "993690.9985297773")
CELLS = st.tuples(st.one_of(IDS, ODD_IDS), TIMES, NUMBERS)
LINES = st.lists(st.one_of(st.just(GOOD), CELLS), min_size=1, max_size=8)
DECLARED = st.sampled_from(
    [
        Declared(),
        Declared(ts_unit="ms"),
        Declared(timezone="Europe/Berlin"),
        Declared(ts_format="%Y-%m-%d %H:%M:%S"),
        Declared(sequence="price", sequence_is="text", axes=("size",)),
        Declared(payload=(("price", "text"),), axes=("size",)),
        Declared(clock="ts"),
        Declared(stream="one"),
    ]
)


def read(form, content: bytes, declared: Declared, *, least: int) -> list[object]:
    """Give all rows of a file, good and malformed, with their records."""
    axes = declared.axes or ("price",)
    with (
        patch.object(csv_rows, "PATTERNED", least),
        patch.object(json_rows, "PATTERNED", least),
        patch.object(patterns, "MOST_OTHERS", 100.0),
        patch("fencepost.lines.pattern.AT_ONCE", 3),  # lines whose names are looked up together
    ):
        rows = (
            csv_rows.rows("f", lines_of(content), axes, declared)
            if form == "csv"
            else json_rows.rows(lines_of(content), axes, declared)
        )
        return [row for found in rows for row in _shown(found, declared)]


def _shown(found, declared: Declared) -> list[object]:
    piece = TuplePiece.of(found, replace(declared, axes=declared.axes or ("price",)))
    every = list(range(len(piece.line)))
    raw = piece.raw_of(pa.array(every, pa.int64()).to_numpy()).to_pylist()
    good = zip(
        piece.line.tolist(),
        piece.ids.to_pylist(),
        *(us.tolist() for us in piece.times),
        *(map(repr, axis) for axis in piece.values.tolist()),
        [None] * len(every) if piece.sequence is None else piece.sequence.to_pylist(),
        *(column.to_pylist() for column in piece.payload.values()),
        raw,
        strict=True,
    )
    bad = piece.malformed
    spoilt = (piece.spoilt.tolist(), piece.cells_in_each)
    return [
        *good,
        *zip(bad.line.tolist(), bad.detail.to_pylist(), bad.raw.to_pylist(), strict=True),
        spoilt,
    ]


def same(form, content: bytes, declared: Declared) -> None:
    assert read(form, content, declared, least=0) == read(form, content, declared, least=1 << 60)


@given(
    LINES,
    DECLARED,
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["", '"']),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.sampled_from(["", ",1", '"', "\r", "\n", '\n"a\nb",', "é\x80"]),
)
def test_csv_by_a_pattern_is_what_the_grammar_reads(
    lines, declared, delimiter, quote, ending, last, odd
):
    names = ["stream_id", "ts", "price", "size", "note"]
    rows = [
        delimiter.join([f"{quote}{name}{quote}", ts, price, "1.5", f"{quote}n{quote}"])
        for name, ts, price in lines
    ]
    rows[len(rows) // 2] += odd
    content = ending.join([delimiter.join(names), delimiter.join([*GOOD, "2", "x"]), *rows])
    same("csv", (content + ending * last).encode("utf-8", "surrogatepass"), declared)


@given(
    LINES,
    DECLARED,
    st.sampled_from([(", ", ": "), (",", ":")]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", " ", "x", '"', "\\", "\n{}", "\n\n", "\n5", '\n{"ts":1}']),
    st.sampled_from([True, "t", 5, -0.5, None, {"a": 1}]),
    st.booleans(),
)
def test_json_by_a_pattern_is_what_each_line_says(
    lines, declared, separators, ending, odd, note, quoted
):
    rows = []
    for name, ts, price in [GOOD, *lines]:
        row = {"stream_id": name, "ts": ts, "price": "@", "size": 1.5, "note": note}
        text = json.dumps(row, ensure_ascii=False, separators=separators)
        rows.append(text.replace('"@"', f'"{price}"' if quoted else price))
    rows[-1] += odd
    same("json", (ending.join(rows) + ending).encode("utf-8", "surrogatepass"), declared)


@pytest.mark.parametrize("id_of", [lambda n: str(n % 7), lambda n: f'"s{n % 7}"'])
def test_most_lines_of_a_usual_file_are_read_by_the_pattern(id_of, monkeypatch):
    slow = []
    monkeypatch.setattr(json_rows, "_piece", lambda *given: slow.append(given))
    lines = [
        f'{{"stream_id":{id_of(n)},"ts":"2026-01-05T00:00:{n % 60:02}Z","price":{n / 7}}}\n'
        for n in range(2000)
    ]
    (found,) = json_rows.rows(lines_of("".join(lines).encode()), ("price",), Declared())
    assert (len(found.line), slow) == (2000, [])


@given(st.lists(st.lists(st.one_of(IDS, st.text("ab", min_size=1, max_size=40)), max_size=6)))
def test_streams_are_known_from_piece_to_piece_and_few_are_remembered(pieces):
    pattern = LinePattern((b"", b"\n"), (LineCell("stream_id", STREAM, b","),), 400)
    for names in pieces:
        content = "".join(f"{name}\n" for name in names).encode()
        found = pattern.read(content, len(content), len(names))
        assert found.columns["stream_id"].to_pylist() == names
        known = pattern.streams.names.to_pylist()
        assert set(names) <= set(known)
        assert len(set(known)) == len(known) <= 2 * (len(names) + 1)


@given(st.integers(0, 2**32))
def test_numbers_of_many_digits_are_the_nearest_doubles(seed):
    rng = Random(seed)  # noqa: S311
    texts = [
        *(repr(rng.uniform(0, 10 ** rng.randint(-9, 15))) for _ in range(100)),
        *(f"{rng.randrange(10**18)}e{rng.randint(-27, -2)}" for _ in range(100)),
        *(halfway(rng.randrange(2**52, 2**53), rng.randint(1, 12)) for _ in range(100)),
    ]
    content = "".join(f"a,{text}\n" for text in texts).encode()
    pattern = LinePattern(
        (b"", b",", b"\n"), (LineCell("stream_id", STREAM, b","), LineCell("x", NUMBER, b",")), 100
    )
    found = pattern.read(content, len(content), len(texts))
    assert found.columns["x"].to_pylist() == [float(texts[line]) for line in found.lines]
    left = {texts[line] for line in found.others[:, 0].tolist()}
    assert left == {text for text in texts if float(text) >= 2**53}


def halfway(mantissa: int, halvings: int) -> str:
    """Write what is exactly between two doubles, in decimals."""
    with localcontext(Context(prec=60)):
        return format(Decimal(2 * mantissa + 1) / Decimal(2**halvings), "f")
