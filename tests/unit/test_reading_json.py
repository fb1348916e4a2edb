"""JSON lines: numbers keep their text until they are judged, and the quick way changes nothing."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipelines.files.read import content as file_content
from pipelines.files.read import json_rows
from pipelines.files.read.delivery import look_at
from pipelines.files.read.rows import Declared, ReadDelivery
from tests.support.commands.files import faulty, lines_of, raws, rows_of, taken, written

T = "2026-11-18T14:02:11Z"
US = 1_795_010_531_000_000
NO_UNIT = "'0' is an integer, and no unit is declared (--ts-unit s, ms or us)"
GOOD = f'{{"stream_id": "p", "ts": "{T}", "price": 1}}'


def delivery(tmp_path, *lines, **declared) -> ReadDelivery:
    content = b"".join(
        (line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line) + b"\n"
        for line in lines
    )
    return taken(written(tmp_path, "day.jsonl", content), **declared)


def row(price, name='"a"', ts=f'"{T}"') -> str:
    return f'{{"stream_id": {name}, "ts": {ts}, "price": {price}}}'


def test_rows_are_read_with_their_lines(tmp_path):
    read = delivery(
        tmp_path, "", GOOD, "  ", row("-2.5e-1"), f'{{"price":3,"ts":"{T}","stream_id":"é"}}'
    )
    assert rows_of(read) == [("p", US, (1.0,)), ("a", US, (-0.25,)), ("é", US, (3.0,))]
    assert (read.axes, read.line.tolist(), read.rows) == (("price",), [2, 4, 5], 3)


@pytest.mark.parametrize(
    ("line", "detail"),
    [
        ("nonsense", "not JSON: Expecting value (column 1)"),
        (GOOD + ",", "not JSON: Extra data (column 61)"),
        (GOOD[:-1], "not JSON: Expecting ',' delimiter (column 62)"),
        ("[1, 2]", "a list, where an object was expected"),
        ("17", "a number, where an object was expected"),
        ("true", "true or false, where an object was expected"),
        ("null", "null, where an object was expected"),
        ('{"a":' * 100_000, "not read: nested too deep"),
        (row('1, "price": 2'), 'key "price" occurs twice'),
        ('{"stream_id": "a", "price": 1}', "ts is missing"),
        (f'{{"stream_id": "a", "ts": "{T}"}}', "price is missing"),
        (row("null"), "price is null"),
        (row("true"), "price: true is true or false, where a number was expected"),
        (row('"12.5"'), 'price: "12.5" is a string, where a number was expected'),
        (row("[1]"), "price: […] is a list, where a number was expected"),
        (row("NaN"), "price: 'NaN' is not a number"),
        (row("-Infinity"), "price: '-Infinity' is not a number"),
        (row("1e999"), "price: '1e999' overflows: the largest double is 1.7976931348623157e+308"),
        (row("1", name='""'), "stream_id is empty"),
        (row("1", name="null"), "stream_id is null"),
        (row("1", name="false"), "stream_id: false is true or false, where a string was expected"),
        (row("1", name="1.5"), "stream_id: 1.5 is a number, but not an integer"),
        (row("1", r'"\ud800"'), "stream_id holds half a surrogate pair, U+D800, as character 1"),
        (row("1", r'"a\n"'), r"stream_id: 'a\n' holds a control character, U+000A, as character 2"),
        (row("1", ts="{}"), "ts: {} is an object, where a time was expected"),
        (row("1", ts="1.5"), f"ts: '1.5' is a number, {NO_UNIT.partition(', ')[2]}"),
        (row("1", ts="[]"), "ts: [] is a list, where a time was expected"),
        (row("1", '""', "0"), f"stream_id is empty; ts: {NO_UNIT}"),
    ],
)  # fmt: skip
@pytest.mark.fault(45)
def test_a_malformed_line_says_what_is_wrong_and_stands_as_it_was(tmp_path, line, detail):
    read = delivery(tmp_path, GOOD, line + "\r", GOOD)
    assert faulty(read) == [(2, detail)]
    assert raws(read) == [line]
    assert read.line.tolist() == [1, 3]


@pytest.mark.fault(39)
def test_integers_beyond_2_53_must_be_exact_and_no_digit_is_lost_before(tmp_path):
    prices = ["9007199254740993", "9007199254740994", "9007199254740993.0", "0.1000000000000000055"]
    read = delivery(tmp_path, *map(row, prices))
    assert [values for _, _, values in rows_of(read)] == [(9007199254740994.0,), (0.1,)]
    assert [line for line, _ in faulty(read)] == [1, 3]


@pytest.mark.fault(45)
def test_bytes_that_are_not_utf8_cost_their_own_row(tmp_path):
    bad = GOOD.encode().replace(b"p", b"\xff", 1)
    read = delivery(tmp_path, GOOD, bad, GOOD.replace('"p"', '"é"'))
    assert (read.ids.to_pylist(), faulty(read)) == (["p", "é"], [(2, "bytes that are not UTF-8")])
    assert raws(read)[0].startswith(r'{"stream_id": "\xff"') or r"\xff" in raws(read)[0]


@pytest.mark.fault(45)
def test_a_line_never_takes_part_of_the_next(tmp_path):
    read = delivery(tmp_path, GOOD[:-1] + ",", '"x": 1}', GOOD + GOOD, GOOD)
    assert ([line for line, _ in faulty(read)], read.line.tolist()) == ([1, 2, 3], [4])


def test_integer_ids_and_integer_times_are_taken_by_their_text(tmp_path):
    read = delivery(
        tmp_path, row("1", "7", "1700000000"), row("2", '"7"', '"1700000001"'), ts_unit="s"
    )
    assert rows_of(read) == [
        ("7", 1_700_000_000_000_000, (1.0,)),
        ("7", 1_700_000_001_000_000, (2.0,)),
    ]


def test_the_axes_are_the_keys_of_the_first_good_object(tmp_path):
    first = f'{{"volume": 5, "stream_id": "a", "ts": "{T}", "price": 1}}'
    read = delivery(tmp_path, "junk", '{"price": 1}', first, GOOD, first[:-1] + ', "more": "x"}')
    assert read.axes == ("volume", "price")
    assert [line for line, _ in faulty(read)] == [1, 2, 4]
    assert [values for _, _, values in rows_of(read)] == [(5.0, 1.0), (5.0, 1.0)]


def test_no_good_object_names_no_axes_and_has_only_malformed_rows(tmp_path):
    path = written(tmp_path, "day.jsonl", "junk\n[]\n")
    assert look_at(str(path), Declared()).axes is None
    assert [line for line, _ in faulty(taken(path, ("price",)))] == [1, 2]


KEYS = st.sampled_from(["stream_id", "ts", "price", 'v"é', "more"])
STRINGS = ['"a"', '"é"', r'"\u00e9"', r'"a\"b"', '""', f'"{T}"', '"\t"']
NUMBERS = ["1", "-0", "1.50", "1e3", "01", "+1", ".5", "1.", "NaN", "12345678901234567890", "-"]
SCALARS = st.sampled_from([*STRINGS, *NUMBERS, "true", "null", "[]", "{}"])
LINES = st.lists(st.tuples(KEYS, SCALARS), max_size=5).map(
    lambda pairs: (
        "{"
        + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {cell}" for key, cell in pairs)
        + "}"
    )
)
GOOD_LINES = st.sampled_from(
    [GOOD, row("1.50", '"é"'), row("1e3"), row("01"), row("1") + " ", " " + row("2")]
)


@given(st.lists(LINES | GOOD_LINES | st.just(""), max_size=6), st.sampled_from([1, 100, 1 << 26]))
@example([GOOD, row("1.5", r'"\u00e9"'), row("NaN"), row("2", '"\t"')], 1 << 26)
def test_differential_lines_read_by_the_pattern_are_as_those_read_one_by_one(lines, piece):
    content = "\n".join(lines).encode()

    def read() -> list[tuple[object, ...]]:
        pieces = list(json_rows.rows(lines_of(content), ("price",), Declared()))
        return [
            (
                p.line.tolist(),
                {name: cells.to_pylist() for name, cells in p.cells.items()},
                {name: f.details.to_pylist() for name, f in p.refused.items()},
                {name: f.rows.tolist() for name, f in p.refused.items()},
                (
                    p.malformed.line.tolist(),
                    p.malformed.detail.to_pylist(),
                    p.malformed.raw.to_pylist(),
                ),
            )
            for p in pieces
        ]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_content, "PIECE", piece)
        quick = read()
        patch.setattr(json_rows, "_pattern", lambda *_: None)
        assert read() == quick


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=9))
def test_what_pythons_json_writes_is_read_back(prices):
    content = "\n".join(
        json.dumps({"stream_id": "a", "ts": T, "price": p}) for p in prices
    ).encode()
    (piece,) = json_rows.rows(lines_of(content), ("price",), Declared())
    assert [float(text) for text in piece.cells["price"].to_pylist()] == prices
