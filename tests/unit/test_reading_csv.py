"""CSV: where records begin and end, what a stray quotation mark costs, what a header must have."""

import csv
import io
import sys

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fencepost.errors import Faults
from pipelines.files.read import content as file_content
from pipelines.files.read import csv_records, csv_rows
from pipelines.files.read.content import Window
from pipelines.files.read.grammar import grammar_of
from pipelines.files.read.rows import Declared, ReadDelivery
from tests.support.commands.files import faulty, lines_of, raws, rows_of, taken, written

HEADER = "stream_id,ts,price\n"
T = "2026-11-18T14:02:11Z"
US = 1_795_010_531_000_000


def delivery(tmp_path, body, header=HEADER, **declared) -> ReadDelivery:
    content = (header.encode() if isinstance(header, str) else header) + (
        body.encode() if isinstance(body, str) else body
    )
    return taken(written(tmp_path, "day.csv", content), **declared)


def test_rows_are_read_with_their_lines(tmp_path):
    read = delivery(tmp_path, f"AAPL,{T},231.5\nMSFT,{T},-.5e1\n")
    assert rows_of(read) == [("AAPL", US, (231.5,)), ("MSFT", US, (-5.0,))]
    assert (read.axes, read.line.tolist(), read.rows) == (("price",), [2, 3], 2)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("quote", ["", '"'])
def test_line_breaks_may_be_lf_or_crlf_and_the_last_may_be_missing(tmp_path, ending, last, quote):
    lines = ["stream_id,ts,price", f"{quote}a{quote},{T},1", f"b,{T},{quote}2{quote}"]
    content = ending.join(lines) + (ending if last else "")
    read = taken(written(tmp_path, "day.csv", content))
    assert rows_of(read) == [("a", US, (1.0,)), ("b", US, (2.0,))]


def test_blank_lines_are_no_rows_but_count_as_lines(tmp_path):
    read = delivery(tmp_path, f'\na,{T},1\n\r\n  \nb,{T},x\n\n"c",{T},3\n\n\n')
    assert (read.line.tolist(), faulty(read)) == ([3, 8], [(6, "price: 'x' is not a number")])


@pytest.mark.fault(45)
def test_a_byte_order_mark_is_passed_over(tmp_path):
    read = delivery(tmp_path, f"a,{T},1\n", header=b"\xef\xbb\xbfstream_id,ts,price\r\n")
    assert rows_of(read) == [("a", US, (1.0,))]


def test_quoted_fields_may_hold_commas_quotes_and_line_breaks(tmp_path):
    header = 'stream_id,"ts","pri""ce",note\n'
    body = f'"a,""b""",{T},1,"one\ntwo, ""three""\r\nfour"\nc,"{T}","2",\nd,{T},x,"\n"\ne,{T},4,\n'
    read = delivery(tmp_path, body, header, axes=('pri"ce',))
    assert rows_of(read) == [('a,"b"', US, (1.0,)), ("c", US, (2.0,)), ("e", US, (4.0,))]
    assert read.line.tolist() == [2, 5, 8]
    assert raws(read) == [f'd,{T},x,"\n"']
    assert read.raw_of(np.array([0])).to_pylist() == [body[: body.index("\nc,")]]


STRAYS = [f'"a,{T},2', f'a"b,{T},2', f'a,{T},"2', f'"a"b,{T},2', f'a,"{T},2', '"', f'a,{T},2"']


@pytest.mark.parametrize("stray", STRAYS)
@pytest.mark.parametrize("neighbour", ['"{}",{},{}', "{},{},{}", '{},"{}","{}"'])
@pytest.mark.fault(45)
def test_a_stray_quotation_mark_costs_its_own_row_and_no_other(tmp_path, stray, neighbour):
    good = [neighbour.format(name, T, 1) for name in "pqrs"]
    read = delivery(tmp_path, "\n".join([*good[:2], stray, *good[2:]]) + "\n")
    assert [name for name, _, _ in rows_of(read)] == list("pqrs")
    assert read.line.tolist() == [2, 3, 5, 6]
    assert faulty(read) == [(4, "a quotation mark out of place, or one that is never closed")]
    assert raws(read) == [stray]


