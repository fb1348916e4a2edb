"""A refresh: what the views show of a feed, written to its marts.

Law: the versions of the marts are noted before the views are queried. So a refresh has older rows
than another wrote meanwhile only if there is a new version, and then it queries again.
"""

import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import duckdb
import pyarrow as pa
from deltalake.exceptions import DeltaError

from fencepost.errors import LakeError, refuse_unknown
from pipelines.lake.crash_points import point
from pipelines.lake.evidence import Evidence
from pipelines.lake.layout import Note, open_table
from pipelines.places import Place
from pipelines.project.settings import Settings
from pipelines.serve.marts.place import TRIES, Overtaken, crowded, folder_of, opened, put, swept
from pipelines.serve.marts.write import BATCH, MartRows
from pipelines.serve.views.duckdb import duckdb_session
from schemas import Table
from schemas.marts import MARTS

SWEPT_EVERY = 50
"""After so many versions the obsolete files are deleted in passing."""


@dataclass(frozen=True)
class MartReport:
    """A mart after a refresh: the rows of the feed, and whether they had to be written."""

    name: str
    feed: str
    rows: int
    seconds: float
    version: int
    path: Place
    changed: bool


def refresh(settings: Settings, feed: str, names: Sequence[str] | None = None) -> list[MartReport]:
    """Bring marts of a feed up to date, all of them or those named.

    All are of one moment, unless others refresh the feed meanwhile. Memory does not grow with the
    number of rows.
    """
    wanted = _chosen(settings, feed, names)
    Note.read(settings.root)  # without a lake nothing is created
    done: dict[str, MartReport] = {}
    for _ in range(TRIES):
        missing = [name for name in wanted if name not in done]
        if not missing:
            return [done[name] for name in wanted]
        since = {name: int(opened(settings.root, MARTS[name]).version()) for name in missing}
        session = duckdb_session(settings.root, settings.tables, " ".join(MARTS), only=True)
        try:
            for name in missing:
                with suppress(Overtaken):
                    done[name] = _refreshed(session, settings.root, feed, name, since[name])
        except duckdb.Error as why:
            raise LakeError(f"the lake {settings.root} cannot be read by DuckDB: {why}") from why
        finally:
            session.close()
    raise crowded(wanted[0])


def _chosen(settings: Settings, feed: str, names: Sequence[str] | None) -> list[str]:
    refuse_unknown(feed, settings.feeds, "feed")
    for name in names or ():
        refuse_unknown(name, MARTS, "mart")
    return list(dict.fromkeys(MARTS if names is None else names))


def _refreshed(
    session: duckdb.DuckDBPyConnection, root: Place, feed: str, name: str, since: int
) -> MartReport:
    """Refresh one mart from what a session sees."""
    started = time.perf_counter()
    folder, table = folder_of(root, name), MARTS[name]
    rows = MartRows(folder, table, feed)
    rows.write(_view_rows(session, table, feed))
    point(f"marts.{name}.written")
    delta = open_table(folder)
    changed = not rows.equal_those_of(delta)
    if changed:
        version = _put(session, rows, since)
        point(f"marts.{name}.committed")
    else:
        rows.discard()
        version = int(delta.version())
    took = time.perf_counter() - started
    return MartReport(name, feed, rows.count, took, version, folder, changed)


def _put(session: duckdb.DuckDBPyConnection, rows: MartRows, since: int) -> int:
    """Commit the rows, and with them as of which epoch they are; give the version."""
    newest = "SELECT MAX(d.epoch), MAX(d.generation) FROM done_epochs d WHERE d.lane = "
    epoch, generation = session.execute(f"{newest}'{rows.feed}'").fetchall()[0]
    evidence = Evidence(
        "mart",
        uuid.uuid4().hex,
        rows.feed,
        1,
        epoch or 0,
        generation or 0,
        rows.count,
        rows.hash,
    )
    try:
        version = put(rows.folder, rows.table, rows.files, evidence, since)
    except Overtaken:
        rows.discard()
        raise
    if version % SWEPT_EVERY == 0:
        with suppress(DeltaError):  # another does it at the same time
            swept(rows.folder)
    return version


def _view_rows(session: duckdb.DuckDBPyConnection, table: Table, feed: str) -> Iterator[pa.Table]:
    """Give a view's rows of a declared feed in the mart's order."""
    columns = ", ".join(f"v.{name}" for name in table.in_files.names)
    order = ", ".join(f"v.{name}" for name in table.sorted_by)
    sql = f"SELECT {columns} FROM {table.name} v WHERE v.feed = '{feed}' ORDER BY {order}"  # noqa: S608
    for batch in session.execute(sql).to_arrow_reader(BATCH):
        if batch.num_rows:
            yield pa.Table.from_batches([batch])
