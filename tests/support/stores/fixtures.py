"""Fixtures: a bucket of an S3 server, adopted by this process and by those it starts.

moto_s3      in this process, from memory
gateway_s3   versitygw over a folder: conditional puts race as in the real stores
watched_s3   moto behind a proxy that counts requests: (bucket, proxy); it can fail, too
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.stores.proxy import Proxy, proxied
from tests.support.stores.servers import S3, gateway_bucket, moto, moto_bucket, versitygw


@pytest.fixture(scope="session")
def moto_host() -> Iterator[str]:
    """Give the one moto of this process."""
    with moto() as host:
        yield host


@pytest.fixture
def moto_s3(moto_host: str, monkeypatch: pytest.MonkeyPatch) -> S3:
    """Give an empty bucket in moto."""
    bucket = moto_bucket(moto_host)
    bucket.adopt(monkeypatch)
    return bucket


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Give the one versitygw of this process, and its folder."""
    folder = tmp_path_factory.mktemp("versitygw")
    with versitygw(folder) as host:
        yield host, folder


@pytest.fixture
def gateway_s3(gateway: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> S3:
    """Give an empty bucket in versitygw."""
    bucket = gateway_bucket(*gateway)
    bucket.adopt(monkeypatch)
    return bucket


@pytest.fixture
def watched_s3(moto_host: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[S3, Proxy]]:
    """Give an empty bucket in moto, and the proxy between it and us."""
    with proxied(moto_host) as proxy:
        bucket = moto_bucket(moto_host).through(proxy.host)
        bucket.adopt(monkeypatch)
        yield bucket, proxy