@pytest.mark.parametrize(
    ("row", "detail"),
    [
        (f"a,{T}", "2 fields, where the header has 3"),
        ("a", "1 field, where the header has 3"),
        (f"a,{T},1,", "4 fields, where the header has 3"),
        (f'"a,b",{T}', "2 fields, where the header has 3"),
        (f"a\r,{T},1", "a carriage return without a line feed"),
        (f"a,{T},1\r\r", "a carriage return without a line feed"),
        (f",{T},1", "stream_id is empty"),
        (f"a\x01,{T},1", r"stream_id: 'a\x01' holds a control character, U+0001, as character 2"),
        ("a,,1", "ts is empty"),
        ("a,2026-11-18,1", "ts: '2026-11-18' has no offset: declare timezone = \"…\""),
        (f"a,{T},", "price is empty"),
        (f"a,{T},NaN", "price: 'NaN' is not a number"),
        (f"a,{T},null", "price: 'null' is not a number"),
        (f"a,{T}, 1", "price: ' 1' is not a number"),
        (
            "a,x,y",
            "ts: 'x' is not an instant like '2026-11-18T14:02:11Z'; price: 'y' is not a number",
        ),
    ],
)
@pytest.mark.fault(45)
def test_a_malformed_row_says_what_is_wrong_and_stands_as_it_was(tmp_path, row, detail):
    read = delivery(tmp_path, f"p,{T},1\n{row}\r\nq,{T},2\n")
    assert faulty(read) == [(3, detail)]
    assert raws(read) == [row]
    assert [name for name, _, _ in rows_of(read)] == ["p", "q"]
    assert read.rows == 3


@pytest.mark.fault(45)
def test_bytes_that_are_not_utf8_cost_their_own_row(tmp_path):
    body = f"é,{T},1\n".encode() + b"a\xff\xed\xa0\x80," + f"{T},1\nü,{T},2\n".encode()
    read = delivery(tmp_path, body)
    assert [name for name, _, _ in rows_of(read)] == ["é", "ü"]
    assert faulty(read) == [(3, "bytes that are not UTF-8")]
    assert raws(read) == [rf"a\xff\xed\xa0\x80,{T},1"]


def test_nothing_is_a_null(tmp_path):
    read = delivery(tmp_path, "".join(f"{name},{T},1\n" for name in ("NA", "null", "NaN", "#N/A")))
    assert read.ids.to_pylist() == ["NA", "null", "NaN", "#N/A"]


def test_other_columns_are_payload_where_the_axes_are_named(tmp_path):
    header = "venue,volume,ts,price,stream_id\n"
    read = delivery(tmp_path, f"X,5,{T},1,a\n", header, axes=("price", "volume"))
    assert rows_of(read) == [("a", US, (1.0, 5.0))]


def test_a_clock_is_read_beside_the_axes(tmp_path):
    read = delivery(tmp_path, f"a,{T},1,{T}\nb,{T},1,x\n", "stream_id,ts,price,at\n", clock="at")
    assert read.clock is not None
    assert (read.axes, read.clock.tolist(), read.line.tolist()) == (("price",), [US], [2])


def test_a_column_without_a_number_is_told_apart(tmp_path):
    read = delivery(tmp_path, f"a,{T},1,NYSE\nb,{T},x,NYSE\n", "stream_id,ts,price,venue\n")
    assert (read.numberless, len(read.malformed)) == (("venue",), 2)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("", "is empty; a header with stream_id, ts and axes was expected"),
        ("\n \r\n", "is empty; a header with stream_id, ts and axes was expected"),
        ("stream_id,price\n", "no column 'ts'"),
        ("stream_ids,ts,price\n", "Did you mean 'stream_ids'?"),
        ("stream_id#ts#price\n", "the columns are: stream_id#ts#price."),
        ("stream_id,ts\n", "no axis: beside stream_id, ts a column of numbers was expected"),
        ("stream_id,ts,price,price\n", "column 'price' occurs twice in the header"),
        ("stream_id,ts,price,\n", "column 4 of the header has no name"),
        ('stream_id,ts,"price\n', "the header is not CSV: a quotation mark out of place"),
        (b"stream_id,ts,pr\xffice\n", "the header is not UTF-8"),
    ],
)
@pytest.mark.fault(46)
def test_a_header_at_fault_is_a_fault_of_the_file(tmp_path, header, message):
    path = written(tmp_path, "day.csv", header)
    with pytest.raises(Faults) as refused:
        taken(path)
    assert message in str(refused.value)
    assert str(path) in str(refused.value)


def test_all_faults_of_a_header_are_told_with_its_line(tmp_path):
    path = written(tmp_path, "day.csv", "\nid,time,price,price\n")
    with pytest.raises(Faults) as refused:
        taken(path)
    assert [(f.line, f.message) for f in refused.value.faults] == [
        (2, "column 'price' occurs twice in the header"),
        (2, "no column 'stream_id'"),
        (2, "no column 'ts'"),
    ]
    assert "                  ^^^^^" in str(refused.value)


Split = tuple[list[tuple[int, bytes]], list[tuple[int, bytes]]]
CELLS = st.text('ab,"\n\r é1', max_size=5)


