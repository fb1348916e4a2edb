"""Every fault of the matrix has a test or a reason, and the page says what the tests say."""

from tests.faults.matrix import ROWS, SECTIONS
from tests.faults.page import proofs, proofs_in, written

MARKED = """
import pytest
pytestmark = [pytest.mark.slow, pytest.mark.fault(7)]

@pytest.mark.fault(1, 3)
def test_a_killed_run_changes_no_row(): ...

@pytest.mark.parametrize("k", [1, pytest.param(2, marks=[pytest.mark.slow, pytest.mark.fault(4)])])
def test_of_parameters(k): ...

class TestMore:
    @pytest.mark.fault(9)
    def test_of_a_class(self): ...

def helper(): ...
"""


def test_the_matrix_has_72_rows_each_once() -> None:
    numbers = [row.number for rows in SECTIONS.values() for row in rows]
    assert numbers == [*range(1, 73)]


def test_every_fault_has_a_test_or_says_why_not() -> None:
    named = {row for proof in proofs() for row in proof.rows}
    assert named <= ROWS.keys()
    assert {row.number for row in ROWS.values() if not row.limit} - named == set()


def test_the_page_says_what_the_marks_say() -> None:
    for page, text in written().items():
        assert page.read_text(encoding="utf-8") == text, f"{page.name} is old: `make docs`"


def test_marks_are_found_on_files_functions_and_parameters(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tests.faults.page.HOUSE", tmp_path)
    (tmp_path / "test_it.py").write_text(MARKED)
    found = [(each.name, each.is_long, each.rows) for each in proofs_in(tmp_path / "test_it.py")]
    assert found == [
        ("test_a_killed_run_changes_no_row", True, (1, 3, 7)),
        ("test_of_parameters", True, (4, 7)),
        ("test_of_a_class", True, (7, 9)),
    ]
    (tmp_path / "test_it.py").write_text(
        MARKED.replace("pytestmark = [pytest.mark.slow, ", "x = [")
    )
    found = [(each.name, each.is_long, each.rows) for each in proofs_in(tmp_path / "test_it.py")]
    assert found == [
        ("test_a_killed_run_changes_no_row", False, (1, 3)),
        ("test_of_parameters", False, (4,)),
        ("test_of_a_class", False, (9,)),
    ]


def test_a_row_is_a_line_of_the_table() -> None:
    for row in ROWS.values():
        text = row.fault + row.promise + row.limit
        assert "|" not in text
        assert "\n" not in text
