"""`joins` in fencepost.toml: the pairs of feeds whose joins Dagster shows."""

from pathlib import Path

import pytest

from tests.support.commands.settled import faults, understood_in

SIDE = 'axes = ["x"]\nsource = "in"\n'


def about_joins(joins: str, of_asks: str = "") -> list[str]:
    """What is said of pairs of feeds that are joined, where there are bids and asks."""
    text = f"[lake]\njoins = {joins}\n[feeds.bids]\n{SIDE}[feeds.asks]\n{SIDE}{of_asks}"
    return [told.removeprefix("[lake] joins: ") for told in faults(text)]


def test_joins_are_ordered_pairs_of_feeds():
    both = f"[feeds.bids]\n{SIDE}[feeds.asks]\n{SIDE}"
    joins = '[lake]\njoins = ["bids~asks", "asks~bids"]\n'
    assert understood_in(Path("/project"), joins + both).joins == ("bids~asks", "asks~bids")


@pytest.mark.parametrize(
    ("joins", "told"),
    [
        ('"bids~asks"', "'bids~asks' was given, where a list of pairs of feeds was expected"),
        ("[3]", '3 is no pair of feeds like "bids~asks"'),
        ('["bids"]', "'bids' is no pair of feeds like \"bids~asks\""),
        ('["~asks"]', "'~asks' is no pair of feeds like \"bids~asks\""),
        ('["bids~ask"]', "'bids~ask': no feed 'ask' is declared.  Did you mean 'asks'?"),
        ('["bids~asks~bids"]', "'bids~asks~bids': no feed 'asks~bids' is declared."),
        ('["bids~asks", "bids~asks"]', "'bids~asks' occurs twice"),
    ],
)
def test_what_is_no_pair_of_feeds_is_refused(joins, told):
    assert [said[: len(told)] for said in about_joins(joins)] == [told]


@pytest.mark.parametrize(
    ("of_asks", "told"),
    [
        ('partition = "hour"\n', "partition is 'day' with bids and 'hour' with asks"),
        (
            'partitions_from = "2026-11-18"\n',
            "partitions_from is not given with bids and '2026-11-18' with asks",
        ),
        (
            'partitions_to = "2026-11-18"\n',
            "partitions_to is not given with bids and '2026-11-18' with asks",
        ),
    ],
)
def test_feeds_whose_joins_are_shown_have_the_same_partitions(of_asks, told):
    same = "both feeds must have the same partitions"
    assert about_joins('["bids~asks"]', of_asks) == [f"'bids~asks': {told}; {same}"]
