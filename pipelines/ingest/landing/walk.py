"""A landing folder walked, wherever it is: by one stat a file, or by one listing."""

from collections.abc import Mapping
from types import MappingProxyType

from pipelines.ingest.landing import bucket, folder
from pipelines.ingest.landing.folder import Walked
from pipelines.places import Place, is_remote


def walk(
    source: Place, settle: int, now: int, passed_by: Mapping[str, object] = MappingProxyType({})
) -> Walked:
    """Walk a landing folder; `settle` and `now` in µs. Nothing is opened.

    `passed_by` are names at the top that are skipped this time; a listing has them all the same.
    """
    if is_remote(source):
        return bucket.walk(source, settle, now)
    return folder.walk(source, settle, now, passed_by)
