"""Refused deliveries that were dismissed: they need no attention any more."""

from schemas.table import Column, Table

DISMISSALS = Table(
    "dismissals",
    "A ledger. A refused delivery that was dismissed has one row here. A retry of it is a delivery "
    "of its own, with a number of its own, so a dismissal never hides what comes of a retry.",
    (
        Column("n", "long", "the refused delivery: arrivals.n"),
        Column("feed", "string", "the feed it belongs to"),
        Column("path", "string", "its file or folder, below the landing folder of its feed"),
        Column("note", "string", "why it was dismissed, as it was given", nullable=True),
        Column("dismissed_at", "timestamp", "when it was dismissed"),
    ),
    role="ledger",
    owner="lake",
    key=("n",),
    checks={"a_number_is_positive": "n > 0"},
)
