"""What was rejected, and why; nothing that arrived is ever lost."""

from schemas.table import Column, Table

REASONS = ("malformed", "future", "late", "duplicate", "conflict")

QUARANTINE = Table(
    "quarantine",
    "Rejected rows. Malformed and future ones are rejected at ingest (epoch null), late, duplicate "
    "and conflict at evaluation. It holds what is in force; while deliveries are loaded or epochs "
    "evaluated it may be ahead by these, and the view `quarantine` is not.",
    (
        Column("feed", "string", "the feed it was delivered to"),
        Column("arrival", "long", "the delivery that brought it: arrivals.n"),
        Column("reason", "string", ", ".join(REASONS)),
        Column("detail", "string", "why, in words"),
        Column("path", "string", "the file, below the landing folder of its feed"),
        Column("file", "integer", "which file of the delivery, from 0"),
        Column("line", "long", "which row of the file, from 1"),
        Column("raw", "string", "the record, verbatim; of an evaluated tuple, its values"),
        Column("epoch", "long", "the epoch that rejected it; null: ingest did", nullable=True),
        Column("generation", "integer", "of that epoch", nullable=True),
    ),
    role="found",
    owner="feed",
    key=("arrival", "file", "line"),
    partitioned_by=("feed",),
    sorted_by=("arrival", "file", "line"),
    checks={"reason_is_known": " OR ".join(f"reason = '{reason}'" for reason in REASONS)},
)
