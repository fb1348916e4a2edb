"""How much happens: by query, by stream, and by epoch.

Law: an epoch's rows and those that waited before it are accepted, waiting, or in quarantine for one
reason, exactly; `balanced` says whether the ledger agrees.
"""

# ruff: noqa: S608  a view's text is built from declared names alone

from collections.abc import Mapping

import schemas
from pipelines.serve.views.presence import EFFECTS, IS_INSIDE, PAIRS, ends
from pipelines.serve.views.view import View, chosen, count, select_list
from schemas import Column, Table
from schemas.events import TRANSITIONS
from schemas.marts import PAIR

SPAN = (
    Column("first_ts", "timestamp", "first crossing or match"),
    Column("last_ts", "timestamp", "last crossing or match"),
)
COUNTS = (
    count("times_entered", "events I"),
    count("times_left", "events O"),
    *(count(kind, "transitions of this type") for kind in TRANSITIONS),
    count("matches", "matches"),
)


def _activity(by: tuple[str, ...], other: str) -> str:
    """Count crossings, transitions and matches by these columns, one pass over each table."""
    keys = ", ".join(f"p.{name}" for name in by)
    same = " AND ".join(f"b.{name} = a.{name}" for name in by)
    became = ",\n        ".join(
        f"CAST(SUM(CASE WHEN p.type = '{kind}' THEN p.times END) AS BIGINT) AS {kind}"
        for kind in TRANSITIONS
    )
    transitions = ", ".join(f"COALESCE(b.{kind}, 0) AS {kind}" for kind in TRANSITIONS)
    plural = {"query_id": "queries", "stream_id": "streams"}[other]
    # A version crosses or matches, never both: so each of its streams is seen in one row.
    others = "COUNT(*)" if other == "stream_id" else f"COUNT(DISTINCT p.{other})"
    pair = ", ".join(f"p.{column.name}" for column in PAIR)
    return f"""WITH {{}}, {PAIRS}, seen AS (
    SELECT {pair}, p.times_entered, p.times_left, 0 AS matches, p.first_ts, p.last_ts,
        p.entered_ts, p.entered_tied, p.left_ts, p.left_tied
    FROM pairs p
    UNION ALL
    SELECT {pair}, 0, 0, COUNT(*), MIN(p.ts), MAX(p.ts), NULL, NULL, NULL, NULL
    FROM matches p GROUP BY {pair}
), crossed AS (
    SELECT {keys},
        CAST(SUM(p.times_entered) AS BIGINT) AS times_entered,
        CAST(SUM(p.times_left) AS BIGINT) AS times_left,
        CAST(SUM(p.matches) AS BIGINT) AS matches,
        {others} AS {plural},
        COUNT(CASE WHEN {IS_INSIDE} THEN 1 END) AS inside_now,
        MIN(p.first_ts) AS first_ts, MAX(p.last_ts) AS last_ts
    FROM seen p {EFFECTS.format("p")}
    GROUP BY {keys}
), became AS (
    SELECT {keys},
        {became}
    FROM (
        SELECT {keys}, p.type, COUNT(*) AS times FROM transitions p GROUP BY {keys}, p.type
    ) p GROUP BY {keys}
)
SELECT {", ".join(f"a.{name}" for name in by)}, a.times_entered, a.times_left,
    {transitions},
    a.matches, a.{plural}, a.inside_now, a.first_ts, a.last_ts
FROM crossed a LEFT JOIN became b ON {same}"""


_BY_QUERY = ("feed", "query_id", "query_version")
_BY_STREAM = ("feed", "stream_id")


def query_activity(tables: Mapping[str, Table]) -> View:
    """Declare what each version of a query found, in a lake with these tables."""
    return View(
        "query_activity",
        "What each version of a query found; versions that found nothing are left out.",
        (
            *chosen(PAIR, *_BY_QUERY),
            *COUNTS,
            count("streams", "streams that crossed or matched it"),
            count("inside_now", "streams inside now"),
            *SPAN,
        ),
        _activity(_BY_QUERY, "stream_id").format(ends(tables)),
    )


def stream_activity(tables: Mapping[str, Table]) -> View:
    """Declare what each stream crossed and matched, in a lake with these tables."""
    return View(
        "stream_activity",
        "What each stream crossed and matched; streams that did neither are left out.",
        (
            *chosen(PAIR, *_BY_STREAM),
            *COUNTS,
            count("queries", "queries that it crossed or matched"),
            count("inside_now", "queries that it is inside now"),
            *SPAN,
        ),
        _activity(_BY_STREAM, "query_id").format(ends(tables)),
    )


_EPOCHS = schemas.all_tables({})["epochs"].columns
_WHICH = chosen(_EPOCHS, "lane", "epoch", "generation", "partition_key", "rows")
_KINDS = ("accepted", "waiting", "malformed", "future", "late", "duplicate", "conflict")

EPOCH_ACCOUNTING = View(
    "epoch_accounting",
    "Whether every row of an epoch is accounted for: rows + waiting_before = all the others.",
    (
        *_WHICH,
        count("waiting_before", "tuples that were waiting when it began"),
        *chosen(_EPOCHS, *_KINDS),
        Column("balanced", "boolean", "rows + waiting_before = the sum of the others"),
    ),
    f"""SELECT {select_list("e", _WHICH)}, e.waiting_before,
    {select_list("e", chosen(_EPOCHS, *_KINDS))},
    COALESCE(e.rows + e.waiting_before = {" + ".join(f"e.{kind}" for kind in _KINDS)}, FALSE)
        AS balanced
FROM (
    SELECT d.*, COALESCE(LAG(d.waiting) OVER (PARTITION BY d.lane ORDER BY d.epoch), 0)
        AS waiting_before
    FROM done_epochs d
) e""",
)
