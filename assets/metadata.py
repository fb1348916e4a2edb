"""What the ledgers know of a partition, as Dagster metadata, whichever process did the work.

Law: a materialisation is described from the ledgers alone, so one that a command or `watch` made
reads like one of Dagster's own runs.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import dagster as dg

from assets.graph import MARTS, key
from assets.lanes import assets_of
from pipelines.epochs.accounts import Account
from pipelines.files.losses import MOST_DELIVERIES, Loss
from pipelines.lanes import Lane
from pipelines.project.settings import Feed, Settings
from pipelines.serve.losses import losses
from schemas.events import TRANSITIONS
from schemas.quarantine import REASONS

FINGERPRINT = "fencepost/stands"
"""The entry that says which rows are shown: the same value, the same rows."""

NOTHING_IS_STALE = "nothing_is_stale"
TO_DO = "the job `reevaluate` evaluates it again"
TO_DO_ALL = "the job `reevaluate` evaluates them again"
MOST = 50
"""Stale partitions that are listed."""

TOGETHER = 24
"""Partitions whose rejected rows are looked up at a time."""

REJECTED = ("late", "duplicate", "conflict")
PHASES = ("read", "sort", "evaluate", "write", "commit")

Metadata = Mapping[str, Any]


def ingest_metadata(
    feed: Feed, account: Account, lost: Metadata | None = None
) -> Mapping[dg.AssetKey, Metadata]:
    """Describe what arrived for a partition; `lost` says why rows of it were rejected."""
    read, counts = account.read, account.counts
    rejected = {
        **{reason: read[reason] for reason in ("malformed", "future")},
        **{reason: counts[reason] for reason in REJECTED},
    }
    return {
        key(feed, feed.name): {
            "dagster/partition_row_count": read["tuples"],
            "deliveries": len(account.deliveries),
            "rows read": read["rows"],
            "tuples": read["tuples"],
            "quarantined": read["malformed"] + read["future"],
            FINGERPRINT: account.arrived,
        },
        key(feed, "quarantine"): {
            "dagster/partition_row_count": sum(rejected.values()),
            **rejected,
            "by reason": table_of(("reason", "rows"), [(k, n) for k, n in rejected.items() if n]),
            **(lost or {}),
            FINGERPRINT: f"{account.arrived}, {account.evaluated}",
        },
    }


def evaluated_metadata(lane: Lane, account: Account) -> Mapping[dg.AssetKey, Metadata]:
    """Describe the results of a partition."""
    common = {"epochs": len(account.epochs), FINGERPRINT: account.evaluated, **_watermark(account)}
    if account.epochs:
        common["generation"] = account.epochs[-1].generation
    by_table = (_of_joins if lane.joins else _of_feed)(account.counts, common)
    return {key(lane, table): by_table[table] for table in assets_of(lane)}


def _of_feed(counts: Mapping[str, int], common: Metadata) -> Mapping[str, Metadata]:
    crossed = {"I": counts["entered"], "O": counts["left"]}
    became = {kind: counts[kind] for kind in TRANSITIONS}
    return {
        "stream_state": {"tuples": counts["accepted"], "waiting": counts["waiting"], **common},
        "events": {
            "dagster/partition_row_count": sum(crossed.values()),
            "tuples": counts["accepted"],
            **crossed,
            "rejected": sum(counts[reason] for reason in REJECTED),
            **common,
        },
        "transitions": {"dagster/partition_row_count": sum(became.values()), **became, **common},
        "matches": {
            "dagster/partition_row_count": counts["matched"],
            "tuples": counts["accepted"],
            **common,
        },
        "leaps": common,
        "pending": common,
    }


def _of_joins(counts: Mapping[str, int], common: Metadata) -> Mapping[str, Metadata]:
    state = {"tuples": counts["accepted"], "waiting": counts["waiting"], **common}
    changed = {"+1": counts["came_in"], "-1": counts["went_out"]}
    near = {"+1": counts["came_near"], "-1": counts["went_away"]}
    return {
        "set_members": state,
        "live_windows": state,
        "pairs": {
            "dagster/partition_row_count": counts["paired"],
            "tuples": counts["accepted"],
            **common,
        },
        "band_changes": {
            "dagster/partition_row_count": sum(changed.values()),
            "tuples": counts["accepted"],
            **changed,
            **common,
        },
        "near_changes": {
            "dagster/partition_row_count": sum(near.values()),
            "tuples": counts["accepted"],
            **near,
            **common,
        },
    }


def metadata_of(lane: Lane, account: Account) -> Mapping[dg.AssetKey, Metadata]:
    """Describe a partition, asset by asset."""
    by_asset: dict[dg.AssetKey, Metadata] = {}
    if account.deliveries and not lane.joins:
        by_asset |= ingest_metadata(lane.feeds[0], account)
    if account.epochs:
        by_asset |= evaluated_metadata(lane, account)
    return by_asset


def lost_metadata(settings: Settings, known: Iterable[Account]) -> Mapping[str, Metadata]:
    """Say by partition why rows were rejected: reasons, examples, and what would cure them.

    One look at the quarantine for all of them.
    """
    lossy = [account for account in known if _has_losses(account)]
    lost = losses(settings, [each.n for account in lossy for each in account.deliveries])
    return {account.key: _why(account, lost) for account in lossy}


def _has_losses(account: Account) -> bool:
    counts = (*account.read.items(), *account.counts.items())
    return any(many for name, many in counts if name in REASONS)


def _why(account: Account, lost: Mapping[int, Loss]) -> Metadata:
    own = [lost[each.n] for each in account.deliveries if each.n in lost]
    most = sorted(own, key=lambda each: -each.lost)[:MOST_DELIVERIES]
    rows = [
        (each.source, why.rows, why.of, why.example, why.cure or "")
        for each in most
        for why in each.reasons
    ]
    return {"why": table_of(("delivery", "rows", "of", "for example", "what to do"), rows)}


def materializations(
    lane: Lane,
    accounts: Iterable[Account],
    only: Sequence[dg.AssetKey] | None = None,
    differs: Callable[[dg.AssetMaterialization], bool] = lambda _: True,
) -> Iterator[dg.AssetMaterialization]:
    """Give the materialisations of partitions, whichever process evaluated them.

    Only those that `differs` accepts by their other metadata are told why rows were rejected,
    which takes a look at the quarantine for a day of hours.
    """
    remaining = iter(accounts)
    while some := list(islice(remaining, TOGETHER)):
        found = [
            current
            for account in some
            for asset, metadata in metadata_of(lane, account).items()
            if (only is None or asset in only)
            and differs(
                current := dg.AssetMaterialization(asset, metadata=metadata, partition=account.key)
            )
        ]
        yield from _with_losses(lane, some, found)


def _with_losses(
    lane: Lane, known: Iterable[Account], found: Iterable[dg.AssetMaterialization]
) -> Iterator[dg.AssetMaterialization]:
    rejected = None if lane.joins else key(lane, "quarantine")
    shown = {each.partition for each in found if each.asset_key == rejected}
    lost = lost_metadata(lane.settings, [each for each in known if each.key in shown])
    for each in found:
        why = lost.get(each.partition or "") if each.asset_key == rejected else None
        if why is None:
            yield each
        else:
            described = {**each.metadata, **why}
            yield dg.AssetMaterialization(
                each.asset_key, metadata=described, partition=each.partition
            )


def shows_partitions(lane: Lane) -> list[dg.AssetKey]:
    """List the assets that show a lane's results: wrong wherever a partition is stale."""
    more = () if lane.joins else ("quarantine", *MARTS)
    return [key(lane, table) for table in (*assets_of(lane), *more)]


