"""From the bytes of a sample to its columns: encoding, delimiter, lines to skip, header.

Law: every cell is the text that the reader would be given. Lines that have another number of fields
than most are skipped before the first that has as many, and nowhere else.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.doubles import NUMBER
from fencepost.errors import InputError
from fencepost.position import folded
from pipelines.files.guess.hints import FeedHints
from pipelines.files.guess.sample import Sampled
from pipelines.files.guess.times import form_of_times
from pipelines.files.guess.words import MAYBE_TIMES
from pipelines.files.read.content import Form

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
MOST_ROWS = 2400
MOST_TRIED = 300
"""Lines by which the delimiter and the header are found."""
_COMMA = re.compile(r"[+-]?\d+,\d+")


@dataclass(frozen=True)
class SampleColumn:
    """A column of the sample: its texts, by row; empty for nothing.

    kind   what Parquet or JSON says of it: text, number, instant, naive, boolean, other; else empty
    """

    name: str
    texts: tuple[str, ...] = field(repr=False)
    kind: str = ""

    @property
    def filled(self) -> list[str]:
        """The cells that hold something."""
        return [text for text in self.texts if text]

    @property
    def is_number(self) -> bool:
        """Whether every cell that holds something is a number."""
        if self.kind not in ("", "number"):
            return False
        return bool(self.filled) and all(map(NUMBER.fullmatch, self.filled))

    @property
    def is_whole(self) -> bool:
        """Whether every cell that holds something is an integer."""
        return self.is_number and all(text.lstrip("+-").isdecimal() for text in self.filled)


@dataclass(frozen=True)
class SampleGrid:
    """The columns of a sample, and how the file says them.

    header   whether its own header names them; else `names` must be declared
    why      what was found of it, in words
    """

    form: Form
    columns: tuple[SampleColumn, ...]
    encoding: str = "utf-8"
    delimiter: str | None = None
    decimal: str = "."
    skip_lines: int = 0
    header: bool = True
    why: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def rows(self) -> int:
        """How many rows the sample has."""
        return len(self.columns[0].texts) if self.columns else 0


def is_unnamed(name: str, grid: SampleGrid) -> bool:
    """Recognise a name that is only a place: c1, c2 in a file without a header."""
    return not grid.header and re.fullmatch(r"c\d+", name) is not None


def grid_of(sample: Sampled, hints: FeedHints) -> SampleGrid:
    """Find the columns of a file's sample."""
    if sample.form is Form.PARQUET:
        return _of_parquet(sample)
    if sample.form is Form.JSON:
        return _of_json(sample)
    try:
        return _of_csv(sample, hints)
    except csv.Error as why:
        raise InputError(f"{sample.path} is not CSV: {why}") from None


