"""The clients of object stores, one per store and kind of patience.

Credentials come as each store's own tools take them: AWS_*, profiles and roles, AZURE_*,
GOOGLE_APPLICATION_CREDENTIALS. A client is kept as long as those variables stay what they are.
"""

import os
from collections.abc import Mapping
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pipelines.places.credentials import s3_keys, s3_region

if TYPE_CHECKING:
    from obstore.store import ObjectStore

PATIENCE = 60.0
"""Seconds for which a passing fault is retried."""
CONNECT, STALLED, LONGEST = 5, 30, 600
"""Seconds: until a connection is made, until the next byte comes, for a whole request."""
FAMILIES = ("AWS_", "AZURE_", "GOOGLE_")


def store_of(base: str, *, patient: bool = True) -> "ObjectStore":
    """Give the client of a store. Not patient: each request is tried once, whatever happens."""
    theirs = {name: value for name, value in os.environ.items() if name.startswith(FAMILIES)}
    theirs["HOME"] = os.environ.get("HOME", "")
    return _connected(base, PATIENCE if patient else 0.0, tuple(sorted(theirs.items())))


def endpoint(environment: Mapping[str, str] | None = None) -> str | None:
    """Give the address of the S3 service where it is not Amazon's."""
    said = os.environ if environment is None else environment
    return said.get("AWS_ENDPOINT_URL_S3") or said.get("AWS_ENDPOINT_URL") or None


@lru_cache(maxsize=64)
def _connected(
    base: str, patience: float, environment: tuple[tuple[str, str], ...]
) -> "ObjectStore":
    from obstore.store import from_url

    said: dict[str, Any] = {"config": {}}
    said["client_options"] = {
        "connect_timeout": timedelta(seconds=CONNECT),
        "read_timeout": timedelta(seconds=STALLED),
        "timeout": timedelta(seconds=LONGEST),
    }
    said["retry_config"] = {
        "max_retries": 10 if patience else 0,
        "retry_timeout": timedelta(seconds=patience),
        "backoff": {
            "init_backoff": timedelta(milliseconds=100),
            "max_backoff": timedelta(seconds=10),
            "base": 2,
        },
    }
    address = endpoint(dict(environment)) if base.startswith("s3://") else None
    if base.startswith("s3://"):
        theirs = dict(environment)
        said["config"] |= {**s3_keys(theirs), "region": s3_region(theirs)}
    if address is not None:
        said["config"]["endpoint"] = address
        said["client_options"]["allow_http"] = address.startswith("http:")
    store: ObjectStore = from_url(base, **said)
    return store
