"""`fencepost watch`: from the rename of a landing file to its events in a view.

The command runs by itself, as for a user. A file of a thousand rows is renamed into the landing
folder every half second. Its events are in the views from the moment at which the commit that calls
its epoch done is linked into the log, which is that file's time of change.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lake_made import FEED, RARE, Bench, land
from benchmarks.lake_project import environment, folder_of, project
from benchmarks.report import Line
from fencepost.tuples import TupleBatch
from pipelines.lake import layout
from pipelines.lake.evidence import Evidence
from pipelines.lake.store import Store
from pipelines.project.settings import Settings
from pipelines.serve.views.duckdb import duckdb_session
from pipelines.workloads import PriceWalks

STREAMS, ROWS, FILES, WARM = 10_000, 1_000, 200, 10
PAUSE, EVERY = 0.5, "200ms"
BARS = ((0.5, 0.8), (0.99, 2.0))
PATIENCE = 120.0


def watch(bench: Bench) -> list[Line]:
    """Two hundred files, after ten that do not count."""
    settings = project(bench, "watch")
    store = bench.make(settings)
    length = -(-(FILES + WARM) * ROWS // STREAMS)
    walks = PriceWalks(streams=STREAMS, length=length, fluctuation=RARE).tuples()
    command = [sys.executable, "-m", "fencepost", "watch", "--every", EVERY]
    watching = subprocess.Popen(
        command, cwd=folder_of(settings), env=environment(), stdout=subprocess.DEVNULL
    )
    try:
        renamed = _landed(settings, store, walks)
        _wait(store, FILES + WARM)
    finally:
        watching.terminate()
        watching.wait(PATIENCE)
    done = _done(store)
    took = np.array([done[name] - at for name, at in renamed.items()])[WARM:]
    _check(settings)
    return [_line(took, share, bar) for share, bar in BARS]


def _line(took: np.ndarray, share: float, bar: float) -> Line:
    seconds = float(np.quantile(took, share))
    facts = (
        f"{seconds:.3g} s ({took.min():.3g}–{took.max():.3g}); {FILES} files of {ROWS:,} rows, one "
        f"each {PAUSE:g} s; watch --every {EVERY}; {STREAMS:,} streams"
    )
    name = "median" if share == 0.5 else f"p{share * 100:.0f}"
    return Line(
        f"a file's way into the views, {name}, of {bar:g} s", seconds / bar, 1.0, facts=facts
    )


def _landed(settings: Settings, store: Store, walks: TupleBatch) -> dict[str, float]:
    """Let the files land, the first ones as slowly as they are taken; say when each was renamed."""
    source = settings.feeds[FEED].source
    renamed = {}
    for number in range(FILES + WARM):
        name = f"{number:04}.parquet"
        aside = folder_of(settings) / name
        land(aside, walks.take(slice(number * ROWS, (number + 1) * ROWS)))
        next_one = time.time() + PAUSE
        renamed[name] = time.time()
        aside.rename(Path(str(source)) / name)
        if number < WARM:
            _wait(store, number + 1)
        time.sleep(max(0.0, next_one - time.time()))
    return renamed


def _wait(store: Store, deliveries: int) -> None:
    """Wait until so many deliveries are evaluated."""
    until = time.time() + PATIENCE
    while len(_done(store)) < deliveries:
        if time.time() > until:
            raise TimeoutError(f"{deliveries} deliveries were not evaluated in time")
        time.sleep(0.25)


def _done(store: Store) -> dict[str, float]:
    """Say of each file when the commit came that calls its epoch done."""
    at = dict(_commits(Path(str(store.folder("epochs")))))
    files = {row["n"]: row["path"] for row in _rows(store, "arrivals", ["n", "path"])}
    found = {}
    for row in _rows(store, "epochs", ["epoch", "arrivals", "state"]):
        if row["state"] == "done":
            for n in row["arrivals"]:
                found[Path(files[n]).name] = at[row["epoch"]]
    return found


def _commits(folder: Path) -> Iterator[tuple[int, float]]:
    """Give the epochs that are done, each with the time at which its commit was linked."""
    for version in layout.commits_in(folder):
        said = Evidence.from_json(layout.user_metadata(folder, version))
        if said is not None and said.what == "done":
            at = Path(str(layout.commit_path(folder, version))).stat().st_ctime
            yield from ((epoch, at) for epoch in range(said.first, said.last + 1))


def _rows(store: Store, name: str, columns: list[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = store.rows(name).select(columns).to_pylist()
    return rows


def _check(settings: Settings) -> None:
    """All tuples were taken, and the view has events of several instants."""
    with duckdb_session(Path(str(settings.root)), settings.tables) as session:
        taken = session.sql("SELECT sum(accepted) FROM epochs WHERE state = 'done'").fetchall()
        seen = session.sql("SELECT count(DISTINCT ts) FROM events").fetchall()
    assert taken == [((FILES + WARM) * ROWS,)]
    assert seen[0][0] > 1
