"""A store that lets two writers win is found out before a lake is kept on it."""

import pytest

from pipelines import places
from pipelines.places import Remote, place_of
from pipelines.places.race import race
from tests.support.commands.commands import REPOSITORY
from tests.support.stores.proxy import Proxy
from tests.support.stores.servers import S3


def lake(bucket: S3) -> Remote:
    place = place_of(bucket.uri("lake"), REPOSITORY)
    assert isinstance(place, Remote)
    return place


@pytest.mark.parametrize("server", ["moto_s3", "gateway_s3"])
def test_a_store_with_one_winner_each_is_fine_and_nothing_is_left(
    server: str, request: pytest.FixtureRequest
):
    root = lake(request.getfixturevalue(server))
    assert race(root) is None
    assert list(places.listed(root)) == []


def test_a_store_that_looks_first_and_writes_later_is_refused(watched_s3: tuple[S3, Proxy]):
    bucket, proxy = watched_s3
    proxy.deaf = True
    wrong = race(lake(bucket), writers=4)
    assert wrong is not None
    assert "let 4 of 4 writers create one object, where one must win" in wrong
    assert list(places.listed(lake(bucket))) == []


def test_lost_answers_do_not_make_a_good_store_look_bad(watched_s3: tuple[S3, Proxy]):
    bucket, proxy = watched_s3
    proxy.lost = 0.3
    assert race(lake(bucket), writers=4, keys=6) is None
    assert proxy.faults
