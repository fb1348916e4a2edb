"""A mart's folder: how it is created, how files replace others, how it stays small.

Law: rows of an older moment never replace those of a newer one.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from fencepost.errors import LakeError
from pipelines.lake.append import Conflict, Unknown
from pipelines.lake.create import add_columns, make_table
from pipelines.lake.data_files import DataFile
from pipelines.lake.evidence import Evidence
from pipelines.lake.layout import active_files, open_table, refuse_torn, user_metadata
from pipelines.lake.log import Log
from pipelines.lake.snapshot import opened as opened_table
from pipelines.places import Place, is_remote
from schemas import Table
from schemas.marts import MARTS

FOLDER = "marts"
TRIES = 100

RETENTION = timedelta(hours=2)
"""How long replaced files stay, for readers that opened the mart before."""

PROPERTIES = {"delta.logRetentionDuration": "interval 2 days"}
"""A mart can be rebuilt from the lake at any time, so its history is worth little."""


class Overtaken(Exception):
    """Another process has refreshed the same rows since they were queried."""


def folder_of(root: Place, name: str) -> Place:
    """Give the folder of a mart."""
    return root / FOLDER / name


def opened(root: Place, table: Table) -> DeltaTable:
    """Open a mart; create it if missing, or finish a creation that was interrupted.

    One of an older version gets the columns that it lacks.
    """
    if (root / FOLDER / "_delta_log").is_dir():
        raise LakeError(
            f"the lake {root} has a feed '{FOLDER}' in the place of its marts: declare the feed "
            "under another name"
        )
    folder = folder_of(root, table.name)
    if not _is_made(folder):
        with suppress(DeltaError):  # another made it first
            make_table(folder, table)
            open_table(folder).alter.set_table_properties(PROPERTIES)
    refuse_torn(folder)
    delta = open_table(folder)
    if _is_older(delta, table):
        with suppress(DeltaError):  # another did it first
            add_columns(delta, table)
        delta = open_table(folder)
    has = [field.name for field in delta.schema().fields]
    if has != table.arrow.names:
        expected = ", ".join(table.arrow.names)
        raise LakeError(
            f"the mart {folder} has the columns {', '.join(has)}, where {expected} were expected: "
            "move the folder away, and the next refresh creates it again"
        )
    return delta


def _is_made(folder: Place) -> bool:
    if not _is_table(folder):
        return False
    has = open_table(folder).metadata().configuration
    return all(has.get(key) == value for key, value in PROPERTIES.items())


def _is_table(folder: Place) -> bool:
    if is_remote(folder):
        return (folder / "_delta_log").is_dir()
    return DeltaTable.is_deltatable(str(folder))


def _is_older(delta: DeltaTable, table: Table) -> bool:
    """Say whether a mart has the first columns, and those that came later may be null."""
    has = [field.name for field in delta.schema().fields]
    fresh = table.columns[len(has) :]
    return has == table.arrow.names[: len(has)] and all(column.nullable for column in fresh)


def files_of(folder: Place, table: Table, feed: str) -> list[DataFile]:
    """List the files of a feed that a mart consists of."""
    files = active_files(open_table(folder), table)
    return [file for file in files if file.partition["feed"] == feed]


def put(
    folder: Place,
    table: Table,
    came: Sequence[DataFile],
    gone: Sequence[DataFile],
    evidence: Evidence,
    since: int,
) -> int:
    """Commit files, and others of the feed away; give the version. Overtaken if that is old.

    `since` is the version before the rows were queried. Of later versions by others, those of other
    feeds do not matter, those of this feed may have newer rows.
    """
    for _ in range(TRIES):
        log = Log(folder, table, opened_table(folder, table))
        at = log.version
        ours = _since(folder, evidence, since, at)
        if ours is not None:
            return ours
        if not {file.path for file in gone} <= log.files.keys():
            raise Overtaken
        if not log.is_plain:
            raise LakeError(
                f"the mart {folder} has features of Delta that our commits do not keep: move the "
                "folder away, and the next refresh creates it again"
            )
        try:
            log.append(at, came, evidence.to_json(), gone)
        except Conflict:
            continue
        except Unknown as lost:  # the log says whether it was committed
            ours = _since(folder, evidence, since, at + 1)
            if ours is not None:
                return ours
            if lost.failed is not None:
                raise lost.failed from lost
        else:
            return at + 1
    raise crowded(table.name)


def _since(folder: Place, evidence: Evidence, since: int, at: int) -> int | None:
    """Find our own commit among the newest ones; Overtaken if another is of the same feed."""
    for version in range(since + 1, at + 1):
        said = Evidence.from_json(user_metadata(folder, version))
        if said is not None and said.key == evidence.key:
            return version
        if said is not None and said.lane == evidence.lane:
            raise Overtaken
    return None


def tidy(root: Place, retention: timedelta = RETENTION) -> int:
    """Delete the obsolete files of all marts; give their number."""
    gone = 0
    for name in MARTS:
        folder = folder_of(root, name)
        if _is_table(folder):
            gone += len(swept(folder, retention))
    return gone


def swept(folder: Place, retention: timedelta = RETENTION) -> list[str]:
    """Delete files replaced before the retention, and those as old that no version names.

    A checkpoint then says what the mart consists of, and commits that are old enough go.
    """
    hours = int(retention.total_seconds() // 3600)
    delta = open_table(folder)
    gone = delta.vacuum(
        retention_hours=hours, dry_run=False, enforce_retention_duration=False, full=True
    )
    delta.create_checkpoint()
    delta.cleanup_metadata()
    return gone


def crowded(name: str) -> LakeError:
    """Make the error of a mart that others keep writing to."""
    return LakeError(
        f"the mart '{name}' could not be refreshed in {TRIES} attempts: each time another writer "
        "was first. Look for other programs that write to it; nothing is half-written"
    )
