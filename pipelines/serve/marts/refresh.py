"""A refresh: what the views show of a feed, written to its marts.

A mart whose rows count epochs that are all in force still gets what came after them (`statements`
says how); one of which that is not certain gets all its rows again.

Law: the versions of the marts are noted before the views are queried. So a refresh has older rows
than another wrote meanwhile only if there is a new version, and then it queries again.
"""

import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import duckdb
import pyarrow as pa
from deltalake.exceptions import DeltaError

from fencepost.errors import LakeError, refuse_unknown
from pipelines.lake.checksums import Damaged, verify
from pipelines.lake.crash_points import point
from pipelines.lake.data_files import DataFile
from pipelines.lake.evidence import Evidence
from pipelines.lake.layout import Note, checkpointed, open_table
from pipelines.places import Place, is_remote
from pipelines.project.settings import Settings
from pipelines.serve.marts import statements
from pipelines.serve.marts.content import Content, FeedMart
from pipelines.serve.marts.note import Extent, MartNote, are_there
from pipelines.serve.marts.place import (
    TRIES,
    Overtaken,
    crowded,
    files_of,
    folder_of,
    opened,
    put,
    swept,
)
from pipelines.serve.views.duckdb import duckdb_session
from schemas.marts import DAILY_SUMMARY, MARTS, VISITS

SWEPT_EVERY = 50
"""After so many versions the obsolete files are deleted in passing."""

NOTHING = "nothing new"


@dataclass(frozen=True)
class MartReport:
    """A mart after a refresh: the rows of the feed, and whether they had to be written.

    `how` says what was read for it: all rows, and why, or what came after an epoch.
    """

    name: str
    feed: str
    rows: int
    seconds: float
    version: int
    path: Place
    changed: bool
    how: str


def refresh(settings: Settings, feed: str, names: Sequence[str] | None = None) -> list[MartReport]:
    """Bring marts of a feed up to date, all of them or those named.

    All are of one moment, unless others refresh the feed meanwhile. O(rows of the epochs since the
    last refresh + open rows), in memory O(open rows); O(rows of all epochs) where these may have
    changed, which memory does not grow with.
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
                folder, table = folder_of(settings.root, name), MARTS[name]
                mart = FeedMart(session, folder, table, feed, settings.tables)
                with suppress(Overtaken):
                    done[name] = _refreshed(mart, since[name])
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


def _refreshed(mart: FeedMart, since: int) -> MartReport:
    """Refresh one mart from what its session sees."""
    started = time.perf_counter()
    files = files_of(mart.folder, mart.table, mart.feed)
    note, extent = MartNote.read(mart.folder, mart.feed), Extent.of(mart.session, mart.feed)
    content, how = _made(mart, files, note, extent)
    point(f"marts.{mart.table.name}.written")
    changed = {file.path for file in content.files} != {file.path for file in files}
    if changed:
        version = _put(mart, content, files, extent, since)
        point(f"marts.{mart.table.name}.committed")
    else:
        version = int(open_table(mart.folder).version())
    fresh = MartNote.of(content, _form(mart), extent)
    if fresh != note:
        fresh.write(mart.folder, mart.feed)
    took = time.perf_counter() - started
    return MartReport(
        mart.table.name, mart.feed, content.rows, took, version, mart.folder, changed, how
    )


def _made(
    mart: FeedMart, files: Sequence[DataFile], note: MartNote | None, extent: Extent
) -> tuple[Content, str]:
    """Give what the mart is to consist of, and say what was read for it."""
    why = next(_doubts(mart, files, note, extent), None)
    visits = _visits(mart, extent) if mart.table is DAILY_SUMMARY else ()
    if note is None or why is not None:
        return mart.whole(Content(), visits), f"all rows: {why}"
    before, since = note.content(files), note.extent.epoch
    if note.extent == extent:
        return before, NOTHING
    if mart.table.name not in statements.ENTERED:
        return mart.whole(
            before, visits
        ), f"all rows{', with visits from their mart' * bool(visits)}"
    try:
        return mart.grown(before, since), f"what came after epoch {since}"
    except (Damaged, FileNotFoundError, pa.ArrowException):
        return mart.whole(Content()), "all rows: a file is damaged"


def _doubts(
    mart: FeedMart, files: Sequence[DataFile], note: MartNote | None, extent: Extent
) -> Iterator[str]:
    """Say why a mart needs all its rows again; nothing if what came since is enough."""
    if note is None:
        yield "there is no note of a refresh" if files else "there were none"
        return
    if note.form != _form(mart):
        yield "they are made in another way"
    if not note.names(files):
        yield "its files are not those of the last refresh"
    if not are_there(mart.folder, mart.feed, files):
        yield "a file is lost or cut off"
    if note.extent.lateness != extent.lateness:
        yield "its streams wait in another way"
    if Extent.of(mart.session, mart.feed, note.extent.epoch).epochs != note.extent.epochs:
        yield "epochs that it counted are no longer in force"


def _visits(mart: FeedMart, extent: Extent) -> Sequence[Place]:
    """Give the files of the mart of visits, where it holds what the view shows now. O(bytes)."""
    visits = replace(mart, folder=mart.folder.parent / VISITS.name, table=VISITS)
    note = MartNote.read(visits.folder, mart.feed)
    if is_remote(visits.folder) or note is None or note.extent != extent:
        return ()
    files = files_of(visits.folder, VISITS, mart.feed)
    if any(True for _ in _doubts(visits, files, note, extent)):
        return ()
    try:
        for file in files:
            verify(visits.folder, file.path)
    except Damaged:
        return ()
    return [visits.folder / file.path for file in files]


def _form(mart: FeedMart) -> str:
    return statements.form(mart.table.name, mart.feed, mart.tables)


def _put(
    mart: FeedMart, content: Content, files: Sequence[DataFile], extent: Extent, since: int
) -> int:
    """Commit what the mart is to consist of, with the newest epoch in it; give the version."""
    stays = {file.path for file in content.files}
    there = {file.path for file in files}
    came = [file for file in content.files if file.path not in there]
    gone = [file for file in files if file.path not in stays]
    evidence = Evidence(
        "mart",
        uuid.uuid4().hex,
        mart.feed,
        1,
        extent.epoch,
        extent.generation,
        content.rows,
        content.hash,
    )
    try:
        version = put(mart.folder, mart.table, came, gone, evidence, since)
    except Overtaken:
        for file in came:
            (mart.folder / file.path).unlink(missing_ok=True)
        raise
    if version - checkpointed(mart.folder) >= SWEPT_EVERY:
        with suppress(DeltaError):  # another does it at the same time
            swept(mart.folder)
    return version
