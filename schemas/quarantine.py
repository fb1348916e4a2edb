"""What was rejected, and why; nothing that arrived is ever lost."""

import pyarrow as pa

from schemas.table import Column, Table

REASONS = ("malformed", "future", "late", "duplicate", "conflict")

DETAILS = {
    "duplicate": "the stream already has this tuple: the same ts and values",
    "conflict": "the stream already has a tuple of this ts with other values; the first one counts",
    "late": "the stream already has a newer tuple",
}
"""By reason: the detail of a tuple that the engine rejected."""

QUARANTINE = Table(
    "quarantine",
    "Rows that were not taken. Malformed and future ones are found at ingest (epoch null), late, "
    "duplicate and conflict at evaluation. This raw table also holds rows of epochs that are not "
    "done or were evaluated anew; the view `quarantine` does not.",
    (
        Column("feed", "string", "the feed it was delivered to"),
        Column("arrival", "long", "the delivery that brought it: arrivals.n"),
        Column("reason", "string", ", ".join(REASONS)),
        Column("detail", "string", "why, in words"),
        Column("path", "string", "the file, below the landing folder of its feed"),
        Column("file", "integer", "which file of the delivery, from 0"),
        Column("line", "long", "which row of the file, from 1"),
        Column("raw", "string", "the record as it stood; of an evaluated tuple, its values"),
        Column("epoch", "long", "the epoch that turned it away; null: ingest did", nullable=True),
        Column("generation", "integer", "of that epoch", nullable=True),
    ),
    partitioned_by=("feed",),
    sorted_by=("arrival", "file", "line"),
    checks={"reason_is_known": " OR ".join(f"reason = '{reason}'" for reason in REASONS)},
)


def rejection_details(reasons: pa.StringArray) -> pa.StringArray:
    """Give the detail of each tuple that the engine rejected, by its reason."""
    import pyarrow.compute as pc  # which costs a command that needs none 30 ms

    codes = pc.index_in(reasons, value_set=pa.array(list(DETAILS)))
    return pa.array(list(DETAILS.values())).take(codes)
