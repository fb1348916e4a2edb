"""Old files of a table deleted: those that it no longer names, and those that it never named.

A task that died, or whose driver did, leaves files that no commit names. So does one that is still
at work; but whoever vacuums has the lake's lock, and where that is a lease, a commit with its
token comes first: an earlier holder that sleeps with written files in hand cannot name them later.

Law: no file is deleted that a version in force names, or can come to name.
"""

from datetime import timedelta

from pipelines.lake.store import Store
from pipelines.places import is_remote


def vacuum(store: Store, name: str, keep: timedelta) -> int:
    """Delete what a table has not needed for so long; count the files. With the lock.

    `keep` is for readers that still use them. On a store a listing of the table's files, a
    commit, and a request per thousand files.
    """
    if is_remote(store.root):
        store.log(name).mark()
    gone = store.delta(name).vacuum(
        retention_hours=int(keep.total_seconds() // 3600),
        dry_run=False,
        enforce_retention_duration=False,
        full=True,
    )
    return len(gone)
