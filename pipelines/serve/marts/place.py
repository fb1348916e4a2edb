"""A mart's folder: how it is created, how files replace others, how it stays small.

Law: rows of an older moment never replace those of a newer one.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import DeltaError

from fencepost.errors import LakeError
from pipelines.disk.errors import refuse_failing
from pipelines.lake.create import add_action, add_columns, make_table
from pipelines.lake.data_files import DataFile
from pipelines.lake.evidence import Evidence
from pipelines.lake.layout import commit_path, open_table, refuse_torn, user_metadata
from pipelines.places import Place, is_remote
from schemas import Table
from schemas.marts import MARTS

FOLDER = "marts"
TRIES = 100
ONE_TRY = 0

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


def put(
    folder: Place, table: Table, files: Sequence[DataFile], evidence: Evidence, since: int
) -> int:
    """Replace the feed's files by these; give the version; Overtaken if they are old.

    `since` is the version before the rows were queried. Of later versions by others, those of other
    feeds do not matter, those of this feed may have newer rows.
    """
    for _ in range(TRIES):
        delta = open_table(folder)
        at = int(delta.version())
        ours = _since(folder, evidence, since, at)
        if ours is not None:
            return ours
        try:
            delta.create_write_transaction(
                [add_action(file) for file in files],
                "overwrite",
                delta.schema(),
                list(table.partitioned_by),
                partition_filters=[("feed", "=", evidence.lane)],
                commit_properties=CommitProperties(
                    {"userMetadata": evidence.to_json()}, max_commit_retries=ONE_TRY
                ),
            )
        except DeltaError as failure:
            if not commit_path(folder, at + 1).exists():
                raise LakeError(f"the mart {folder} cannot be committed to: {failure}") from failure
        except OSError as failure:  # the log says whether it was committed
            ours = _since(folder, evidence, since, at + 1)
            if ours is None:
                refuse_failing(failure, str(commit_path(folder, at + 1)))
                continue
            return ours
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
    """Delete files replaced before the retention, and those as old that no version names."""
    hours = int(retention.total_seconds() // 3600)
    return open_table(folder).vacuum(
        retention_hours=hours, dry_run=False, enforce_retention_duration=False, full=True
    )


def crowded(name: str) -> LakeError:
    """Make the error of a mart that others keep writing to."""
    return LakeError(
        f"the mart '{name}' could not be refreshed in {TRIES} attempts: each time another writer "
        "was first. Look for other programs that write to it; nothing is half-written"
    )
