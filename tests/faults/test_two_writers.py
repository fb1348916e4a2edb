"""Two processes commit to one table at once, and no lock keeps them apart.

Law of the log: who names a version that exists by then has a conflict, looks again and names the
next. So the lock is for the plans; the rows do not need it.
"""

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from pipelines.lake.append import Conflict, append_once
from pipelines.lake.data_files import DataFile
from pipelines.lake.evidence import Evidence
from pipelines.lake.layout import user_metadata
from pipelines.lake.obsolete import Obsolete
from pipelines.lake.store import Store
from schemas.quarantine import QUARANTINE
from tests.faults.victim import PATIENCE, SERVER

TURN = 20.0
"""Seconds that one waits for the other: else it has failed."""
NAME = QUARANTINE.name
TABLES = {NAME: QUARANTINE}
EVIDENCE = Evidence("evaluate", "", "grid", 1, 1, 1, 1, 7)
ROW = {"feed": "grid", "arrival": 1, "reason": "late", "detail": "", "path": "", "raw": ""}


class Racing(Store):
    """A store that looks at the log when the other process does too, and counts its conflicts."""

    both: threading.Barrier | None = None
    conflicts = 0

    def version(self, name: str) -> int:
        found = super().version(name)
        if self.both is not None:
            self.both.wait(TURN)
            self.both = None
        return found

    def append(
        self,
        name: str,
        at: int,
        files: Sequence[DataFile],
        evidence: Evidence,
        replaces: Obsolete | None = None,
    ) -> None:
        try:
            super().append(name, at, files, evidence, replaces)
        except Conflict:
            self.conflicts += 1
            raise


def append_all(root: Path, who: int, rounds: int, both: threading.Barrier, out: Connection) -> None:
    """Append a row in each round, once both know the same version; send how often it was taken."""
    store = Racing.open(root, TABLES)
    assert isinstance(store, Racing)
    for k in range(rounds):
        since = store.version(NAME)
        both.wait(TURN)  # and nobody commits before both have looked
        row = {**ROW, "file": who, "line": k}
        store.both = both
        mine = replace(EVIDENCE, plan=f"{who}-{k}")
        assert append_once(store, NAME, mine, partial(store.write_rows, NAME, [row]), since)
    out.send(store.conflicts)


@pytest.mark.fault(21)
def test_two_processes_that_append_at_once_without_a_lock_lose_and_double_no_row(tmp_path) -> None:
    rounds, root = 200, tmp_path / "lake"
    first = Store.create(root, TABLES, buckets=1).version(NAME) + 1
    SERVER.set_forkserver_preload(["tests.faults.victim"])
    both = SERVER.Barrier(2)
    ends = [SERVER.Pipe(duplex=False) for _ in range(2)]
    writers = [
        SERVER.Process(target=append_all, args=(root, who, rounds, both, out))
        for who, (_, out) in enumerate(ends)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(PATIENCE)
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert sum(hears.recv() for hears, _ in ends) >= rounds, "each round has a loser"

    store = Store.to_read(root, TABLES)
    everyone = [(who, k) for who in range(2) for k in range(rounds)]
    assert store.version(NAME) == first + len(everyone) - 1
    texts = [user_metadata(store.folder(NAME), v) for v in range(first, store.version(NAME) + 1)]
    made = [found.plan for text in texts if (found := Evidence.from_json(text)) is not None]
    assert sorted(made) == sorted(f"{who}-{k}" for who, k in everyone)
    rows = store.rows(NAME)
    assert sorted(zip(*(rows[c].to_pylist() for c in ("file", "line")), strict=True)) == everyone
