"""The epochs: what was planned together, and its results."""

from schemas.table import Column, Table

COUNTS: dict[str, str] = {
    "rows": "rows read by its deliveries",
    "accepted": "accepted tuples: of its deliveries, and of those that waited before",
    "waiting": "tuples that wait for the watermark when it is done",
    "malformed": "rows of its deliveries that are no tuples",
    "future": "rows of its deliveries too far ahead of the clock",
    "late": "tuples older than their stream's last",
    "duplicate": "tuples that their stream had already",
    "conflict": "tuples of a time their stream had already, with other values",
    "entered": "events I",
    "left": "events O",
    "pass_through": "transitions of this type",
    "short_absence": "transitions of this type",
    "stay": "transitions of this type",
    "departure": "transitions of this type",
    "matched": "matches",
    "paired": "pairs of window joins",
    "came_in": "changes +1 of band joins",
    "went_out": "changes -1 of band joins",
    "came_near": "changes +1 of near joins",
    "went_away": "changes -1 of near joins",
}

HORIZON = "horizon"
"""The state of a row that is no epoch, but a note that older states are deleted."""

EPOCHS = Table(
    "epochs",
    "A ledger. Each epoch has a row when it is planned and one when it is done; only what is done "
    "is published. A higher generation replaces every epoch from its first one on.",
    (
        Column("lane", "string", "the feed, or the ordered pair of feeds: left~right"),
        Column("epoch", "long", "counts the lane's epochs from 1, without gaps"),
        Column(
            "generation",
            "integer",
            "1, and one more for each re-evaluation",
        ),
        Column("state", "string", "planned, done, or horizon: older states are deleted"),
        Column("plan", "string", "names the plan; epochs of one group share it"),
        Column("first", "long", "the first epoch of its group"),
        Column("last", "long", "the last epoch of its group; they are committed together"),
        Column("partition_key", "string", "the hour or day that its deliveries belong to"),
        Column("arrivals", "array<long>", "its deliveries, in order: arrivals.n"),
        Column("registry_version", "long", "the registry it was evaluated with; 0: no queries"),
        Column("fingerprint", "string", "names the content of that registry for this lane"),
        Column("watermark_before", "timestamp", "the watermark before it", nullable=True),
        Column("watermarks", "array<timestamp>", "the watermark after each delivery"),
        Column("watermark", "timestamp", "the watermark after it", nullable=True),
        Column("snapshot", "boolean", "whether the whole state was written with it"),
        Column("bases", "string", "the version of each target table when it was planned, JSON"),
        Column("code", "string", "the version of Fencepost that planned it"),
        Column("at", "timestamp", "when this row was written"),
        *(Column(name, "long", text, nullable=True) for name, text in COUNTS.items()),
        Column("seconds", "string", "how the time divides, JSON; of its whole group", True),
        Column("choice", "string", "how crossings and matches were found, and why, JSON", True),
        Column(
            "feed_watermarks",
            "array<timestamp>",
            "of two feeds that are joined: the watermark of each after it",
            nullable=True,
        ),
        Column(
            "declared",
            "string",
            "by feed: how its deliveries were judged, JSON; null: not recorded",
            nullable=True,
        ),
    ),
    role="ledger",
    owner="lake",
    key=("epoch", "generation"),
    checks={
        "an_epoch_is_not_negative": "epoch >= 0",
        "state_is_known": "state = 'planned' OR state = 'done' OR state = 'horizon'",
    },
)
