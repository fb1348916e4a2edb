"""What all rooms share: words for messages, lists end to end, Arrow's codes and orders, hashes."""

import hashlib
import itertools
import subprocess
import sys
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.arrow import by_code, codes_in, codes_of, dictionary_of, ranks_by_code, ranks_of
from fencepost.hashing import added, digest, mix_strings, seeded
from fencepost.ragged import distinct_members, members, ptr_of
from fencepost.row_hashes import content_hash
from fencepost.text import counted, cut, cut_in_the_middle, escaped, few, shortened, size_in_words

NAMES = st.lists(st.sampled_from(["", "a", "b", "ä", "z", "Z", "𝄞", "\ufb01"]), max_size=12)


@pytest.mark.parametrize(
    ("many", "words"),
    [(0, "0 deliveries"), (1, "1 delivery"), (2, "2 deliveries"), (1000, "1,000 deliveries")],
)
def test_a_count_agrees_with_its_noun(many, words):
    assert counted(many, "delivery", "deliveries") == words


@pytest.mark.parametrize(
    ("size", "words"),
    [(1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (9_640_000, "9.6 MB"), (1.9e9, "1.9 GB")],
)
def test_bytes_are_written_as_people_do(size, words):
    assert size_in_words(int(size)) == words


def test_of_many_names_a_few_are_shown_and_the_others_counted():
    assert few(["a", "b", "c"]) == "a, b, c"
    assert few([*"abc"] * 700) == "a, b, c and 2,097 more"


@given(text=st.text(max_size=60), most=st.integers(5, 50))
def test_what_a_message_shows_is_printable_and_no_longer_than_it_may_be(text, most):
    for short in (shortened(text, most), escaped(text, most)):
        assert short.isprintable()
        assert len(short) <= most
    assert len(cut(text, most)) <= most
    assert len(cut_in_the_middle(text, most)) <= most


@given(lists=st.lists(st.lists(st.integers(0, 99), max_size=4), max_size=8), data=st.data())
def test_members_of_some_lists_are_theirs_in_their_order(lists, data):
    ptr = ptr_of([len(each) for each in lists])
    flat = np.array([member for each in lists for member in each], np.int64)
    rows = data.draw(st.lists(st.integers(0, len(lists) - 1))) if lists else []
    own, places = members(ptr, np.array(rows, np.int64))
    found = [flat[places[a:b]].tolist() for a, b in itertools.pairwise(own)]
    assert found == [lists[row] for row in rows]


@given(lists=st.lists(NAMES, max_size=6))
def test_a_name_given_twice_in_a_list_counts_once(lists):
    rows = np.repeat(np.arange(len(lists)), [len(each) for each in lists])
    names = pa.array([name for each in lists for name in each], pa.string())
    ptr, distinct = distinct_members(rows, names, len(lists))
    found = [distinct.slice(a, b - a).to_pylist() for a, b in itertools.pairwise(ptr)]
    assert found == [list(dict.fromkeys(each)) for each in lists]


@given(pieces=st.lists(NAMES, max_size=4))
def test_codes_and_ranks_are_those_of_the_values_whatever_the_chunks(pieces):
    column = pa.chunked_array([pa.array(each, pa.string()) for each in pieces], pa.string())
    values = [name for each in pieces for name in each]
    coded = dictionary_of(column)
    assert coded.to_pylist() == values
    order = {name: rank for rank, name in enumerate(sorted(set(values), key=str.encode))}
    assert ranks_of(column).tolist() == [order[name] for name in values]
    codes = codes_of(column)
    assert by_code(coded.dictionary, codes).to_pylist() == values
    assert ranks_by_code(coded.dictionary, codes).tolist() == [order[name] for name in values]


@given(pieces=st.lists(st.lists(st.none() | st.integers(0, 2)), max_size=4), alike=st.booleans())
def test_coded_chunks_are_one_column_whether_or_not_they_share_a_dictionary(pieces, alike):
    names = [["a", "b", "c"], ["a", "b", "c"] if alike else ["c", "a", "b"]]
    chunks = [
        pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(names[k % 2]))
        for k, codes in enumerate(pieces)
    ]
    column = pa.chunked_array(chunks, pa.dictionary(pa.int32(), pa.string()))
    coded = dictionary_of(column)
    assert coded.to_pylist() == column.to_pylist()
    assert len(set(coded.dictionary.to_pylist())) == len(coded.dictionary)