def reference_records(text, fields) -> Split:
    """Read record by record: the exact grammar, tried at each line in turn."""
    found, faults, at, line = [], [], 0, 1
    while at < len(text):
        match = csv_records.COMMA.record_of(fields).match(text, at)
        if match is not None:
            found.append((line, match[1]))
            line += text.count(b"\n", at, match.end())
            at = match.end()
            continue
        end = text.find(b"\n", at) + 1 or len(text)
        record = text[at:end]
        if record.strip():
            faults.append(
                (
                    line,
                    record.removesuffix(b"\n").removesuffix(b"\r")
                    if record.endswith(b"\n")
                    else record,
                )
            )
        at, line = end, line + 1
    return found, faults


def split_all(content, fields, delimiter=",") -> Split:
    found, faults, lines = [], [], lines_of(content)
    while (window := lines.next()) is not None:
        assert isinstance(window, Window)
        r = csv_records.split(window, fields, grammar_of(delimiter))
        spans = zip(r.line.tolist(), r.begin.tolist(), r.end.tolist(), strict=True)
        found += [(at, window.content[b:e]) for at, b, e in spans]
        faults += [(at, window.content[b:e]) for at, _, b, e in r.faulty]
        lines.past(window, r.next_begin)
    return found, faults


@given(st.text('a,"\n\r ', max_size=40), st.sampled_from([1, 7, 1 << 26]))
@example('a,"\n",\n"a', 1)
@example('"a\n","\r\n",a', 7)
@example("a,a,a\r", 1)
@pytest.mark.fault(45)
def test_oracle_records_are_those_of_the_grammar_tried_line_by_line(text, piece):
    content = text.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_content, "PIECE", piece)
        assert split_all(content, 3) == reference_records(content, 3)


@given(st.text('a,"\n\r ;', max_size=40), st.sampled_from([";", "\t", "|", "^", "]"]))
@example('a;b,"c;,"\n,,', ";")
def test_another_delimiter_parts_as_the_comma_does(text, delimiter):
    swapped = text.replace(",", "\0").replace(delimiter, ",").replace("\0", delimiter)
    found, faults = split_all(swapped.encode(), 3, delimiter)
    swap = bytes.maketrans(b"," + delimiter.encode(), delimiter.encode() + b",")
    expected, wrong = reference_records(text.encode(), 3)
    assert found == [(line, record.translate(swap)) for line, record in expected]
    assert faults == [(line, record.translate(swap)) for line, record in wrong]


@given(
    st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=6),
    # with LF, Python leaves a lone CR unquoted unless it is told to quote all
    st.sampled_from([("\n", csv.QUOTE_ALL), ("\r\n", csv.QUOTE_ALL), ("\r\n", csv.QUOTE_MINIMAL)]),
)
def test_what_pythons_csv_writes_is_read_back(rows, style):
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=style[0], quoting=style[1])
    writer.writerow(["stream_id", "ts", "price"])
    writer.writerows(rows)
    content = text.getvalue().encode()
    pieces = list(csv_rows.rows("t.csv", lines_of(content), ("price",), Declared()))
    read = [
        row
        for piece in pieces
        for row in zip(
            *(piece.cells[name].to_pylist() for name in ("stream_id", "ts", "price")), strict=True
        )
    ]
    assert read == rows
    assert sum(len(piece.malformed) for piece in pieces) == 0


def test_a_quotation_mark_is_followed_so_far_and_no_further(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_records, "LONGEST_QUOTED", 64)
    read = delivery(tmp_path, f'a,{T},"1' + "\n" * 100 + f'"\nb,{T},2\n')
    assert [name for name, _, _ in rows_of(read)] == ["b"]
    assert [line for line, _ in faulty(read)] == [2, 102]


def test_pieces_make_no_difference(tmp_path, monkeypatch):
    body = "".join(f'"s{n}",{T},{n}\nt{n},{T},{"x" if n % 3 else n}\n' for n in range(50))
    whole = delivery(tmp_path, body)
    monkeypatch.setattr(file_content, "PIECE", 100)
    pieces = delivery(tmp_path, body)
    assert rows_of(pieces) == rows_of(whole)
    assert faulty(pieces) == faulty(whole)
    assert pieces.line.tolist() == whole.line.tolist()
    some = np.array([0, 3, 4, 60])
    assert pieces.raw_of(some) == whole.raw_of(some)


def test_arrow_reads_memory_of_its_own():
    """Its threads let go of it late, and would abort a process that ends if it were Python's."""
    content = b"a,2026-11-18T14:02:11Z,1\n" * 3
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == ord("\n"))
    begins = np.r_[0, ends[:-1] + 1]
    before = sys.getrefcount(content)
    body = csv_rows._body(content, begins, ends)
    assert bytes(body) == content
    assert sys.getrefcount(content) == before
