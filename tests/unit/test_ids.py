"""The script that shows that no test was lost."""

from tests.support.ids import lost, renames, reworded

BEFORE = ["a.py::one", "a.py::two[x-no such 'q']", "a.py::two[y]", "b.py::three[1]"]


def test_a_test_is_lost_unless_it_stands_under_its_old_id_or_the_one_it_was_renamed_to():
    now = {"a.py::one", "a.py::two[y]", "a.py::two[x-no 'q']", "rooms/b.py::three[1]"}
    assert lost(BEFORE, now, {}) == ["a.py::two[x-no such 'q']", "b.py::three[1]"]
    known = renames("# old, new\na.py::two[x-no such 'q']\ta.py::two[x-no 'q']\nb.py\trooms/b.py\n")
    assert lost(BEFORE, now, known) == []
    assert lost(BEFORE, now - {"a.py::one"}, known) == ["a.py::one"]


def test_a_reworded_case_is_proposed_by_its_place_and_only_where_none_went_missing():
    now = ["a.py::one", "a.py::two[x-no 'q']", "a.py::two[y]"]
    gone = lost(BEFORE, set(now), {})
    assert reworded(gone, BEFORE, now) == {BEFORE[1]: now[1]}
    assert reworded(gone, BEFORE, now[:2]) == {}
