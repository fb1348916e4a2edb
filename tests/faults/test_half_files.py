"""Killed while it writes a data file, a run leaves half a file that nobody ever sees.

The process kills itself between two writes of Parquet, so the file ends in the middle of its rows.
"""

import os
import signal
import time
from pathlib import Path

import pytest

from pipelines.lake.checksums import OURS, SummedFile
from pipelines.lake.store import Store
from pipelines.project.settings import load
from tests.faults.story import copied, differing, do, make, rows_of
from tests.faults.victim import PATIENCE, SERVER
from tests.support.lakes.on_disk import on_disk

WEEK_AND_MORE = 8 * 24 * 3600
MORE = ("epochs", "quarantine", "transitions", "stream_state", "pending")
TABLES = ["ticks", "events", *(pytest.param(t, marks=pytest.mark.slow) for t in MORE)]


@pytest.fixture(scope="module")
def uncut(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project before and after the stage `late`, and after it was maintained."""
    folder = tmp_path_factory.mktemp("uncut")
    project = folder / "project"
    make(project)
    for stage in ("registered", "taken-in", "registered-again"):
        do(project, stage)
    copied(project, folder / "before")
    do(project, "late")
    copied(project, folder / "after")
    do(project, "maintained")
    return folder


def killed_in_a_file(folder: Path, table: str) -> None:
    """Run, and die with half of the first data file of a table on the disk."""
    write = SummedFile.write

    def half(file: SummedFile, data: bytes) -> int:
        if table in file.path.parts and file.tell() > 0:
            write(file, data[: len(data) // 2])
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        return write(file, data)

    SummedFile.write = half  # type: ignore[assignment,method-assign]  # this process dies of it
    do(folder, "late")


@pytest.mark.fault(3)
@pytest.mark.parametrize("table", TABLES)
def test_half_a_data_file_is_never_seen_and_maintain_deletes_it_in_time(
    uncut, tmp_path, table, record_property
) -> None:
    project = copied(uncut / "before", tmp_path / "project")
    SERVER.set_forkserver_preload(["tests.faults.victim"])
    victim = SERVER.Process(target=killed_in_a_file, args=(project, table))
    victim.start()
    victim.join(PATIENCE)
    assert victim.exitcode == -signal.SIGKILL
    record_property("kills", 1)
    (half,) = half_files(project, table)
    assert half.stat().st_size > 0
    seen = {*rows_of(project)[table]}  # an earlier group may have replaced rows, and no more
    assert seen <= {*rows_of(uncut / "before")[table]}

    do(project, "late")
    assert differing(rows_of(uncut / "after"), rows_of(project)) == []
    do(copied(project, tmp_path / "at-once"), "maintained")
    assert half_files(tmp_path / "at-once", table), "a file that young may still be written"

    aged = time.time() - WEEK_AND_MORE
    os.utime(half, (aged, aged))
    do(project, "maintained")
    assert not half_files(project, table)
    assert differing(rows_of(uncut / "project"), rows_of(project)) == []


def half_files(folder: Path, table: str) -> list[Path]:
    """List a table's data files without a checksum in their names: what was not written whole."""
    settings = load(folder)
    store = Store.to_read(settings.root, settings.tables)
    known = {on_disk(store.folder(table)) / file.path for file in store.files(table)}
    stray = {*on_disk(store.folder(table)).rglob("part-*.parquet")} - known
    return sorted(path for path in stray if not OURS.fullmatch(path.name))
