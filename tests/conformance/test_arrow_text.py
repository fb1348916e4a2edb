"""Arrow's kernels over text, as we call them, give what each cell alone gives, in any layout.

A column comes as Arrow has it: cut out of a longer one, with bytes that do not begin at 0, with
bytes beneath its nulls, in chunks, coded, as views. A kernel that misreads the layout gives other
texts, or memory that nobody wrote (decision 0022).
"""

import ast
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import count, pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.time_cells import BEYOND_MICROSECONDS, INSTANT_WHOLE
from pipelines.files.write.text import NOTHING, QUOTE

ROOT = Path(__file__).parents[2]
Cells = Sequence[str | None]
Column = Any

TEXTS: Cells = [
    "2026-11-10T00:14:03.1234567Z",
    "",
    None,
    "1.5e3",
    'q"u,o\nte\r\n',
    "é☃𝄞",
    "2026-11-10T00:14:03Z",
    "17",
    None,
    "a" * 40,
    "vehicle-9",
    "a" * 40,
    "x\x07",
]
NUMBERS: Cells = ["1", None, "-0.5", "1e300", "17.25", None, ".5", "123456789012345678"]
INTEGERS: Cells = ["1", None, "-5", "123456789012345678", "0017"]
TIMES: Cells = [
    "2026-11-10 00:14:03Z",
    None,
    "1999-12-31T23:59:59.123456Z",
    "2026-11-10T02:14+02:00",
]


def flat(texts: Cells) -> pa.Array:
    return pa.array(texts, pa.string())


def cut_out(texts: Cells) -> pa.Array:
    return flat(["before", None, "it", *texts, None, "behind"]).slice(3, len(texts))


def with_bytes_beyond_0(texts: Cells) -> pa.Array:
    """Lay texts out as a reader may: the array begins at 0, its bytes do not."""
    _, offsets, data = flat(["before it", *texts]).buffers()
    return pa.StringArray.from_buffers(len(texts), offsets.slice(4), data, flat(texts).buffers()[0])


def with_bytes_beneath_nulls(texts: Cells) -> pa.Array:
    _, *under = flat(["x", *("beneath" if text is None else text for text in texts)]).buffers()
    valid = pa.array([True, *(text is not None for text in texts)]).buffers()[1]
    return pa.Array.from_buffers(pa.string(), len(texts) + 1, [valid, *under])[1:]


def joined_from_parts(texts: Cells) -> pa.Array:
    half = len(texts) // 2
    return pa.concat_arrays(
        [cut_out(texts[:half]), flat([]), with_bytes_beneath_nulls(texts[half:])]
    )


def out_of_a_table(texts: Cells) -> pa.Array:
    """Cut rows out of a table whose columns have other chunks, as Parquet's reader does."""
    table = pa.table({"x": pa.chunked_array([flat(["z", None]), flat([*texts, "y"])])})
    return table.slice(2, len(texts)).combine_chunks().column(0).combine_chunks()


def chunked(texts: Cells) -> pa.ChunkedArray:
    bounds = sorted({0, len(texts) // 3, len(texts) // 2, len(texts)})
    parts = [texts[first:beyond] for first, beyond in pairwise(bounds)]
    chunks = [lay(part) for lay, part in zip(LAYOUTS[1:], parts, strict=False)]
    return pa.chunked_array(chunks, pa.string())


LAYOUTS: list[Callable[[Cells], Column]] = [
    flat,
    cut_out,
    with_bytes_beyond_0,
    with_bytes_beneath_nulls,
    joined_from_parts,
    out_of_a_table,
    chunked,
]
TYPES = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.large_string()),
]


def each(truth: Callable[[str], object]) -> Callable[[Cells], list[object]]:
    """Make of what is true of a text what is true of a column: a null stays null."""
    return lambda texts: [None if text is None else truth(text) for text in texts]


def lists_of_two(texts: Cells) -> list[list[str | None]]:
    return [list(texts[at : at + 2]) for at in range(0, len(texts), 2)]


