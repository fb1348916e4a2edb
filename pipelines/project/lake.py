"""A project's lake, opened to be written to.

Law: one writer at a time; and each writer first finishes what an earlier process left
behind, as far as it builds on that.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from pipelines.lake.lease import Lease
from pipelines.lake.lock import WriteLock, hold
from pipelines.lake.store import Store
from pipelines.project.settings import Settings
from pipelines.spark.abandonment import abandoned_unless

PATIENCE = 30.0
"""Seconds to wait for another writer."""


@contextmanager
def open_to_write(
    settings: Settings,
    command: str,
    timeout: float = PATIENCE,
    *,
    recover: Callable[[Store], object] | None = None,
    store: Store | None = None,
) -> Iterator[tuple[Store, WriteLock]]:
    """Lock the lake, open its tables, recover them; LockedError after `timeout` seconds.

    `command` describes the work to other processes. A repeated writer may keep the `store`,
    with all that was read of the ledgers. Jobs within the block end early where a lease is lost.
    """
    with hold(settings.root, command, timeout) as lock:
        store = store or Store.open(settings.root, settings.tables, fsync=settings.fsync)
        store.fence.lock = lock
        try:
            with abandoned_unless(lock.check) if isinstance(lock, Lease) else nullcontext():
                if recover is not None:
                    recover(store)
                yield store, lock
            store.pack()
        finally:
            store.fence.lock = None