def test_a_name_that_is_not_known_has_no_code():
    assert codes_in(pa.array(["b", "x"]), pa.array(["a", "b"])).tolist() == [1, -1]


def test_a_digest_is_blake2b_of_the_bytes():
    assert digest("ä", 8) == hashlib.blake2b("ä".encode(), digest_size=8).hexdigest()
    assert digest("\ud800") != digest("\ud801")


def test_a_table_hashes_alike_in_any_order_of_rows_and_columns_and_by_parts():
    table = pa.table({"a": [1, None, 3], "b": ["x", "y", None], "c": [0.5, -1.0, None]})
    turned = table.take([2, 0, 1]).select(["c", "a", "b"])
    assert content_hash(table) == content_hash(turned)
    assert content_hash(table) == added(content_hash(table[:1]), content_hash(table[1:]))
    assert content_hash(table) != content_hash(table.slice(1))
    assert content_hash(table, ("b", "c")) == content_hash(table.select(["a"]))


@pytest.mark.parametrize("kind", [pa.binary(), pa.null(), pa.bool_(), pa.date32()])
def test_a_column_without_values_has_one_hash_whatever_its_type(kind):
    plain, other = (pa.table({"a": pa.nulls(20, each)}) for each in (pa.int64(), kind))
    assert content_hash(other) == content_hash(plain)


@given(strings=st.lists(st.text(max_size=40), max_size=20), skipped=st.integers(0, 3))
def test_differential_strings_are_hashed_alike_alone_and_together(strings, skipped):
    column = pa.array(strings, pa.string()).slice(skipped)
    alone, together = seeded(len(column)), seeded(len(column))
    with mock.patch.multiple("fencepost.hashing", FEW=100, CHUNK=2):
        mix_strings(alone, column)
    with mock.patch("fencepost.hashing.FEW", 0):
        mix_strings(together, column)
    assert (alone == together).all()


CELLS = {
    pa.string(): st.text(max_size=40),
    pa.int32(): st.integers(-(1 << 31), (1 << 31) - 1),
    pa.int64(): st.integers(-(1 << 63), (1 << 63) - 1),
    pa.bool_(): st.booleans(),
}


@given(st.data(), st.integers(0, 3))
def test_differential_kernels_hash_rows_as_numpy_does(data, skipped):
    coded = pa.dictionary(pa.int32(), pa.string())
    cells = {**CELLS, pa.float64(): st.floats(), coded: CELLS[pa.string()]}
    rows = data.draw(st.integers(0, 40))
    columns = {
        str(kind): pa.array(data.draw(st.lists(cell, min_size=rows, max_size=rows)), kind)
        for kind, some in cells.items()
        for cell in (data.draw(st.sampled_from([some, st.none() | some])),)
    }
    table = pa.table(columns).slice(skipped)
    with mock.patch("fencepost.row_hashes.CHUNK", 16):
        assert content_hash(table, fast=True) == content_hash(table, fast=False)


def test_hashing_rows_loads_no_kernels_where_none_are_in_use():
    code = """
import sys, pyarrow as pa
from fencepost.row_hashes import COMPILE_FROM, content_hash
content_hash(pa.table({"a": range(COMPILE_FROM)}))
print("numba" in sys.modules)
import numba
content_hash(pa.table({"a": range(COMPILE_FROM)}))
print("fencepost.hashing_kernels" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "True"]


@given(st.data())
def test_differential_a_few_rows_are_hashed_as_many_are(data):
    """A ledger's row is hashed cell by cell, and again among others when it is read."""
    cells = {kind: st.lists(st.none() | some, max_size=20) for kind, some in CELLS.items()}
    kind = data.draw(st.sampled_from(list(CELLS)))
    rows = pa.table({"cell": pa.array(data.draw(cells[kind]), kind)})
    few = content_hash(rows)
    with mock.patch("fencepost.row_hashes.FEW", 0):
        assert content_hash(rows) == few
    one_by_one = 0
    for row in range(len(rows)):
        one_by_one = added(one_by_one, content_hash(rows[row : row + 1]))
    assert one_by_one == few