def as_lists(cells: Column) -> pa.ListArray:
    cells = pa.concat_arrays(cells.chunks or [flat([])]) if is_chunked(cells) else cells
    ends = [*range(0, len(cells), 2), len(cells)]
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), cells)


def is_chunked(cells: Column) -> bool:
    return isinstance(cells, pa.ChunkedArray)


def coded(cells: Column) -> Column:
    found = pc.dictionary_encode(cells)
    for part in found.chunks if is_chunked(found) else [found]:
        names = part.dictionary.to_pylist()
        assert None not in names
        assert len(names) == len(set(names))
    return found


def sorted_texts(texts: Cells) -> list[str | None]:
    some = sorted((text for text in texts if text is not None), key=str.encode)
    return [*some, *(text for text in texts if text is None)]


def counted(cells: Column) -> list[tuple[str | None, int]]:
    return [(row["values"], row["counts"]) for row in pc.value_counts(cells).to_pylist()]


def long_ones(cells: Column) -> Column:
    return pc.fill_null(pc.greater(pc.binary_length(cells), 4), fill_value=False)


def is_long(text: str | None) -> bool:
    return text is not None and len(text.encode()) > 4


def replaced(cells: Column) -> Column:
    mask = long_ones(cells)
    mask = mask.combine_chunks() if is_chunked(mask) else mask
    new = [f"<{place}>" for place in range(pc.sum(mask).as_py() or 0)]
    return pc.replace_with_mask(cells, mask, cut_out(new))


def replaced_texts(texts: Cells) -> list[str | None]:
    new = count()
    return [f"<{next(new)}>" if is_long(text) else text for text in texts]


def date_of(text: str) -> dict[str, str] | None:
    found = re.match("^(?P<year>[0-9]+)-(?P<month>[0-9]+)", text)
    return None if found is None else found.groupdict()


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


class Kernel(NamedTuple):
    """What Arrow makes of a column, what is true of its cells, and the cells that it is for."""

    of: Callable[[Column], Any]
    truth: Callable[[Cells], Any]
    cells: Cells = TEXTS


