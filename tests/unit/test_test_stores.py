"""The stores that tests are run against do what tests rely on."""

import pytest
from obstore.exceptions import AlreadyExistsError, BaseError, GenericError
from obstore.store import S3Store

from tests.support.stores.proxy import Proxy
from tests.support.stores.servers import S3

MIB = 1 << 20


def opened(bucket: S3, retries: int = 0) -> S3Store:
    return S3Store(
        bucket.bucket,
        endpoint=bucket.endpoint,
        virtual_hosted_style_request=False,
        client_options={"allow_http": True},
        retry_config={"max_retries": retries},
    )


@pytest.mark.parametrize("server", ["moto_s3", "gateway_s3"])
def test_a_store_of_the_tests_puts_once_swaps_lists_and_joins_parts(
    server: str, request: pytest.FixtureRequest
):
    store = opened(request.getfixturevalue(server))
    first = store.put("a/one", b"1", mode="create")
    with pytest.raises(AlreadyExistsError):
        store.put("a/one", b"2", mode="create")
    again = store.put("a/one", b"3", mode={"e_tag": first["e_tag"]})
    with pytest.raises(BaseError, match=r"(?i)precondition"):
        store.put("a/one", b"4", mode={"e_tag": first["e_tag"]})
    assert again["e_tag"] != first["e_tag"]
    assert bytes(store.get("a/one").bytes()) == b"3"
    store.put("a/large", b"x" * (12 * MIB), chunk_size=6 * MIB)
    listed = {meta["path"]: meta["size"] for page in store.list("a/") for meta in page}
    assert listed == {"a/one": 1, "a/large": 12 * MIB}


def test_the_proxy_counts_by_kind_and_passes_bytes_untouched(watched_s3: tuple[S3, Proxy]):
    bucket, proxy = watched_s3
    store = opened(bucket)
    content = bytes(range(256)) * 999
    store.put("a", content, mode="create")
    assert bytes(store.get("a").bytes()) == content
    assert [meta["path"] for page in store.list() for meta in page] == ["a"]
    assert store.head("a")["size"] == len(content)
    assert proxy.counts() == {"PUT": 1, "GET": 1, "LIST": 1, "HEAD": 1}
    assert proxy.moved >= 2 * len(content)


def test_a_lost_answer_is_of_a_write_that_happened(watched_s3: tuple[S3, Proxy]):
    bucket, proxy = watched_s3
    store = opened(bucket)
    proxy.lost = 1.0
    with pytest.raises(GenericError):
        store.put("a", b"1", mode="create")
    proxy.lost = 0.0
    assert bytes(store.get("a").bytes()) == b"1"
    assert proxy.faults == 1


def test_a_refused_request_never_came_to_the_store(watched_s3: tuple[S3, Proxy]):
    bucket, proxy = watched_s3
    proxy.refused = 1.0
    with pytest.raises(BaseError):
        opened(bucket).put("a", b"1")
    proxy.refused = 0.0
    assert [meta for page in opened(bucket).list() for meta in page] == []
