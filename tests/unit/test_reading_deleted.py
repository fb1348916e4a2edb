"""Marks: which rows take their streams out of sets, in every form that a file can have."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fencepost.cells import marks
from fencepost.errors import Faults
from pipelines.files.read import content as file_content
from pipelines.files.read import json_rows, parquet_rows
from pipelines.files.read.delivery import look_at
from pipelines.files.read.rows import Declared, ReadDelivery
from tests.support.commands.files import faulty, lines_of, raws, rows_of, taken, written

T = "2026-11-18T14:02:11Z"
US = 1_795_010_531_000_000
HEAD = "stream_id,ts,price,gone\n"
WORDS = "true, t, yes, 1, false, f, no, 0"
TRUE = ["true", "True", "TRUE", "t", "T", "yes", "Yes", "1"]
FALSE = ["false", "False", "f", "F", "no", "NO", "0", ""]
STRANGE = [
    "y",
    "n",
    "2",
    "-1",
    "01",
    "1.0",
    "on",
    "null",
    "None",
    " true",
    "true ",
    "tru",
    "é",
    "ı",
]


def csv(folder, *cells: str, **declared: Any) -> ReadDelivery:
    """A row for each cell, in stream a, at the price 1."""
    text = HEAD + "".join(f"a,{T},1,{cell}\n" for cell in cells)
    return taken(written(folder, "day.csv", text), ("price",), deleted="gone", **declared)


def line(mark: str | None, price: str = "1") -> str:
    more = "" if mark is None else f', "gone": {mark}'
    return f'{{"stream_id": "a", "ts": "{T}", "price": {price}{more}}}'


def jsonl(folder, *lines: str, **declared: Any) -> ReadDelivery:
    text = "".join(each + "\n" for each in lines)
    return taken(written(folder, "day.jsonl", text), ("price",), deleted="gone", **declared)


def parquet(folder, cells: pa.Array | None, axes=("price",), **writing: Any) -> ReadDelivery:
    count = 2 if cells is None else len(cells)
    columns = {
        "stream_id": ["a"] * count,
        "ts": pa.array([US] * count, pa.timestamp("us", "UTC")),
        "price": np.ones(count),
    }
    table = pa.table(columns if cells is None else {**columns, "gone": cells})
    pq.write_table(table, folder / "day.parquet", **writing)
    return taken(folder / "day.parquet", axes, deleted="gone")


def marked(delivery: ReadDelivery) -> list[bool]:
    assert delivery.deleted is not None
    assert len(delivery.deleted) == len(delivery.ts)
    told: list[bool] = delivery.deleted.tolist()
    return told


def strange(word: str) -> str:
    return f"gone: {word!r} is none of {WORDS}"


@pytest.mark.parametrize("quote", ["", '"'])
def test_text_says_true_and_false_in_these_words_of_any_size(tmp_path, quote):
    read = csv(tmp_path, *(f"{quote}{word}{quote}" for word in (*TRUE, *FALSE)))
    assert marked(read) == [True] * len(TRUE) + [False] * len(FALSE)
    assert faulty(read) == []
    assert read.axes == ("price",)


def test_another_word_is_malformed_with_its_line_and_costs_no_other_row(tmp_path):
    read = csv(tmp_path, "true", *STRANGE, "")
    assert faulty(read) == [(3 + k, strange(word)) for k, word in enumerate(STRANGE)]
    assert raws(read) == [f"a,{T},1,{word}" for word in STRANGE]
    assert (marked(read), read.line.tolist()) == ([True, False], [2, 3 + len(STRANGE)])


def test_what_else_is_wrong_with_the_row_is_told_beside_the_mark(tmp_path):
    read = taken(written(tmp_path, "day.csv", HEAD + f",{T},x,maybe\n"), ("price",), deleted="gone")
    assert faulty(read) == [
        (2, f"stream_id is empty; price: 'x' is not a number; {strange('maybe')}")
    ]
    assert read.numberless == ("price",)


def test_a_marked_row_is_a_tuple_like_any_other_or_no_tuple(tmp_path):
    read = csv(tmp_path, "true")
    assert rows_of(read) == [("a", US, (1.0,))]
    bare = taken(written(tmp_path, "day.csv", HEAD + f"a,{T},,true\n"), ("price",), deleted="gone")
    assert faulty(bare) == [(2, "price is empty")]


def test_rows_with_quoted_lines_and_those_torn_apart_keep_their_own_marks(tmp_path):
    text = f'a,{T},1,yes,"x\ny"\nstray"\nb,{T},2,,z\n"c",{T},"3","t","""1"""\n'
    content = "stream_id,ts,price,gone,note\n" + text
    read = taken(written(tmp_path, "day.csv", content), ("price",), deleted="gone")
    assert list(zip(read.ids.to_pylist(), marked(read), strict=True)) == [
        ("a", True), ("b", False), ("c", True)
    ]  # fmt: skip
    assert [where for where, _ in faulty(read)] == [4]


@pytest.mark.parametrize("by_pattern", [True, False])
def test_json_says_it_in_its_own_words_or_leaves_it_out(tmp_path, monkeypatch, by_pattern):
    if not by_pattern:
        monkeypatch.setattr(json_rows, "_pattern", lambda *_: None)
    given_ = ["true", "false", "null", None, "1", "0", '"yes"', '"NO"', '""']
    expected = [True, False, False, False, True, False, True, False, False]
    for shift in range(len(given_)):  # each is the first, which the pattern is made from
        cells, told = given_[shift:] + given_[:shift], expected[shift:] + expected[:shift]
        read = jsonl(tmp_path, *map(line, cells))
        assert (marked(read), faulty(read)) == (told, []), cells[0]


@pytest.mark.parametrize(
    ("mark", "detail"),
    [
        ("2", strange("2")),
        ("1.0", strange("1.0")),
        ("-1", strange("-1")),
        ("NaN", strange("NaN")),
        ('"maybe"', strange("maybe")),
        ("[]", "gone: [] is a list, where true or false was expected"),
        ('{"a": 1}', "gone: {…} is an object, where true or false was expected"),
        (r'"\ud800"', "gone holds half a surrogate pair, U+D800, as character 1"),
        (r'"\n\udfff"', "gone holds half a surrogate pair, U+DFFF, as character 2"),
    ],
)
def test_in_json_too_whatever_else_stands_there_is_malformed(tmp_path, mark, detail):
    read = jsonl(tmp_path, line("true"), line(mark), line(None))
    assert (faulty(read), raws(read)) == ([(2, detail)], [line(mark)])
    assert (marked(read), read.line.tolist()) == ([True, False], [1, 3])


MARKS = ["true", "false", "null", "1", "0", "7", "1.5", '"t"', '""', r'"\u0074"', '"x"', "[]"]
KEYS = ["stream_id", "ts", "price", "gone", "note"]
CELLS = {"stream_id": ['"a"', '"é"'], "ts": [f'"{T}"'], "price": ["1", "2.5"], "note": ['"n"', "3"]}


@st.composite
def lines_with_marks(draw: st.DrawFn) -> str:
    """A line with some of the keys, in some order."""
    keys = draw(st.sampled_from([KEYS, KEYS[:4], KEYS[:3], ["gone", *KEYS[:3]], KEYS[3::-1]]))
    cells = ((key, draw(st.sampled_from(CELLS.get(key, MARKS)))) for key in keys)
    space = draw(st.sampled_from(["", " "]))
    return "{" + ",".join(f"{space}{json.dumps(key)}:{space}{cell}" for key, cell in cells) + "}"


@given(st.lists(lines_with_marks(), max_size=6), st.sampled_from([1, 100, 1 << 26]))
@example([line(None), line("true"), line("null")], 1 << 26)
@example(['{"gone":true,"stream_id":"a","ts":"","price":1}', line(None)], 1 << 26)
def test_differential_marks_read_by_the_pattern_are_as_those_read_one_by_one(lines, piece):
    content = "\n".join(lines).encode()

    def read() -> list[object]:
        pieces = json_rows.rows(lines_of(content), ("price",), Declared(deleted="gone"))
        return [
            (
                each.line.tolist(),
                {name: cells.to_pylist() for name, cells in each.cells.items()},
                {name: found.details.to_pylist() for name, found in each.refused.items()},
                each.malformed.line.tolist(),
            )
            for each in pieces
        ]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_content, "PIECE", piece)
        quick = read()
        patch.setattr(json_rows, "_pattern", lambda *_: None)
        assert read() == quick


@pytest.mark.parametrize("first", [None, "true", "null", "1", '"t"'])
def test_lines_like_the_first_need_no_reading_one_by_one_though_most_leave_the_mark_out(
    monkeypatch, first
):
    like = {None: "true", "null": "false"}.get(first, first)
    content = "\n".join([line(first), line(None), line(like), line("null")]).encode()
    slow: list[bytes] = []
    monkeypatch.setattr(json_rows._Slow, "take", lambda _, text, *__: slow.append(text))
    (piece,) = json_rows.rows(lines_of(content), ("price",), Declared(deleted="gone"))
    assert (len(piece.line), slow) == (4, [])


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (pa.array([True, False, None]), [True, False, False]),
        (pa.array([1, 0, None], pa.int8()), [True, False, False]),
        (pa.array([1, 0, None], pa.uint64()), [True, False, False]),
        (pa.array(["yes", "NO", None]), [True, False, False]),
        (pa.array(["t", "", "f"], pa.large_string()), [True, False, False]),
        (pa.array([b"1", b"0", None]), [True, False, False]),
        (pa.array(["true", None, "true"]).dictionary_encode(), [True, False, True]),
        (pa.array([1, 0, None]).dictionary_encode(), [True, False, False]),
        (pa.nulls(3), [False, False, False]),
    ],
    ids=lambda given_: str(given_.type) if isinstance(given_, pa.Array) else "",
)
def test_parquet_says_it_as_flags_as_integers_or_in_text(tmp_path, cells, expected):
    read = parquet(tmp_path, cells)
    assert (marked(read), faulty(read)) == (expected, [])


def test_in_parquet_too_another_number_or_word_is_malformed_with_its_row(tmp_path):
    read = parquet(tmp_path, pa.array([1, 2, 0, -1]))
    assert faulty(read) == [(2, strange("2")), (4, strange("-1"))]
    assert json.loads(raws(read)[0])["gone"] == 2
    assert (marked(read), read.line.tolist()) == ([True, False], [1, 3])
    assert faulty(parquet(tmp_path, pa.array([b"\xff", b"t"]))) == [
        (1, "gone has bytes that are not UTF-8")
    ]


@pytest.mark.parametrize("kind", [pa.float64(), pa.timestamp("us", "UTC"), pa.list_(pa.bool_())])
def test_a_column_of_parquet_that_can_hold_no_mark_is_a_fault_of_the_file(tmp_path, kind):
    with pytest.raises(Faults, match=r"column 'gone' is of type .*, where true and false were exp"):
        parquet(tmp_path, pa.nulls(2).cast(kind))


def test_a_file_without_the_column_is_refused_and_its_like_is_named(tmp_path):
    text = HEAD.replace("gone", "gon") + f"a,{T},1,true\n"
    with pytest.raises(Faults, match=r"day\.csv:1: no column 'gone'\n.*Did you mean 'gon'\?"):
        taken(written(tmp_path, "day.csv", text), ("price",), deleted="gone")
    with pytest.raises(Faults, match=r"day\.parquet: no column 'gone'"):
        parquet(tmp_path, None)


def test_no_row_of_json_without_the_key_is_marked(tmp_path):
    assert marked(jsonl(tmp_path, line(None), line(None))) == [False, False]
    assert marked(jsonl(tmp_path)) == []


def test_the_column_of_marks_is_no_axis_and_not_ignored(tmp_path):
    text = HEAD.replace("\n", ",note\n") + f"a,{T},1,1,2\n"
    path = written(tmp_path, "day.csv", text)
    assert taken(path, deleted="gone").axes == ("price", "note")
    known = Declared(("price",), deleted="gone")
    assert look_at(str(path), known).ignored == ("note",)
    stored = written(tmp_path, "day.jsonl", line("true") + "\n")
    assert (look_at(str(stored), known).ignored, taken(stored, deleted="gone").axes) == (
        (),
        ("price",),
    )
    assert parquet(tmp_path, pa.array([1, 0]), None).axes == ("price",)


def test_where_no_column_is_declared_no_row_has_a_mark(tmp_path):
    path = written(tmp_path, "day.csv", HEAD + f"a,{T},1,maybe\n")
    read = taken(path, ("price",))
    assert (read.deleted, faulty(read)) == (None, [])
    assert look_at(str(path), Declared(("price",))).ignored == ("gone",)


@given(st.lists(st.sampled_from([*TRUE, *FALSE, *STRANGE[:3]]), max_size=30), st.integers(1, 200))
def test_however_a_file_is_cut_each_row_keeps_its_mark(tmp_path_factory, words, piece):
    folder = tmp_path_factory.getbasetemp()

    def read() -> list[object]:
        deliveries = [
            csv(folder, *words),
            jsonl(folder, *(line(json.dumps(word)) for word in words)),
            parquet(folder, pa.array(words, pa.string()), row_group_size=7),
        ]
        begins = (2, 1, 1)  # the line of the first row
        return [
            (marked(each), (each.line - begin).tolist(), [w for _, w in faulty(each)])
            for each, begin in zip(deliveries, begins, strict=True)
        ]

    whole = read()
    assert whole == [whole[0]] * 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_content, "PIECE", piece)
        patch.setattr(file_content, "PIECE", piece)
        patch.setattr(parquet_rows, "ROWS", 1 + piece % 5)
        assert read() == whole


def test_each_strange_word_is_shown_as_it_stood_and_cut_where_it_is_long():
    flags, faults = marks(pa.array(["x" * 99, None, "t", "x" * 99]), "gone")
    assert (flags.tolist(), faults.rows.tolist()) == ([False, False, True, False], [0, 3])
    assert faults.details.to_pylist() == [f"gone: '{'x' * 39}…' is none of {WORDS}"] * 2
