"""What a lane of joins has taken, in SQL: its deliveries in order, and the tuples of either feed.

A lane takes what its feeds have judged to be good; what they turned away is in quarantine. A
delivery that a feed has not evaluated yet is judged by nobody: what it brought is not looked at.

Law: no state of the engine is asked; when a tuple was taken is read from deliveries and tuples.
"""

# ruff: noqa: S608  names of feeds and axes are declared, all else are numbers

from collections.abc import Sequence

from pipelines.checks.scope import Scope
from pipelines.project.settings import Settings

SIDES = ("left", "right")


def deliveries(scope: Scope, settings: Settings) -> str:
    """Write as CTEs, the last is `marked`: the lane's deliveries, and the watermarks after each.

    place   counts them from 1, in the order in which the lane took them
    judged  whether their own feed has evaluated them
    """
    late = {
        side: settings.feeds[feed].allowed_lateness
        for side, feed in zip(SIDES, scope.sides, strict=True)
    }
    marks = ", ".join(
        f"MAX(CASE WHEN p.side = {number} THEN p.top - {late[side]:d} END) OVER w AS {side}_mark"
        for number, side in enumerate(SIDES)
    )
    return f"""unfolded AS (
    SELECT d.epoch, d.registry_version, UNNEST(d.arrivals) AS n,
        UNNEST(RANGE(LEN(d.arrivals))) AS nth
    FROM done_epochs d WHERE d.lane = '{scope.lane}'
), evaluated AS (
    SELECT UNNEST(f.arrivals) AS n FROM done_epochs f WHERE {scope.of_lane("f.lane")}
), placed AS (
    SELECT u.n, u.epoch, u.registry_version, a.tuples, UNIX_MICROS(a.max_ts) AS top,
        CASE WHEN a.lane = '{scope.sides[0]}' THEN 0 ELSE 1 END AS side,
        ROW_NUMBER() OVER (ORDER BY u.epoch, u.nth) AS place, e.n IS NOT NULL AS judged
    FROM unfolded u JOIN arrivals a ON a.n = u.n LEFT JOIN evaluated e ON e.n = u.n
), marked AS (
    SELECT p.*, {marks} FROM placed p WINDOW w AS (ORDER BY p.place)
)"""


def tuples(scope: Scope, side: int, axes: Sequence[str], condition: str = "TRUE") -> str:
    """Write as SELECT: the tuples of a side that were taken, `release` being where.

    Values are v0, v1 and so on; `marked` is there. The condition is on the row `t`.
    """
    feed, mark = scope.sides[side], f"{SIDES[side]}_mark"
    values = "".join(f", t.{axis} AS v{i}" for i, axis in enumerate(axes))
    return f"""SELECT t.stream_id, UNIX_MICROS(t.ts) AS us, COALESCE(t.deleted, FALSE) AS gone,
        t.file, t.line, GREATEST(a.place, r.place) AS release{values}
    FROM "{feed}" t JOIN marked a ON a.n = t.arrival
    ASOF JOIN (
        SELECT m.{mark} AS mark, MIN(m.place) AS place FROM marked m
        WHERE m.{mark} IS NOT NULL GROUP BY m.{mark}
    ) r ON UNIX_MICROS(t.ts) <= r.mark
    WHERE {condition} AND NOT EXISTS (
        SELECT 1 FROM quarantine q WHERE q.feed = '{feed}' AND q.epoch IS NOT NULL
            AND q.arrival = t.arrival AND q.file = t.file AND q.line = t.line
    )"""
