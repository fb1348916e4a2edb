"""What each room of the tests may take."""

from tests.support.budgets import BUDGETS, far_over, seconds_by_room, summary


def test_seconds_are_added_up_by_room_and_what_is_over_its_budget_is_marked():
    most = BUDGETS["unit"]
    spent = seconds_by_room(
        [
            ("tests/unit/test_a.py::test_one[a/b]", most),
            ("tests/unit/test_b.py::test_two", 1.0),
            ("tests/spark/test_c.py::test_three", 2.0),
            ("tests/no_room.py::test_four", 9999.0),
        ]
    )
    assert spent == {"unit": most + 1, "spark": 2.0}
    assert summary(spent) == f"unit {most + 1}/{most} (over) · spark 2/{BUDGETS['spark']}"
    assert far_over(spent) == []
    assert far_over({"unit": 10.0 * most + 1}) == ["unit"]


def test_every_room_has_a_budget_and_together_they_are_ten_minutes_of_two_workers():
    assert sum(BUDGETS.values()) == 2 * 600