def staleness(lane: Lane, known: Iterable[Account]) -> list[dg.AssetCheckEvaluation]:
    """Report on every asset that shows a lane's partitions whether some of them are stale."""
    stale = [account.key for account in known if account.stale]
    to_do = [(name, TO_DO) for name in stale[:MOST]]
    return [
        dg.AssetCheckEvaluation(
            asset_key=asset,
            check_name=NOTHING_IS_STALE,
            passed=not stale,
            severity=dg.AssetCheckSeverity.ERROR,
            description=_stale_in_words(stale),
            metadata={
                "faults": len(stale),
                "stale": table_of(("partition", "what to do"), to_do),
            },
        )
        for asset in shows_partitions(lane)
    ]


def _stale_in_words(stale: Sequence[str]) -> str:
    if not stale:
        return "Every partition is up to date with its deliveries."
    if len(stale) == 1:
        return f"1 partition is stale ({stale[0]}): {TO_DO}."
    return f"{len(stale):,} partitions are stale ({stale[0]} … {stale[-1]}): {TO_DO_ALL}."


def seconds_of(phases: Mapping[str, float], epochs: int) -> Metadata:
    """Break down the time of a run."""
    seconds = {f"seconds: {phase}": round(phases.get(phase, 0.0), 3) for phase in PHASES}
    return {**seconds, "epochs of the run": epochs}


def table_of(header: Sequence[str], rows: Sequence[Sequence[object]]) -> dg.MarkdownMetadataValue:
    """Format a small table; cells are shown as text, whatever characters they have."""
    if not rows:
        return dg.MetadataValue.md("none")
    lines = [header, ["---"] * len(header), *rows]
    return dg.MetadataValue.md("\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines))


def _cell(value: object) -> str:
    text = f"{value:,}" if isinstance(value, int) else str(value)
    if text == "---":
        return text
    plain = json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"')
    return "".join(f"\\{letter}" if letter in "|`*_[]<>&#!" else letter for letter in plain)


def _watermark(account: Account) -> dict[str, Any]:
    if account.watermark is None:
        return {}
    moment = datetime.fromtimestamp(account.watermark / 1e6, UTC)
    return {"watermark": dg.MetadataValue.timestamp(moment)}
