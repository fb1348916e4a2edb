"""What Dagster shows of refused deliveries: the check `deliveries_were_readable` of each feed.

A run of Dagster's own executes it. What a command, `watch` or `run_now` refused, and what somebody
dismissed or retried by a command, is told by the sensor `ledger` and by the job itself.

Law: the check is told from the ledgers, and only where Dagster shows it otherwise than they do.
"""

from collections.abc import Iterator, Sequence

import dagster as dg

from assets.graph import key
from assets.telling import MOST, STANDS, table_of
from fencepost.text import counted
from pipelines.checks.own import READABLE, READABLE_MEANS
from pipelines.ingest.refusals import Unanswered, unanswered
from pipelines.lake.store import Store
from pipelines.project.settings import Feed, Settings

TO_DO = (
    "Mend the file or the declaration, then `fencepost quarantine retry`; or, if nothing of it is "
    "missing, `fencepost quarantine dismiss FEED/PATH`."
)


def readability(
    instance: dg.DagsterInstance, settings: Settings, store: Store
) -> Iterator[dg.AssetCheckEvaluation]:
    """Give the check of each feed whose refused deliveries are other than Dagster shows."""
    found = unanswered(store)
    for feed in settings.feeds.values():
        evaluation = _evaluation(feed, [each for each in found if each.feed == feed.name])
        if not _is_shown(instance, evaluation):
            yield evaluation


def _evaluation(feed: Feed, found: Sequence[Unanswered]) -> dg.AssetCheckEvaluation:
    rows = [(each.path, each.reason, each.detail) for each in found[-MOST:]]
    many = counted(len(found), "refused delivery", "refused deliveries")
    return dg.AssetCheckEvaluation(
        asset_key=key(feed, feed.name),
        check_name=READABLE,
        passed=not found,
        severity=dg.AssetCheckSeverity.ERROR,
        description=f"{many} unanswered. {TO_DO}" if found else READABLE_MEANS,
        metadata={
            "faults": len(found),
            "unanswered": table_of(("delivery", "reason", "detail"), rows),
            STANDS: ",".join(str(each.n) for each in found),
        },
    )


def _is_shown(instance: dg.DagsterInstance, wanted: dg.AssetCheckEvaluation) -> bool:
    """Say whether Dagster shows it so; a check that was never executed shows nothing refused."""
    check = wanted.asset_check_key
    record = instance.event_log_storage.get_latest_asset_check_execution_by_key([check]).get(check)
    shown = None if record is None else record.evaluation
    if wanted.passed:
        return shown is None or shown.passed
    return shown is not None and shown.metadata.get(STANDS) == wanted.metadata[STANDS]
