"""A table on a terminal: what fits, and what is said of the rest."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.cli.tables import GAP, fitted, left_out
from pipelines.serve.views.cells import records

COLUMNS = st.lists(
    st.tuples(st.integers(1, 30), st.integers(0, 60), st.booleans()), min_size=1, max_size=12
)


@given(COLUMNS, st.integers(1, 200))
def test_every_column_is_shown_or_told_and_the_line_is_not_too_long(columns, room):
    least = [wide for wide, _, _ in columns]
    whole = [wide + more for wide, more, _ in columns]
    empty = [none for _, _, none in columns]
    fit = fitted(least, whole, empty, room)
    assert sorted(fit.shown + fit.empty + fit.more) == list(range(len(columns)))
    assert fit.shown
    assert sum(fit.widths) + GAP * (len(fit.shown) - 1) <= room
    assert all(empty[place] for place in fit.empty)
    if sum(whole) + GAP * (len(whole) - 1) <= room:
        assert fit.shown == tuple(range(len(columns)))
        assert fit.widths == tuple(whole)


def test_columns_without_a_value_go_before_those_on_the_right():
    fit = fitted([10, 10, 10], [10, 10, 10], [False, True, False], 22)
    assert (fit.shown, fit.empty, fit.more) == ((0, 2), (1,), ())
    fit = fitted([10, 10, 10], [10, 10, 10], [False, False, False], 22)
    assert (fit.shown, fit.empty, fit.more) == ((0, 1), (), (2,))


def test_room_that_is_left_goes_to_texts_that_were_cut():
    fit = fitted([5, 5], [9, 40], [False, False], 30)
    assert fit.widths == (9, 19)


def test_what_is_left_out_is_counted_and_named_as_far_as_there_is_room():
    names = ["id", *(f"column_{n}" for n in range(7))]
    fit = fitted([10] * 8, [10] * 8, [False] * 8, 10)
    (said,) = left_out(names, fit, 1000)
    assert said == "… 7 more columns: " + ", ".join(names[1:])
    said, hint = left_out(names, fit, 50, "--format lines shows all")
    assert said == "… 7 more columns: column_0, column_1, column_2, …"
    assert hint == "--format lines shows all"
    assert left_out(names, fitted([1] * 8, [1] * 8, [True] * 8, 80), 80, "a hint") == []


def test_a_record_has_a_line_for_every_column_and_nothing_is_cut():
    rows = [("a" * 300, None), ("b\nc", 2.5)]
    assert list(records(("id", "number"), rows)) == [
        "── row 1 ──",
        f"id      {'a' * 300}",
        "number",
        "── row 2 ──",
        "id      b\\nc",
        "number  2.5",
    ]
