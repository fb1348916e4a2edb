"""What arrived: every delivery and every registry commit, in the one sequence of the lake."""

from schemas.table import Column, Table

DELIVERY, REGISTRY = "delivery", "registry"
"""The kinds of arrivals."""

PLANNED, DONE, REFUSED = "planned", "done", "refused"
"""Their states: first the one, then one of the others."""

OF_DELTA = "_delta_log/"
"""How the path of a delivery begins that is a version of a Delta table; no file's does."""

ARRIVALS = Table(
    "arrivals",
    "A ledger. Each delivery and each registry commit takes the next number n and has a row when "
    "it is planned, and one when it is done or refused. The last row of an n counts.",
    (
        Column("n", "long", "its place in the one sequence of deliveries and registry commits"),
        Column("lane", "string", "the feed it belongs to; 'queries' for a registry commit"),
        Column("kind", "string", "delivery or registry"),
        Column("state", "string", "planned, done or refused"),
        Column("plan", "string", "names the commit that planned it; deliveries found together"),
        Column("path", "string", "the file or folder, below the landing folder of its feed"),
        Column("files", "array<string>", "its files, in their order", nullable=True),
        Column("sizes", "array<long>", "their sizes in bytes", nullable=True),
        Column("mtimes", "array<long>", "their times of change, ns since 1970", nullable=True),
        Column(
            "hashes",
            "array<string>",
            "BLAKE2 of each file or its parts; on S3 its entity tag",
            nullable=True,
        ),
        Column("lines", "array<string>", "of a retry: its rows, as JSON, one per file", True),
        Column("content", "string", "one hash of its content"),
        Column("partition_key", "string", "the hour or day it belongs to; '' for a registry"),
        Column("found_at", "timestamp", "when it was found: the clock for `future`"),
        Column("bases", "string", "the version of each target table when this was planned, JSON"),
        Column("rows", "long", "rows read = tuples + malformed + future", nullable=True),
        Column("tuples", "long", "well-formed rows, now in the feed's table", nullable=True),
        Column("malformed", "long", "rows in quarantine that are no tuples", nullable=True),
        Column("future", "long", "rows in quarantine too far ahead of the clock", nullable=True),
        Column("max_ts", "timestamp", "the latest ts among its tuples", nullable=True),
        Column("ignored", "array<string>", "columns that no setting names", nullable=True),
        Column("registry_version", "long", "of a registry commit: its version", nullable=True),
        Column("reason", "string", "why it was refused, in a word", nullable=True),
        Column("detail", "string", "why it was refused, in words", nullable=True),
        Column(
            "declared",
            "string",
            "of a delivery: how it was read and is judged, as declared when it was planned, JSON; "
            "null: not recorded, and of tuples of one instant the first counts",
            nullable=True,
        ),
    ),
    role="ledger",
    owner="lake",
    key=("n",),
    checks={
        "a_number_is_positive": "n > 0",
        "kind_is_known": "kind = 'delivery' OR kind = 'registry'",
        "state_is_known": "state = 'planned' OR state = 'done' OR state = 'refused'",
    },
)