def _of_csv(sample: Sampled, hints: FeedHints) -> SampleGrid:
    text, encoding = _decoded(sample.head, hints.encoding)
    text = _unbroken(text)
    lines = text.split("\n", MOST_TRIED)[:MOST_TRIED]
    delimiter = hints.delimiter or _delimiter(lines)
    counts = [len(_split(line, delimiter)) if line.strip() else 0 for line in lines]
    usual = Counter(counts[len(counts) // 5 :]).most_common(1)[0][0]
    begin = hints.skip_lines if hints.skip_lines is not None else counts.index(usual)
    later = _unbroken(sample.later.decode(encoding, errors="replace"))
    rows = list(_records(lines_from(text, begin), later, delimiter, usual))
    if not rows:
        raise InputError(f"{sample.path} has no rows of {usual} fields: is it CSV?")
    names, header, skipped, why = _header(rows, lines, begin, delimiter, usual, hints, sample.path)
    rows = rows[1:] if header and names == tuple(rows[0]) else rows
    if not rows:
        raise InputError(f"{sample.path} has a header and no row: give a sample with some rows")
    if hints.columns is None:
        names = _indexed(names) if header else own_names(names)
    texts = list(zip(*rows, strict=True))
    decimal = hints.decimal or _decimal(texts, delimiter)
    columns = tuple(
        SampleColumn(name, tuple(_plain(each, decimal)))
        for name, each in zip(names, texts, strict=True)
    )
    said = (f"{DELIMITERS.get(delimiter, repr(delimiter))} between fields", *why)
    return SampleGrid(Form.CSV, columns, encoding, delimiter, decimal, skipped, header, said)


def lines_from(text: str, begin: int) -> str:
    """Give a text without its first lines."""
    at = 0
    for _ in range(begin):
        at = text.find("\n", at) + 1 or len(text)
    return text[at:]


def _decoded(head: bytes, encoding: str | None) -> tuple[str, str]:
    """Decode a sample as UTF-8, else as Latin-1, in which every byte is a character."""
    if encoding is not None:
        return head.decode(encoding, errors="replace"), encoding
    try:
        return head.decode(), "utf-8"
    except UnicodeDecodeError as why:
        if why.start > len(head) - 4 and why.reason == "unexpected end of data":
            return head[: why.start].decode(), "utf-8"
        return head.decode("latin-1"), "latin-1"


def _unbroken(text: str) -> str:
    """Leave line feeds as the only line breaks, as the reader does."""
    return text.replace("\r\n", "\n").replace("\r", " ")


def _split(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter), [])


def _delimiter(lines: Sequence[str]) -> str:
    """Take the delimiter by which most lines have as many fields, and most cells are plain."""
    best = {mark: _evenness(lines, mark) for mark in DELIMITERS}
    return max(best, key=lambda mark: best[mark])


def _evenness(lines: Sequence[str], delimiter: str) -> float:
    counts = Counter(len(_split(line, delimiter)) for line in lines if line.strip())
    counts.pop(1, None)
    if not counts:
        return 0.0
    usual, many = counts.most_common(1)[0]
    rows = [row for line in lines if len(row := _split(line, delimiter)) == usual]
    cells = [cell for row in rows[1:] or rows for cell in row if cell]
    plain = sum(bool(NUMBER.fullmatch(cell) or _COMMA.fullmatch(cell)) for cell in cells)
    marks = sum(mark in cell for mark in DELIMITERS if mark != "," for cell in cells)
    return many / counts.total() + 0.5 * (plain - marks) / max(len(cells), 1)


def _records(text: str, later: str, delimiter: str, usual: int) -> Iterator[list[str]]:
    many = 0
    for part in (text, later):
        for row in csv.reader(io.StringIO(part), delimiter=delimiter):
            if many >= MOST_ROWS:
                break
            if len(row) == usual:
                many += 1
                yield row
        many = 0


def _header(  # noqa: PLR0913  what decides on a header is many things
    rows: Sequence[Sequence[str]],
    lines: Sequence[str],
    begin: int,
    delimiter: str,
    usual: int,
    hints: FeedHints,
    path: str,
) -> tuple[tuple[str, ...], bool, int, tuple[str, ...]]:
    """Find the names, whether they are the file's own, the lines to skip, and what to say of it."""
    skipped = (f"{begin} lines before the first row",) if begin else ()
    if hints.columns is not None:
        if len(hints.columns) != usual:
            raise InputError(
                f"--columns names {len(hints.columns)} columns, where the rows of {path} have "
                f"{usual} fields"
            )
        skip = begin + (hints.skip_lines is None and _names_columns(rows))
        return hints.columns, False, skip, (*skipped, "columns named by you")
    if _names_columns(rows):
        where = (f"header in line {begin + 1}",)
        return tuple(rows[0]), True, begin, where
    above = _split(lines[begin - 1], delimiter) if begin and begin <= len(lines) else []
    if len(above) == usual - 1 and len(above) > 1 and not any(map(_is_value, above)):
        names, why = _longer(above, rows)
        return names, False, begin, (f"header in line {begin}, {why}",)
    names = tuple(f"c{place + 1}" for place in range(usual))
    return names, False, begin, (*skipped, "no header")


def _names_columns(rows: Sequence[Sequence[str]]) -> bool:
    """Say whether the first record names columns: it has no number or time, and the others do."""
    first, *others = rows
    if any(map(_is_value, first)) or len({*first}) < len(first):
        return False
    if not others:
        return True
    beneath = zip(*others[:50], strict=True)
    return any(_is_value(next(filter(None, cells), "")) for cells in beneath)


def _is_value(cell: str) -> bool:
    number = NUMBER.fullmatch(cell) or _COMMA.fullmatch(cell)
    return bool(number) or form_of_times([cell]) is not None


def _longer(above: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], str]:
    """Name the columns of rows that have a field more than the header above them."""
    cells = list(zip(*rows[:200], strict=True))
    forms = [form_of_times(each) for each in cells]
    for place, name in enumerate(above):
        kinds = [form.kind if form else "" for form in forms[place : place + 2]]
        if kinds == ["day", "hours"] and MAYBE_TIMES.search(folded(name)):
            names = (*above[:place], "date", "time", *above[place + 1 :])
            return names, f"which names {name} where the rows have a date and a time"
    return ("index", *above), "a field shorter than the rows, whose first column has no name"


