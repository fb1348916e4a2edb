"""What Dagster shows of refused deliveries: the check `deliveries_were_readable` of each feed.

Dagster's own runs execute it. What a command, `watch` or `run_now` refused, and what a command
dismissed or retried, is reported by the sensor `ledger` and by the job itself.

Law: the check is reported from the ledgers, and only if Dagster shows it differently.
"""

from collections.abc import Iterator, Sequence

import dagster as dg

from assets.graph import key
from assets.metadata import FINGERPRINT, MOST, table_of
from fencepost.text import counted
from pipelines.checks.own import READABLE, READABLE_MEANS
from pipelines.ingest.refusals import Unanswered, unanswered
from pipelines.lake.store import Store
from pipelines.project.settings import Feed, Settings

TO_DO = (
    "Fix the file or the feed's declaration, then run `fencepost quarantine retry`. If no data is "
    "missing, run `fencepost quarantine dismiss FEED/PATH`."
)


def readability(
    instance: dg.DagsterInstance, settings: Settings, store: Store
) -> Iterator[dg.AssetCheckEvaluation]:
    """Give the check of each feed whose refused deliveries Dagster shows differently."""
    refused = unanswered(store)
    for feed in settings.feeds.values():
        evaluation = _evaluation(feed, [each for each in refused if each.feed == feed.name])
        if not _is_shown(instance, evaluation):
            yield evaluation


def _evaluation(feed: Feed, refused: Sequence[Unanswered]) -> dg.AssetCheckEvaluation:
    rows = [(each.path, each.reason, each.detail) for each in refused[-MOST:]]
    many = counted(len(refused), "refused delivery", "refused deliveries")
    return dg.AssetCheckEvaluation(
        asset_key=key(feed, feed.name),
        check_name=READABLE,
        passed=not refused,
        severity=dg.AssetCheckSeverity.ERROR,
        description=f"{many} unanswered. {TO_DO}" if refused else READABLE_MEANS,
        metadata={
            "faults": len(refused),
            "unanswered": table_of(("delivery", "reason", "detail"), rows),
            FINGERPRINT: ",".join(str(each.n) for each in refused),
        },
    )


def _is_shown(instance: dg.DagsterInstance, wanted: dg.AssetCheckEvaluation) -> bool:
    """Say whether Dagster shows this result; a check that never ran shows no refusal."""
    check = wanted.asset_check_key
    record = instance.event_log_storage.get_latest_asset_check_execution_by_key([check]).get(check)
    shown = None if record is None else record.evaluation
    if wanted.passed:
        return shown is None or shown.passed
    return shown is not None and shown.metadata.get(FINGERPRINT) == wanted.metadata[FINGERPRINT]
