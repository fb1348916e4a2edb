"""Each lane's time partitions: what arrived, what is evaluated, and what is stale.

Law: a partition has stale epochs exactly while a delivery that precedes them, by partition and
number, is in no epoch in force: until re-evaluation they show results without that delivery.
"""

# ruff: noqa: S608  only literals of this module

import schemas
from fencepost.lanes import feed_of_lane_sql
from pipelines.serve.views.view import View, chosen, count
from schemas import Column

_EPOCHS = schemas.all_tables({})["epochs"].columns

PARTITION_STATUS = View(
    "partition_status",
    "Each partition: deliveries, those not evaluated yet, epochs, and the stale ones.",
    (
        *chosen(_EPOCHS, "lane", "partition_key"),
        count("deliveries", "loaded deliveries"),
        count("waiting", "loaded deliveries not evaluated yet"),
        count("epochs", "epochs in force"),
        count("stale_epochs", "epochs to be re-evaluated: their input changed"),
        Column("generation", "integer", "generation of the newest epoch in force", nullable=True),
        Column("watermark", "timestamp", "watermark after the last epoch in force", nullable=True),
    ),
    f"""WITH evaluated AS (
    SELECT d.lane, d.partition_key, d.epoch, EXPLODE(d.arrivals) AS n FROM done_epochs d
), lanes AS (
    SELECT e.lane FROM epochs e UNION SELECT a.lane FROM arrivals a WHERE a.kind = 'delivery'
), delivered AS (
    SELECT l.lane, a.partition_key, a.n, t.n IS NULL AS waits
    FROM lanes l
    JOIN arrivals a ON {feed_of_lane_sql("a.lane", "l.lane")}
    LEFT JOIN evaluated t ON t.lane = l.lane AND t.n = a.n
    WHERE a.kind = 'delivery' AND a.state = 'done'
), missing AS (
    SELECT d.lane, d.partition_key, d.n, ROW_NUMBER() OVER (
        PARTITION BY d.lane ORDER BY d.partition_key, d.n
    ) AS nth
    FROM delivered d WHERE d.waits
), replaced AS (
    SELECT r.lane, r.partition_key, r.epoch, EXPLODE(r.arrivals) AS n FROM epochs r
    WHERE r.state = 'done' AND NOT r.in_force
), stale AS (
    SELECT t.lane, t.partition_key, t.epoch FROM evaluated t
    JOIN missing m ON m.lane = t.lane AND m.nth = 1 AND (t.partition_key > m.partition_key
        OR (t.partition_key = m.partition_key AND t.n > m.n))
    UNION
    SELECT e.lane, e.partition_key, e.epoch FROM replaced e
    LEFT JOIN evaluated t ON t.lane = e.lane AND t.n = e.n
    WHERE t.n IS NULL
), in_force AS (
    SELECT d.lane, d.partition_key, COUNT(*) AS epochs, MAX(d.generation) AS generation,
        MAX(d.watermark) AS watermark
    FROM done_epochs d GROUP BY d.lane, d.partition_key
)
SELECT p.lane, p.partition_key, COALESCE(a.deliveries, 0) AS deliveries,
    COALESCE(a.waiting, 0) AS waiting, COALESCE(s.epochs, 0) AS epochs,
    COALESCE(x.epochs, 0) AS stale_epochs, s.generation, s.watermark
FROM (
    SELECT d.lane, d.partition_key FROM delivered d
    UNION SELECT d.lane, d.partition_key FROM in_force d
    UNION SELECT d.lane, d.partition_key FROM stale d
) p
LEFT JOIN (
    SELECT d.lane, d.partition_key, COUNT(*) AS deliveries,
        COUNT(CASE WHEN d.waits THEN 1 END) AS waiting
    FROM delivered d GROUP BY d.lane, d.partition_key
) a ON a.lane = p.lane AND a.partition_key = p.partition_key
LEFT JOIN in_force s ON s.lane = p.lane AND s.partition_key = p.partition_key
LEFT JOIN (
    SELECT t.lane, t.partition_key, COUNT(DISTINCT t.epoch) AS epochs
    FROM stale t GROUP BY t.lane, t.partition_key
) x ON x.lane = p.lane AND x.partition_key = p.partition_key""",
)