def own_names(names: Sequence[str]) -> tuple[str, ...]:
    """Write names that are declared, and no header's, as rules can: a second one gets its place."""
    plain = [folded(name) or f"c{place}" for place, name in enumerate(names, 1)]
    seen: Counter[str] = Counter()
    for place, name in enumerate(plain):
        seen[name] += 1
        plain[place] = name if seen[name] == 1 else f"{name}_{place + 1}"
    return tuple(plain)


def _indexed(names: tuple[str, ...]) -> tuple[str, ...]:
    """Call a first column without a name `index`, as pandas writes one."""
    return ("index", *names[1:]) if names[0] == "" and "index" not in names else names


def _decimal(texts: Sequence[Sequence[str]], delimiter: str) -> str:
    """Find the decimal comma: some column has numbers with one, and none with a point."""
    if delimiter == ",":
        return "."
    commas = sum(any(map(_COMMA.fullmatch, each)) for each in texts)
    points = sum(any(re.fullmatch(r"[+-]?\d+\.\d+", text) for text in each) for each in texts)
    return "," if commas and not points else "."


def _plain(texts: Sequence[str], decimal: str) -> Iterator[str]:
    for text in texts:
        yield text.replace(",", ".") if decimal == "," and _COMMA.fullmatch(text) else text


def _of_json(sample: Sampled) -> SampleGrid:
    rows: list[dict[str, Any]] = []
    for line in (sample.head + sample.later).splitlines():
        try:
            found = json.loads(line, parse_int=str, parse_float=_Literal)
        except ValueError:
            continue
        if isinstance(found, dict) and len(rows) < MOST_ROWS:
            rows.append(found)
    if not rows:
        raise InputError(
            f"{sample.path} begins as JSON, but no line of it is an object: JSON lines are read, "
            "one object a line"
        )
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = tuple(_json_column(name, [row.get(name) for row in rows]) for name in names)
    return SampleGrid(Form.JSON, columns, why=("the keys name the columns",))


class _Literal(str):
    """A number of a JSON line, as it was written."""

    __slots__ = ()


def _json_column(name: str, values: Sequence[Any]) -> SampleColumn:
    kinds = {_kind_of(value) for value in values if value is not None}
    kind = next(iter(kinds)) if len(kinds) == 1 else "text" if kinds else ""
    texts = tuple("" if value is None else str(value) for value in values)
    return SampleColumn(name, texts, "other" if "other" in kinds else kind)


def _kind_of(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, _Literal):
        return "number"
    return "text" if isinstance(value, str) else "other"


def _of_parquet(sample: Sampled) -> SampleGrid:
    table = sample.table if sample.table is not None else pa.table({})
    if not table.num_rows:
        raise InputError(f"{sample.path} has no row: give a sample with some rows")
    columns = tuple(_arrow_column(name, table[name]) for name in table.column_names)
    return SampleGrid(Form.PARQUET, columns, why=("its schema names the columns",))


def _arrow_column(name: str, cells: pa.ChunkedArray) -> SampleColumn:
    kind, types = cells.type, pa.types
    if types.is_dictionary(kind):
        cells = pc.cast(cells, kind.value_type)
        kind = kind.value_type
    if types.is_timestamp(kind):
        texts = pc.strftime(pc.cast(cells, pa.timestamp("us")), format="%Y-%m-%dT%H:%M:%S")
        zoned = pc.binary_join_element_wise(texts, "Z" if kind.tz else "", "")
        return SampleColumn(name, _texts(zoned), "instant" if kind.tz else "naive")
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return SampleColumn(name, _texts(pc.cast(cells, pa.string())), "number")
    if types.is_boolean(kind):
        return SampleColumn(name, _texts(pc.cast(cells, pa.string())), "boolean")
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return SampleColumn(name, _texts(cells), "text")
    return SampleColumn(name, ("",) * len(cells), "other")


def _texts(cells: pa.ChunkedArray) -> tuple[str, ...]:
    return tuple(text or "" for text in cells.to_pylist())
