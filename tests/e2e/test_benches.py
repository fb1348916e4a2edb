"""Each section of a benchmark runs, and its answers are equal, at their smallest."""

import re
from importlib import import_module
from pkgutil import walk_packages

import pytest

import benchmarks
from benchmarks import joins, matches, regions
from benchmarks.peers import __main__ as peers
from benchmarks.peers import fences_duckdb, tile38
from benchmarks.peers.apart import FLINK
from benchmarks.sections import Book
from tests.support.real.data import LEAN

BOOKS = {book.name: book for book in (matches.BOOK, joins.BOOK, regions.BOOK, peers.BOOK)}
EACH = [(name, section) for name, book in BOOKS.items() for section in book.sections]


ABSENT = {
    ("regions", "duckdb"): None if fences_duckdb.is_there() else fences_duckdb.WHEEL,
    ("regions", "circles"): None if tile38.program() else tile38.NAME,
    ("peers", "flink"): None if FLINK.is_there else FLINK.name,
    ("peers", "fleets"): None if tile38.program() else tile38.NAME,
    ("peers", "real"): None if LEAN.is_dir() else "the real data",
}
"""The rival of a section, where it is not on this machine: then there is no ratio."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "section"), EACH)
def test_a_section_of_a_benchmark_answers_as_its_rivals_do(name, section, capsys):
    book = BOOKS[name]
    assert book.main([section, "--quick"], None) == 0
    said = capsys.readouterr().out
    _, title, lines = said.partition(f"\n{book.sections[section][0]}\n")
    assert title
    absent = ABSENT.get((name, section))
    assert f"{absent} is not there" in lines if absent else re.search(r"\d ×  ", lines)


@pytest.mark.parametrize("book", BOOKS.values(), ids=BOOKS)
def test_a_section_that_is_none_is_named(book: Book, capsys):
    with pytest.raises(SystemExit):
        book.main(["rectangle"], None)
    assert next(iter(book.sections)) in capsys.readouterr().err


def test_every_module_of_the_benchmarks_can_be_imported():
    found = [module.name for module in walk_packages(benchmarks.__path__, "benchmarks.")]
    assert len(found) > 50
    for name in found:
        import_module(name)
