"""Keeps the history of checks free of lines that say "Skipped" where nothing was skipped.

Before a run over partitions Dagster 1.13 notes that each check is planned, a line a partition; but
a check that has no partitions is evaluated once a run, and only that line is completed. The others
stay planned and are shown as skipped for good. So a step deletes them when it has evaluated.

Law: only lines of this run, of checks that it evaluates, that name a partition and are planned.
"""

from collections.abc import Collection

import dagster as dg
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus
from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable as Lines
from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage


def forget_planned(
    instance: dg.DagsterInstance, run: str, checks: Collection[dg.AssetCheckKey]
) -> None:
    """Delete the lines of these checks in a run that are only planned, partition by partition."""
    storage = instance.event_log_storage
    if not isinstance(storage, SqlEventLogStorage):
        return
    planned = (
        (Lines.c.run_id == run)
        & (Lines.c.execution_status == AssetCheckExecutionRecordStatus.PLANNED.value)
        & Lines.c.partition.is_not(None)
    )
    with storage.index_connection() as connection:
        for asset in {check.asset_key for check in checks}:
            names = [check.name for check in checks if check.asset_key == asset]
            connection.execute(
                Lines.delete().where(
                    planned
                    & (Lines.c.asset_key == asset.to_string())
                    & Lines.c.check_name.in_(names)
                )
            )
