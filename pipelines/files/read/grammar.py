"""The grammar of CSV with some delimiter, and which delimiter a file has.

Law: a comma is tried first, and taken where it gives the columns that are wanted.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from pipelines.files.read.declaration import Declared

DELIMITERS = (",", ";", "\t", "|")
FIRST_ROWS = 20
"""Rows behind the header that must agree with it."""
SHORT = 1 << 14
_BLANK = re.compile(rb"(?:[ \t]*\r?\n)*")


@dataclass(frozen=True)
class Grammar:
    """Fields parted by a delimiter; in quotation marks a field may hold anything."""

    delimiter: str

    @property
    def byte(self) -> int:
        """The delimiter as it stands in the file."""
        return ord(self.delimiter)

    @cached_property
    def field(self) -> bytes:
        """What a field matches."""
        return rb'(?:"(?:[^"]++|"")*+"|[^"%b\r\n]*+)' % self._escaped

    @cached_property
    def field_in_line(self) -> str:
        """What a field matches that has no line break in it, for RE2."""
        return rf'(?:"(?:[^"\n]|"")*"|[^"{self._escaped.decode()}\r\n]*)'

    @property
    def _escaped(self) -> bytes:
        return rb"\x%02x" % ord(self.delimiter)

    @cached_property
    def any_record(self) -> re.Pattern[bytes]:
        """A record of any number of fields."""
        return re.compile(rb"(?:%b)(?:%b(?:%b))*+" % (self.field, self._escaped, self.field))

    @cached_property
    def next_field(self) -> re.Pattern[bytes]:
        """One field after the other."""
        return re.compile(rb"(?:\A|%b)(%b)" % (self._escaped, self.field))

    @cached_property
    def header(self) -> re.Pattern[bytes]:
        """A record and its line break."""
        return re.compile(rb"(%b)(?:\r?\n|\Z)" % self.any_record.pattern)

    @lru_cache(maxsize=8)  # noqa: B019  few grammars, each kept by grammar_of
    def record_of(self, fields: int) -> re.Pattern[bytes]:
        """Give the grammar of a record of exactly this many fields, and of its line break."""
        rest = rb"(?:%b%b){%d}" % (self._escaped, self.field, fields - 1)
        return re.compile(rb"(%b%b)(?:\r?\n|\Z)" % (self.field, rest))

    def line_of(self, fields: int) -> str:
        """Give the pattern of a line that is a record of so many fields, for RE2."""
        part = self.field_in_line
        delimiter = self._escaped.decode()
        return f"^{part}(?:{delimiter}{part}){{{fields - 1}}}(?:\r?\n)?$"

    def fields_of(self, record: bytes) -> list[bytes]:
        """Take a record apart."""
        return self.next_field.findall(record)


@lru_cache(maxsize=16)
def grammar_of(delimiter: str) -> Grammar:
    """Give the grammar with a delimiter."""
    return Grammar(delimiter)


def first_record(head: bytes) -> int:
    """Say where the first line begins that is not blank."""
    blank = _BLANK.match(head)
    return 0 if blank is None else blank.end()


def delimiter_of(head: bytes, declared: Declared) -> str:
    """Find what parts the fields of a file that begins so, unless it is declared.

    The first of the usual ones that gives all columns that are wanted; or else the one with which
    the first rows have as many fields as the header, and the most.
    """
    if declared.delimiter is not None:
        return declared.delimiter
    usual = DELIMITERS if declared.decimal == "." else (*DELIMITERS[1:], DELIMITERS[0])
    lines = _rows_in(head[first_record(head) :])
    tried = {delimiter: _counts(lines, delimiter) for delimiter in usual}
    for delimiter, (names, _) in tried.items():
        if _has_all(names, declared):
            return delimiter
    agreeing = [delimiter for delimiter, (names, same) in tried.items() if same and len(names) > 1]
    return max(agreeing, key=lambda each: len(tried[each][0]), default=usual[0])


def _rows_in(head: bytes) -> list[bytes]:
    """Give the first lines that are not blank; of a long text the beginning is enough."""
    lines = [line for line in head[:SHORT].splitlines() if line.strip()]
    if len(lines) <= FIRST_ROWS + 1 and len(head) > SHORT:  # the last one is cut off
        lines = [line for line in head.splitlines() if line.strip()]
    return lines[: FIRST_ROWS + 1]


def _counts(lines: Sequence[bytes], delimiter: str) -> tuple[list[str], bool]:
    """Give the fields of the first line, and whether the others have as many."""
    grammar = grammar_of(delimiter)
    counts = []
    for line in lines:
        whole = grammar.any_record.fullmatch(line)
        counts.append(-1 if whole is None else len(grammar.fields_of(line)))
    fields = grammar.fields_of(lines[0]) if lines and counts[0] > 0 else []
    # The last line may be cut off where the head ends.
    same = len({*counts[:-1]}) == 1 if len(counts) > 2 else len({*counts}) == 1
    return [unquoted(field.decode(errors="replace")) for field in fields], same


def _has_all(names: Sequence[str], declared: Declared) -> bool:
    if declared.columns:
        return len(names) == len(declared.columns)
    return len(names) > 1 and {*declared.wanted} <= {*names, *(["index"] if not names[0] else [])}


def unquoted(field: str) -> str:
    """Undo the quotation marks of a field."""
    return field[1:-1].replace('""', '"') if field.startswith('"') else field
