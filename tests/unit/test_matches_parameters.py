"""What an index is asked for beside its boxes is refused alike by all of them."""

import numpy as np
import pytest

from fencepost.errors import InputError
from fencepost.matches import KINDS, Boxes, named
from fencepost.matches.index import Parameter
from fencepost.matches.parameters import one_of, only, real, whole

EVERY = [
    "length",
    "positions",
    "grid",
    "side",
    "lists",
    "rungs",
    "bytes_a_box",
    "order",
    "stretches",
    "cluster",
    "page",
]


@pytest.mark.parametrize("name", KINDS)
def test_every_index_refuses_a_parameter_that_it_has_not_in_the_same_words(name: str) -> None:
    axes = KINDS[name].axes or 2
    boxes = Boxes.of(np.zeros((axes, 3)), np.ones((axes, 3)))
    with pytest.raises(InputError, match=f"the index '{name}' has no parameter 'sides'; it has: "):
        named(name, axes).build(boxes, sides=4)


@pytest.mark.parametrize("name", KINDS)
def test_none_is_as_if_it_were_not_given(name: str) -> None:
    axes = KINDS[name].axes or 2
    boxes = Boxes.of(np.zeros((axes, 3)), np.ones((axes, 3)))
    taken = [each for each in EVERY if is_taken(name, boxes, each)]
    asked: dict[str, Parameter] = dict.fromkeys(taken)
    assert bool(taken) == (name != "scan")
    assert (
        named(name, axes).build(boxes, **asked).describe()
        == named(name, axes).build(boxes).describe()
    )


def is_taken(name: str, boxes: Boxes, parameter: str) -> bool:
    nothing: dict[str, Parameter] = {parameter: None}
    try:
        named(name, boxes.axes).build(boxes, **nothing)
    except InputError:
        return False
    return True


def test_scan_has_no_parameter_at_all() -> None:
    with pytest.raises(InputError, match=r"'scan' has no parameter 'rungs'; it has: none\.$"):
        only("scan", {"rungs": 3})


def test_a_name_nearly_right_is_guessed() -> None:
    with pytest.raises(InputError, match=r"it has: order\.  Did you mean 'order'\?"):
        only("packed", {"ordre": "hilbert"}, "order")


@pytest.mark.parametrize(
    ("given", "taken"), [(None, None), (2, 2), (9, 9)], ids=["nothing", "the least", "the most"]
)
def test_both_limits_are_within(given: Parameter, taken: int | None) -> None:
    assert whole({"n": given}, "n", 2, 9) == taken
    assert real({"n": given}, "n", 2, 9) == taken


@pytest.mark.parametrize("given", [1, 10, True, "2", 1.5, float("nan"), float("inf")])
def test_what_is_no_number_within_the_limits_is_refused(given: Parameter) -> None:
    with pytest.raises(InputError, match=r"^n is .*, expected a whole number from 2 to 9$"):
        whole({"n": given}, "n", 2, 9)
    with pytest.raises(InputError, match=r"^n is .*, expected a number from 2 to 9$"):
        real({"n": given}, "n", 2, 9)


def test_without_an_upper_limit_any_number_from_the_least_on_is_taken() -> None:
    assert whole({"n": 1 << 70}, "n", 1) == 1 << 70
    with pytest.raises(InputError, match="expected a whole number of 1 or more"):
        whole({"n": 0}, "n", 1)


def test_a_word_that_is_none_of_the_options_is_refused_and_guessed() -> None:
    options = ("halves", "hilbert")
    assert one_of({"order": "hilbert"}, "order", options) == "hilbert"
    with pytest.raises(
        InputError, match=r"order is 'hilbrt', expected one of: halves, hilbert\.  D"
    ):
        one_of({"order": "hilbrt"}, "order", options)
    with pytest.raises(InputError, match="order is 7, expected one of"):
        one_of({"order": 7}, "order", options)
