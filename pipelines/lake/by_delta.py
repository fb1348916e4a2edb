"""Commits to tables with features that our own commits do not support: delta-rs makes those."""

from collections.abc import Sequence

from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import DeltaError

from fencepost.errors import LakeError
from pipelines.disk.errors import storage_error
from pipelines.lake.append import Conflict, Unknown
from pipelines.lake.create import add_action
from pipelines.lake.data_files import DataFile
from pipelines.lake.evidence import Evidence
from pipelines.lake.layout import commit_path
from pipelines.places import Place

ONE_TRY = 0


def append_by_delta(
    delta: DeltaTable, folder: Place, at: int, files: Sequence[DataFile], evidence: Evidence
) -> None:
    """Commit files as the version after `at`; Conflict where it exists."""
    name, path = folder.name, commit_path(folder, at + 1)
    try:
        delta.create_write_transaction(
            [add_action(file) for file in files],
            "append",
            delta.schema(),
            list(delta.metadata().partition_columns),
            commit_properties=CommitProperties(
                {"userMetadata": evidence.to_json()}, max_commit_retries=ONE_TRY
            ),
        )
    except DeltaError as failure:
        if path.exists():
            raise Conflict(f"{name}: version {at + 1} was created by another") from failure
        failed = storage_error(failure, str(path), ours=True)
        raise failed or LakeError(
            f"the table '{name}' cannot be committed to: {failure}"
        ) from failure
    except OSError as failure:
        raise Unknown(str(failure), storage_error(failure, str(path), ours=True)) from failure
