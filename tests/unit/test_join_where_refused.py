"""An `on` or a `where` of a join that is not the language is refused at its column, in words."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import QueryFault
from fencepost.queries.joins import Conjunct
from fencepost.queries.joins.on import Readings, parse_join

FEEDS = ("ticks", "orders")
AXES = (("price", "volume"), ("limit", "volume", "odd name"))
OPERAND = "`left.` or `right.` and an axis"
BELONGS = "`on` compares axes with axes: what is compared with a number belongs in `where`"
NEAREST = "beyond 2**53 the nearest is 9007199254740992"
ONE_NUMBER = "a number may be added to an axis or subtracted, once: nothing else"


def refusal(on: str, where: str | None = None) -> QueryFault:
    with pytest.raises(QueryFault) as told:
        parse_join(on, where, FEEDS, AXES)
    return told.value


@pytest.mark.parametrize(
    ("on", "message", "column", "hint"),
    [
        ("", "`on` is empty", 1, "write ALL for no condition"),
        ("  ", "`on` is empty", 1, "write ALL for no condition"),
        ("left.price > 5", f"{OPERAND} was expected at column 14, not `5`", 14, BELONGS),
        ("5 < left.price", f"{OPERAND} was expected at column 1, not `5`", 1, BELONGS),
        (
            "left.price = 5 + right.limit",
            f"{OPERAND} was expected at column 14, not `5`",
            14,
            "put the axis first: left.price + 5",
        ),
        (
            "price > right.limit",
            f"{OPERAND} was expected at column 1, not `price`",
            1,
            "write `left.price`",
        ),
        (
            "volume > right.limit",
            f"{OPERAND} was expected at column 1, not `volume`",
            1,
            "write `left.volume` or `right.volume`",
        ),
        (
            "LEFT.price > right.limit",
            f"{OPERAND} was expected at column 1, not `LEFT`",
            1,
            "the sides are written `left` and `right`",
        ),
        (
            "left.prize > right.limit",
            "unknown axis 'prize' of left in `on` at column 6",
            6,
            "the feed 'ticks' has: price, volume.  Did you mean 'price'?",
        ),
        (
            "left.limit > right.limit",
            "unknown axis 'limit' of left in `on` at column 6",
            6,
            "the feed 'ticks' has: price, volume.",
        ),
        (
            "left > right.limit",
            "`.` and an axis of left was expected at column 6, not `>`",
            6,
            None,
        ),
        ("left. > right.limit", "an axis was expected at column 7, not `>`", 7, None),
        ("left.price >", f"`left.price >` ends where {OPERAND} was expected (column 13)", 13, None),
        (
            "left.price > right.limit * 2",
            "AND, OR or the end was expected at column 26, not `*`",
            26,
            ONE_NUMBER,
        ),
        (
            "left.price > right.limit + 1 - 2",
            "AND, OR or the end was expected at column 30, not `-`",
            30,
            ONE_NUMBER,
        ),
        (
            "left.price > right.limit + 1 -2",
            "AND, OR or the end was expected at column 30, not `-2`",
            30,
            ONE_NUMBER,
        ),
        (
            "left.price > right.limit - -10",
            "a number without a second sign was expected at column 28, not `-10`",
            28,
            ONE_NUMBER,
        ),
        (
            "left.price > right.limit - left.volume",
            "a number was expected at column 28, not `left`",
            28,
            "only a number can be added to an axis: write left.price < right.limit + 5",
        ),
        ("left.price > right.limit + 1d", "'1d' is not a number (column 28)", 28, None),
        (
            "left.price > right.limit + 9007199254740993",
            f"'9007199254740993' has no exact double: {NEAREST} (column 28)",
            28,
            None,
        ),
        (
            "left.price != right.limit",
            "one of >, >=, =, <, <=, BETWEEN was expected at column 12, not `!=`",
            12,
            "write NOT before the comparison, and `=` in it",
        ),
        (
            "left.price BETWEEN right.limit AND 5",
            f"{OPERAND} was expected at column 36, not `5`",
            36,
            BELONGS,
        ),
        ("(left.price > right.limit", None, 26, "the `(` at column 1 is not closed"),
        ("left.price > right.limit;", None, 25, "one condition, and no `;` after it"),
        ('left."price > right.limit', "the quote that opens at column 6 is not closed", 6, None),
        ("left.price < right.volume AND NOT left.price < right.volume", None, 1, None),
    ],
)
def test_an_on_that_is_not_the_language_is_refused_at_its_column(on, message, column, hint):
    told = refusal(on)
    assert message is None or told.message == message
    assert (told.column, told.text) == (column, on)
    assert hint is None or told.hint == hint


@pytest.mark.parametrize(
    ("where", "message", "column", "hint"),
    [
        ("", "`where` is empty", 1, None),
        (
            "left.price > right.limit",
            "a number was expected at column 14, not `right`",
            14,
            "what compares two axes belongs in `on`",
        ),
        (
            "left.price - 5 > 3",
            "one of >, >=, =, <, <=, BETWEEN was expected at column 12, not `-`",
            12,
            "there is no arithmetic in `where`; a sign touches its digits: -5",
        ),
        (
            "left.price -5 > 3",
            "one of >, >=, =, <, <=, BETWEEN was expected at column 12, not `-5`",
            12,
            "there is no arithmetic in `where`; a sign touches its digits: -5",
        ),
        (
            "price > 5",
            f"{OPERAND} was expected at column 1, not `price`",
            1,
            "write `left.price`",
        ),
        (
            "right.size > 5",
            "unknown axis 'size' of right in `where` at column 7",
            7,
            "the feed 'orders' has: limit, volume, odd name.",
        ),
        ("left.price > 'AAPL'", None, 14, None),
        ("left.price > 5 AND left.price < 5", "`where` holds for no value", 1, None),
    ],
)
def test_a_where_that_is_not_the_language_is_refused_at_its_column(where, message, column, hint):
    told = refusal("left.price > right.limit", where)
    assert message is None or told.message == message
    assert (told.column, told.text) == (column, where)
    assert hint is None or told.hint == hint


def test_texts_that_exclude_each_other_are_refused_together():
    told = refusal("left.price < right.limit", "left.price > 5 AND right.limit < 5")
    assert told.message == "`on` with `where` holds for no value"
    assert told.text == "left.price > 5 AND right.limit < 5"


def test_more_than_a_thousand_conjuncts_are_refused_and_a_thousand_taken():
    def text(n: int) -> str:
        return " OR ".join(f"left.price = right.limit + {k}" for k in range(n))

    assert len(parse_join(text(1000), None, FEEDS, AXES)) == 1000
    assert refusal(text(1001)).message == "`on` comes to 1,001 boxes; the limit is 1,000"


def test_alternatives_that_multiply_are_refused_before_they_take_long():
    either = " AND ".join(
        f"(left.price = right.limit + {k} OR left.volume = right.volume + {k})" for k in range(40)
    )
    assert refusal(either).message.startswith("`on` ")


def test_of_feeds_unknown_the_syntax_is_read_and_any_name_is_an_axis():
    readings = Readings(FEEDS, (None, AXES[1]))
    readings.on("left.anything + 1 > right.limit")
    with pytest.raises(QueryFault, match="unknown axis 'anything' of right"):
        readings.on("left.anything > right.anything")


def test_a_text_of_many_terms_is_read_or_refused_in_no_time():
    on = " AND ".join(f"left.price < right.limit + {k}" for k in range(20_000))
    began = time.process_time()
    assert refusal(on).message.startswith("`on` takes more than 4,000,000 steps")
    assert time.process_time() - began < 10


WORDS = (
    *("left", "right", ".", "price", "limit", "volume", '"odd name"', '"', "AND", "or", "NOT"),
    *(
        "BETWEEN",
        "ALL",
        "(",
        ")",
        "<",
        ">=",
        "=",
        "!=",
        "+",
        "-",
        "-1",
        "+.5",
        "10",
        "1d",
        "'x'",
        ";",
    ),
)


@given(st.lists(st.sampled_from(WORDS), max_size=14), st.booleans(), st.sampled_from(["", " "]))
def test_whatever_a_text_holds_it_is_read_or_refused_within_it(words, selects, between):
    text = between.join(words)
    found = outcome("ALL", text) if selects else outcome(text, None)
    if isinstance(found, QueryFault):
        assert found.text == text
        assert found.column is not None
        assert 1 <= found.column <= len(text) + 1
    else:
        assert found


def outcome(on: str, where: str | None) -> tuple[Conjunct, ...] | QueryFault:
    try:
        return parse_join(on, where, FEEDS, AXES)
    except QueryFault as told:
        return told
