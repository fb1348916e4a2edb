"""The two ledgers as they are to be read: the last word on each arrival, the epochs in force.

Law: an epoch is in force when it is done and no row of a higher generation stands at the same or an
earlier epoch of its lane.
"""

# ruff: noqa: S608  a view's text is put together from declared names alone

import schemas
from pipelines.views.view import View, select_list
from schemas import Column

_tables = schemas.all_tables({})
_ARRIVALS, _EPOCHS = _tables["arrivals"].columns, _tables["epochs"].columns

# Few rows, so that each epoch is held against the generations of its lane, not against all epochs.
_REPLACED = """EXISTS (
    SELECT 1 FROM (
        SELECT h.lane, h.generation, MIN(h.epoch) AS since FROM raw_epochs h
        WHERE h.state <> 'horizon' GROUP BY h.lane, h.generation
    ) g
    WHERE g.lane = e.lane AND g.generation > e.generation AND g.since <= e.epoch
)"""

ARRIVALS = View(
    "arrivals",
    "Every delivery and every registry commit, with the last word on it.",
    _ARRIVALS,
    f"""SELECT {select_list("a", _ARRIVALS)} FROM (
    SELECT r.*, ROW_NUMBER() OVER (
        PARTITION BY r.n ORDER BY CASE WHEN r.state = 'planned' THEN 1 ELSE 0 END
    ) AS nth FROM raw_arrivals r
) a WHERE a.nth = 1""",
)

DONE_EPOCHS = View(
    "done_epochs",
    "The epochs in force: done, and not evaluated anew. Every view shows these alone.",
    _EPOCHS,
    f"""SELECT {select_list("e", _EPOCHS)} FROM raw_epochs e
WHERE e.state = 'done' AND NOT {_REPLACED}""",
)

EPOCHS = View(
    "epochs",
    "Every epoch that was ever planned, in every generation, with the last word on it.",
    (
        *_EPOCHS,
        Column("in_force", "boolean", "it is done, and its generation was not replaced"),
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
