"""The two ledgers as they are to be read: the latest state of each arrival, the epochs in force.

Law: an epoch is in force if it is done and no row of a higher generation exists at the same or an
earlier epoch of its lane.
"""

# ruff: noqa: S608  a view's text is built from declared names alone

import schemas
from pipelines.serve.views.view import View, chosen, select_list
from schemas import Column

_tables = schemas.all_tables({})
_ARRIVALS, _EPOCHS = _tables["arrivals"].columns, _tables["epochs"].columns

# Few rows, so that each epoch is compared with the generations of its lane, not with all epochs.
_REPLACED = """EXISTS (
    SELECT 1 FROM (
        SELECT h.lane, h.generation, MIN(h.epoch) AS since FROM raw_epochs h
        WHERE h.state <> 'horizon' GROUP BY h.lane, h.generation
    ) g
    WHERE g.lane = e.lane AND g.generation > e.generation AND g.since <= e.epoch
)"""

ARRIVALS = View(
    "arrivals",
    "Every delivery and every registry commit, with its latest state.",
    _ARRIVALS,
    f"""SELECT {select_list("a", _ARRIVALS)} FROM (
    SELECT r.*, ROW_NUMBER() OVER (
        PARTITION BY r.n ORDER BY CASE WHEN r.state = 'planned' THEN 1 ELSE 0 END
    ) AS nth FROM raw_arrivals r
) a WHERE a.nth = 1""",
)

REFUSED_DELIVERIES = View(
    "refused_deliveries",
    "Every refused delivery, and its answer; `answer` is null while it is unanswered.",
    (
        Column("n", "long", "its number: arrivals.n"),
        Column("feed", "string", "its feed"),
        *chosen(_ARRIVALS, "path", "reason", "detail", "found_at"),
        Column(
            "answer",
            "string",
            "taken or refused again (by a later delivery), dismissed, not needed (for a repeat); "
            "null: unanswered",
            nullable=True,
        ),
        Column("answered_by", "long", "the later delivery: arrivals.n", nullable=True),
        Column("dismissed_at", "timestamp", "when it was dismissed", nullable=True),
        Column("note", "string", "why it was dismissed", nullable=True),
    ),
    # A later delivery answers it by the same file names, or was loaded with the same content.
    """WITH whole AS (
    SELECT a.n, a.lane, a.state, a.path, a.files, a.content FROM arrivals a
    WHERE a.kind = 'delivery' AND a.lines IS NULL
), listed AS (
    SELECT w.n, w.lane, w.state, EXPLODE(w.files) AS name FROM whole w
), named AS (
    SELECT l.n, l.lane, l.state, l.name FROM listed l
    UNION ALL
    SELECT w.n, w.lane, w.state, w.path FROM whole w
    WHERE NOT EXISTS (SELECT 1 FROM listed l WHERE l.n = w.n)
), files AS (
    SELECT r.n, r.name, MAX(l.n) AS later,
        MAX(CASE WHEN l.state <> 'refused' THEN l.n END) AS accepted
    FROM named r LEFT JOIN named l ON l.lane = r.lane AND l.name = r.name AND l.n > r.n
    WHERE r.state = 'refused' GROUP BY r.n, r.name
), by_name AS (
    SELECT f.n, MAX(f.later) AS later,
        COUNT(*) = COUNT(f.later) AS is_later, COUNT(*) = COUNT(f.accepted) AS is_accepted
    FROM files f GROUP BY f.n
), by_content AS (
    SELECT r.n, MAX(w.n) AS later FROM whole r
    JOIN whole w ON w.lane = r.lane AND w.content = r.content AND w.n > r.n
        AND w.state <> 'refused'
    WHERE r.state = 'refused' GROUP BY r.n
)
SELECT a.n, a.lane AS feed, a.path, a.reason, a.detail, a.found_at,
    CASE WHEN c.later IS NOT NULL OR b.is_accepted THEN 'taken' WHEN b.is_later THEN 'refused again'
        WHEN d.n IS NOT NULL THEN 'dismissed' WHEN a.reason = 'repeat' THEN 'not needed'
        END AS answer,
    CASE WHEN c.later IS NOT NULL THEN c.later WHEN b.is_later THEN b.later END AS answered_by,
    d.dismissed_at, d.note
FROM arrivals a JOIN by_name b ON b.n = a.n
LEFT JOIN by_content c ON c.n = a.n
LEFT JOIN raw_dismissals d ON d.n = a.n""",
)

DONE_EPOCHS = View(
    "done_epochs",
    "The epochs in force: done, and not replaced by a re-evaluation. Views show only these.",
    _EPOCHS,
    f"""SELECT {select_list("e", _EPOCHS)} FROM raw_epochs e
WHERE e.state = 'done' AND NOT {_REPLACED}""",
)

EPOCHS = View(
    "epochs",
    "Every epoch ever planned, in every generation, with its latest state.",
    (
        *_EPOCHS,
        Column("in_force", "boolean", "done, and not replaced by a later generation"),
    ),
    f"""SELECT {select_list("e", _EPOCHS)}, d.epoch IS NOT NULL AS in_force
FROM (
    SELECT r.*, ROW_NUMBER() OVER (
        PARTITION BY r.lane, r.epoch, r.generation
        ORDER BY CASE WHEN r.state = 'planned' THEN 1 ELSE 0 END
    ) AS nth FROM raw_epochs r WHERE r.state <> 'horizon'
) e
LEFT JOIN done_epochs d
    ON d.lane = e.lane AND d.epoch = e.epoch AND d.generation = e.generation
WHERE e.nth = 1""",
)
