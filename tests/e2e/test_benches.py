"""Each section of a benchmark runs, and its answers are equal, at their smallest."""

import pytest

from benchmarks import joins, matches, regions
from benchmarks.sections import Book

BOOKS = {book.name: book for book in (matches.BOOK, joins.BOOK, regions.BOOK)}
EACH = [(name, section) for name, book in BOOKS.items() for section in book.sections]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "section"), EACH)
def test_a_section_of_a_benchmark_answers_as_its_rivals_do(name, section, capsys):
    book = BOOKS[name]
    assert book.main([section, "--quick"], None) == 0
    told = capsys.readouterr().out
    assert book.sections[section][0] in told
    assert " × " in told or "not there" in told


@pytest.mark.parametrize("book", BOOKS.values(), ids=BOOKS)
def test_a_section_that_is_none_is_named(book: Book, capsys):
    with pytest.raises(SystemExit):
        book.main(["rectangle"], None)
    assert next(iter(book.sections)) in capsys.readouterr().err