QUOTED = each(lambda text: f'"{text}"')
SOME = ["17", "a" * 40, "nowhere", "é☃𝄞"]
KERNELS = {
    "array_sort_indices": Kernel(
        lambda c: flat(c.to_pylist()).take(pc.array_sort_indices(c)), sorted_texts
    ),
    "binary_join": Kernel(
        lambda c: pc.binary_join(as_lists(pc.fill_null(c, "?")), "; "),
        lambda t: [
            "; ".join(x or ("?" if x is None else "") for x in two) for two in lists_of_two(t)
        ],
    ),
    "binary_join_element_wise": Kernel(
        lambda c: pc.binary_join_element_wise(QUOTE, c, QUOTE, NOTHING), QUOTED
    ),
    "binary_length": Kernel(pc.binary_length, each(lambda text: len(text.encode()))),
    "binary_replace_slice": Kernel(
        lambda c: pc.binary_replace_slice(c, 10, 11, "T"),
        each(lambda t: f"{t[:10]}T{t[11:]}"),
        TIMES,
    ),
    "cast to binary": Kernel(lambda c: pc.cast(c, pa.binary()), each(str.encode)),
    "cast to float64": Kernel(lambda c: pc.cast(c, pa.float64()), each(float), NUMBERS),
    "cast to int64": Kernel(lambda c: pc.cast(c, pa.int64()), each(int), INTEGERS),
    "cast to timestamp": Kernel(
        lambda c: pc.cast(c, pa.timestamp("us", "UTC")), each(instant), TIMES
    ),
    "coalesce": Kernel(
        lambda c: pc.coalesce(c, cut_out(["else"] * len(c))),
        lambda t: ["else" if text is None else text for text in t],
    ),
    "count_distinct": Kernel(
        lambda c: [pc.count_distinct(c).as_py()], lambda t: [len({*t} - {None})]
    ),
    "dictionary_encode": Kernel(coded, list),
    "drop_null": Kernel(lambda c: c.drop_null(), lambda t: [x for x in t if x is not None]),
    "equal": Kernel(lambda c: pc.equal(c, "a" * 40), each(lambda text: text == "a" * 40)),
    "extract_regex": Kernel(
        lambda c: pc.extract_regex(c, "^(?P<year>[0-9]+)-(?P<month>[0-9]+)"), each(date_of)
    ),
    "fill_null": Kernel(
        lambda c: pc.fill_null(c, "null"), lambda t: ["null" if x is None else x for x in t]
    ),
    "filter": Kernel(lambda c: c.filter(long_ones(c)), lambda t: [x for x in t if is_long(x)]),
    "index": Kernel(
        lambda c: [pc.index(c, "17").as_py()], lambda t: [t.index("17") if "17" in t else -1]
    ),
    "index_in": Kernel(
        lambda c: pc.index_in(c, value_set=cut_out(SOME)),
        each(lambda text: SOME.index(text) if text in SOME else None),
    ),
    "is_in": Kernel(
        lambda c: pc.is_in(c, value_set=cut_out(SOME)), lambda t: [text in SOME for text in t]
    ),
    "is_null": Kernel(pc.is_null, lambda t: [text is None for text in t]),
    "is_valid": Kernel(pc.is_valid, lambda t: [text is not None for text in t]),
    "list_flatten": Kernel(lambda c: pc.list_flatten(as_lists(c)[1:]), lambda t: list(t[2:])),
    "list_parent_indices": Kernel(
        lambda c: pc.list_parent_indices(as_lists(c)), lambda t: [at // 2 for at in range(len(t))]
    ),
    "list_value_length": Kernel(
        lambda c: pc.list_value_length(as_lists(c)), lambda t: [len(x) for x in lists_of_two(t)]
    ),
    "match_substring": Kernel(lambda c: pc.match_substring(c, "."), each(lambda text: "." in text)),
    "match_substring_regex": Kernel(
        lambda c: pc.match_substring_regex(c, INSTANT_WHOLE),
        each(lambda text: re.search(INSTANT_WHOLE, text) is not None),
    ),
    "max": Kernel(
        lambda c: [pc.max(c).as_py()],
        lambda t: [max((text for text in t if text is not None), key=str.encode, default=None)],
    ),
    "not_equal": Kernel(
        lambda c: pc.not_equal(c, cut_out(c.to_pylist()[::-1])),
        lambda t: [
            None if None in (one, other) else one != other
            for one, other in zip(t, t[::-1], strict=True)
        ],
    ),
    "replace_substring": Kernel(
        lambda c: pc.replace_substring(c, '"', '""'), each(lambda text: text.replace('"', '""'))
    ),
    "replace_substring_regex": Kernel(
        lambda c: pc.replace_substring_regex(c, BEYOND_MICROSECONDS, r"\1"),
        each(lambda text: re.sub(BEYOND_MICROSECONDS, r"\1", text)),
    ),
    "replace_with_mask": Kernel(replaced, replaced_texts),
    "sort_indices": Kernel(lambda c: flat(c.to_pylist()).take(pc.sort_indices(c)), sorted_texts),
    "starts_with": Kernel(
        lambda c: pc.starts_with(c, "vehicle-"), each(lambda text: text.startswith("vehicle-"))
    ),
    "struct_field": Kernel(
        lambda c: pc.struct_field(pc.extract_regex(c, "^(?P<year>[0-9]+)-(?P<month>[0-9]+)"), 0),
        each(lambda text: (date_of(text) or {}).get("year")),
    ),
    "take": Kernel(
        lambda c: c.take(pa.array(range(len(c) - 1, -1, -1), pa.int64())), lambda t: list(t[::-1])
    ),
    "unique": Kernel(pc.unique, lambda t: list(dict.fromkeys(t))),
    "utf8_length": Kernel(pc.utf8_length, each(len)),
    "utf8_lower": Kernel(pc.utf8_lower, each(str.lower)),
    "utf8_rpad": Kernel(lambda c: pc.utf8_rpad(c, 6, "0"), each(lambda text: text.ljust(6, "0"))),
    "utf8_slice_codeunits": Kernel(
        lambda c: pc.utf8_slice_codeunits(c, 1, 5), each(lambda text: text[1:5])
    ),
    "utf8_rtrim": Kernel(
        lambda c: pc.utf8_rtrim(c, "\r\n"), each(lambda text: text.rstrip("\r\n"))
    ),
    "value_counts": Kernel(counted, lambda t: [(text, t.count(text)) for text in dict.fromkeys(t)]),
}


NOT_OVER_TEXT = {
    *("abs", "all", "and_", "any", "field", "greater", "greater_equal", "indices_nonzero"),
    *("invert", "less", "less_equal", "min_max", "or_", "assume_timezone", "is_nan"),
    "strftime",
}
"""Kernels that are called over numbers, flags and times only."""


def agrees(kernel: Kernel, column: Column, texts: Cells) -> None:
    found = kernel.of(column)
    if isinstance(found, list):
        assert found == kernel.truth(texts)
        return
    found.validate(full=True)
    assert found.to_pylist() == kernel.truth(texts)


@pytest.mark.parametrize("name", KERNELS)
def test_differential_a_kernel_gives_what_each_cell_alone_gives(name):
    kernel = KERNELS[name]
    for lay, texts in product(LAYOUTS, (kernel.cells, kernel.cells[1:4], [None, None], [])):
        agrees(kernel, lay(texts), texts)


@given(st.data())
def test_differential_a_kernel_reads_parts_of_any_column(data):
    kernel = KERNELS[data.draw(st.sampled_from(sorted(KERNELS)))]
    texts = data.draw(st.lists(st.sampled_from(kernel.cells), max_size=20))
    column = data.draw(st.sampled_from(LAYOUTS))(texts)
    begin = data.draw(st.integers(0, len(texts)))
    length = data.draw(st.integers(0, len(texts) - begin))
    agrees(kernel, column.slice(begin, length), texts[begin : begin + length])


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_differential_text_of_any_type_is_cast_to_the_same_text(kind):
    for lay, texts in product(LAYOUTS, (TEXTS, TEXTS[1:4], [None, None], [])):
        column = pc.cast(lay(["first", *texts]), kind).slice(1)
        plain = column
        if pa.types.is_dictionary(kind):
            chunks = column.chunks if is_chunked(column) else [column]
            plain = pa.chunked_array(
                [chunk.dictionary_decode() for chunk in chunks], kind.value_type
            )
        for found in (
            pc.cast(column, pa.string()),
            pc.cast(pc.cast(plain, pa.binary()), pa.string()),
        ):
            found.validate(full=True)
            assert found.to_pylist() == list(texts)


@pytest.mark.skipif(int(pa.__version__.split(".")[0]) > 23, reason="mended in Arrow 24")
def test_the_kernel_that_we_do_not_call_is_seen_to_fail():
    if_else = pc.get_function("if_else")
    null = pa.scalar(None, pa.string())
    kernel = Kernel(
        lambda c: if_else.call([long_ones(c), c, null]),
        lambda t: [text if is_long(text) else None for text in t],
        TIMES,
    )
    agrees(kernel, flat(TIMES), TIMES)
    for lay in (cut_out, with_bytes_beyond_0, with_bytes_beneath_nulls):
        with pytest.raises((AssertionError, pa.ArrowInvalid, UnicodeDecodeError)):
            agrees(kernel, lay(TIMES), TIMES)


def test_every_kernel_that_we_call_is_held_to_its_cells():
    rooms = ("fencepost", "schemas", "pipelines", "assets")
    sources = [path for room in rooms for path in (ROOT / room).rglob("*.py")]
    called = {
        node.attr
        for path in sources
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "pc"
    }
    assert "match_substring_regex" in called
    assert called - {name.split()[0] for name in KERNELS} - NOT_OVER_TEXT == set()
