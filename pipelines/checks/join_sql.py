"""Checks of a lane of joins, in SQL: do counts add up and changes alternate, are members newest?

Each function gives a SELECT with one column `said`, as in `feed_sql`. A lane joins what its feeds
have accepted; what they rejected is in quarantine. A delivery that a feed has not evaluated yet is
not checked.

Law: the engine's state is never read; when a tuple was joined follows from deliveries and tuples.
"""

# ruff: noqa: S608  names of feeds and axes are declared, all else are numbers

from collections.abc import Mapping, Sequence

from pipelines.checks.admission import (
    behind,
    columns,
    in_order,
    lateness,
    not_rejected,
    released_in_lane,
)
from pipelines.checks.scope import CheckScope
from pipelines.project.settings import Feed, Settings

SIDES = ("left", "right")


def deliveries(scope: CheckScope, settings: Settings) -> str:
    """Write as CTEs, the last is `marked`: the lane's deliveries, and the watermarks after each.

    place   counts them from 1, in the order in which the lane joined them
    judged  whether their own feed has evaluated them
    """
    marks = ", ".join(
        f"MAX(CASE WHEN p.side = {number} THEN p.top - p.behind END) OVER w AS {side}_mark"
        for number, side in enumerate(SIDES)
    )
    how = "".join(
        f", {behind(settings.feeds[feed])} AS behind_{number}, "
        f"{lateness(scope, feed)} AS lateness_{number}"
        for number, feed in enumerate(scope.sides)
    )
    return f"""unfolded AS (
    SELECT d.epoch, d.registry_version, UNNEST(d.arrivals) AS n,
        UNNEST(RANGE(LEN(d.arrivals))) AS nth{how}
    FROM done_epochs d WHERE d.lane = '{scope.lane}'
), evaluated AS (
    SELECT UNNEST(f.arrivals) AS n FROM done_epochs f WHERE {scope.of_lane("f.lane")}
), placed AS (
    SELECT u.n, u.epoch, u.registry_version, a.tuples, UNIX_MICROS(a.max_ts) AS top,
        CASE WHEN a.lane = '{scope.sides[0]}' THEN 0 ELSE 1 END AS side,
        CASE WHEN a.lane = '{scope.sides[0]}' THEN u.behind_0 ELSE u.behind_1 END AS behind,
        CASE WHEN a.lane = '{scope.sides[0]}' THEN u.lateness_0 ELSE u.lateness_1 END AS lateness,
        ROW_NUMBER() OVER (ORDER BY u.epoch, u.nth) AS place, e.n IS NOT NULL AS judged
    FROM unfolded u JOIN arrivals a ON a.n = u.n LEFT JOIN evaluated e ON e.n = u.n
), marked AS (
    SELECT p.*, {marks} FROM placed p WINDOW w AS (ORDER BY p.place)
)"""


def tuples(scope: CheckScope, side: int, feed: Feed, condition: str = "TRUE") -> str:
    """Write as SELECT: the joined tuples of a side, with the place of their release in the lane.

    Values are v0, v1 and so on; `ts_place` is which of its stream's tuples at one instant it is.
    `marked` is there. The condition is on the row `t`, and takes a stream whole.
    """
    mark = f"{SIDES[side]}_mark"
    own, of_streams = released_in_lane(scope, feed.name, condition)
    return f"""SELECT x.*, ROW_NUMBER() OVER (
        PARTITION BY x.stream_id, x.us ORDER BY {in_order(feed, "x.place", "x")}
    ) - 1 AS ts_place FROM (
        SELECT g.*, GREATEST(g.place, LEAST(f.place, {own})) AS release FROM (
            SELECT t.stream_id, UNIX_MICROS(t.ts) AS us, COALESCE(t.deleted, FALSE) AS gone,
                a.place, {columns(feed)}
            FROM "{feed.name}" t JOIN marked a ON a.n = t.arrival
            WHERE {condition} AND {not_rejected(feed.name)}
        ) g ASOF LEFT JOIN (
            SELECT m.{mark} AS mark, MIN(m.place) AS place FROM marked m
            WHERE m.{mark} IS NOT NULL GROUP BY m.{mark}
        ) f ON g.us <= f.mark {of_streams}
        WHERE {own} IS NOT NULL OR f.place IS NOT NULL
    ) x"""


def paired(scope: CheckScope, _: Sequence[str]) -> str:
    """Compare the pairs that each epoch counted with those in the table."""
    return _counted(scope, "pairs", {"paired": "COUNT(*)"})


def changed(scope: CheckScope, _: Sequence[str]) -> str:
    """Compare the changes of band joins that each epoch counted with those in the table."""
    return _changed(scope, "band_changes", ("came_in", "went_out"))


def near_changed(scope: CheckScope, _: Sequence[str]) -> str:
    """Compare the changes of near joins likewise."""
    return _changed(scope, "near_changes", ("came_near", "went_away"))


def _changed(scope: CheckScope, table: str, names: tuple[str, str]) -> str:
    each = zip(names, (1, -1), strict=True)
    counts = {name: f"COUNT(CASE WHEN e.change = {sign} THEN 1 END)" for name, sign in each}
    return _counted(scope, table, counts)


def _counted(scope: CheckScope, table: str, counts: Mapping[str, str]) -> str:
    columns = ", ".join(f"d.{name}" for name in counts)
    made = ", ".join(f"{count} AS {name}" for name, count in counts.items())
    unlike = " || ".join(
        f"CASE WHEN COALESCE(r.{name}, 0) <> COALESCE(h.{name}, 0) THEN ', {name} ' "
        f"|| COALESCE(h.{name}, 0) || ' and ' || COALESCE(r.{name}, 0) || ' there' ELSE '' END"
        for name in counts
    )
    return f"""WITH ledger AS (
    SELECT d.epoch, {columns} FROM done_epochs d
    WHERE d.lane = '{scope.lane}' AND {scope.epochs("d.epoch")}
), there AS (
    SELECT e.epoch, {made} FROM {table} e
    WHERE e.lane = '{scope.lane}' AND {scope.epochs("e.epoch")} GROUP BY e.epoch
), compared AS (
    SELECT h.epoch, {unlike} AS wrong FROM ledger h LEFT JOIN there r ON r.epoch = h.epoch
)
SELECT CASE WHEN t.wrong <> '' THEN 'epoch ' || t.epoch || ':' || SUBSTRING(t.wrong, 2) END AS said
FROM compared t"""


def epochs(scope: CheckScope, _: Sequence[str]) -> str:
    """Compare the rows that each epoch counted with each other, and with its deliveries."""
    mine = f"'{scope.lane}'"
    return f"""WITH each_delivery AS (
    SELECT d.epoch, EXPLODE(d.arrivals) AS n FROM done_epochs d WHERE d.lane = {mine}
), brought AS (
    SELECT t.epoch, SUM(a.rows) AS rows FROM each_delivery t JOIN arrivals a ON a.n = t.n
    GROUP BY t.epoch
)
SELECT CASE
    WHEN NOT b.balanced THEN 'epoch ' || b.epoch || ': ' || COALESCE(b.rows, 0) || ' rows and '
        || b.waiting_before || ' that waited are not the sum of the others'
    WHEN COALESCE(n.rows, 0) <> b.rows THEN 'epoch ' || b.epoch || ': rows ' || b.rows || ' and '
        || COALESCE(n.rows, 0) || ' of its deliveries'
    END AS said
FROM epoch_accounting b LEFT JOIN brought n ON n.epoch = b.epoch
WHERE b.lane = {mine} AND {scope.epochs("b.epoch")}"""


def alternation(scope: CheckScope, _: Sequence[str]) -> str:
    """Compare the changes of band joins with those before."""
    return _alternation(scope, "band_changes")


def near_alternation(scope: CheckScope, _: Sequence[str]) -> str:
    """Compare the changes of near joins likewise."""
    return _alternation(scope, "near_changes")


def _alternation(scope: CheckScope, table: str) -> str:
    """Compare each change in the scope with the one before of its (query, version, pair).

    Of an epoch, those of a registration come first, then those of its deliveries in order, and of a
    delivery they go by (ts, place): all are of tuples of one stream.
    """
    pair = ("query_id", "query_version", "left_stream_id", "right_stream_id")
    by = ", ".join(f"c.{name}" for name in pair)
    pairs = ""
    if scope.runs is not None:
        pairs = f""" AND ({by}) IN (
        SELECT ({", ".join(f"i.{name}" for name in pair)}) FROM {table} i
        WHERE i.lane = '{scope.lane}' AND {scope.epochs("i.epoch")}
    )"""
    return f"""WITH unfolded AS (
    SELECT UNNEST(d.arrivals) AS n, UNNEST(RANGE(LEN(d.arrivals))) AS nth
    FROM done_epochs d WHERE d.lane = '{scope.lane}'
), steps AS (
    SELECT c.*, COALESCE(LAG(c.change) OVER w, -1) AS before
    FROM {table} c LEFT JOIN unfolded u ON u.n = c.arrival
    WHERE c.lane = '{scope.lane}'{pairs}
    WINDOW w AS (PARTITION BY {by} ORDER BY c.epoch, COALESCE(u.nth, -1), c.ts, c.place)
)
SELECT CASE WHEN s.change = s.before THEN s.query_id || ' v' || s.query_version || ', '
        || s.left_stream_id || ' and ' || s.right_stream_id || ': '
        || CASE WHEN s.change = 1 THEN '+1' ELSE '-1' END || ' at ' || s.ts || ' follows '
        || CASE WHEN s.change = 1 THEN '+1' ELSE '-1, or nothing' END
    END AS said
FROM steps s WHERE {scope.epochs("s.epoch")}"""


def newest(scope: CheckScope, settings: Settings) -> str:
    """Compare each member with the newest joined tuple of its stream.

    Streams with tuples that their feed has not evaluated yet are left out.
    """
    ctes, halves = zip(
        *(_newest_of(scope, side, settings.feeds[name]) for side, name in enumerate(scope.sides)),
        strict=True,
    )
    return f"WITH {deliveries(scope, settings)}, {', '.join(ctes)}\n{' UNION ALL '.join(halves)}"


def _newest_of(scope: CheckScope, side: int, declared: Feed) -> tuple[str, str]:
    """Write as SQL a side's tuples as a CTE, and what is wrong with its members."""
    feed, axes = declared.name, declared.axes
    mine = f"s.lane = '{scope.lane}' AND s.feed = '{feed}'"
    among = f"""{{0}}.stream_id NOT IN (
        SELECT u.stream_id FROM "{feed}" u JOIN marked y ON y.n = u.arrival WHERE NOT y.judged
    )"""
    if scope.runs is not None:
        among += f""" AND {{0}}.stream_id IN (
        SELECT s.stream_id FROM set_members s WHERE {mine} AND {scope.epochs("s.epoch")}
        UNION
        SELECT u.stream_id FROM "{feed}" u JOIN marked y ON y.n = u.arrival
        WHERE {scope.epochs("y.epoch")}
    )"""
    values = "".join(f", LAST(a.v{i} ORDER BY a.ts_place) AS v{i}" for i in range(len(axes)))
    cte = f"joined_{side} AS ({tuples(scope, side, declared, among.format('t'))})"
    unlike = " OR ".join(f"n.v{i} IS DISTINCT FROM s.{axis}" for i, axis in enumerate(axes))
    half = f"""SELECT CASE
    WHEN s.stream_id IS NULL AND NOT n.gone THEN '{feed}: ' || n.stream_id || ' is no member'
    WHEN n.stream_id IS NULL THEN '{feed}: ' || s.stream_id || ' is a member and has no tuple'
    WHEN s.stream_id IS NOT NULL AND n.gone
        THEN '{feed}: ' || s.stream_id || ' is a member, and its newest tuple took it out'
    WHEN UNIX_MICROS(s.ts) <> n.us THEN '{feed}: ' || s.stream_id || ' stands at ' || s.ts
        || ', its newest tuple is of ' || MAKE_TIMESTAMP(n.us)
    WHEN s.ts_place <> n.place THEN '{feed}: ' || s.stream_id || ' stands at place ' || s.ts_place
        || ' of ' || s.ts || ', its newest tuple has place ' || n.place
    WHEN s.stream_id IS NOT NULL AND ({unlike})
        THEN '{feed}: ' || s.stream_id || ' stands at other values than its newest tuple'
    END AS said
FROM (
    SELECT a.stream_id, a.us, MAX(a.ts_place) AS place,
        LAST(a.gone ORDER BY a.ts_place) AS gone{values}
    FROM joined_{side} a JOIN (
        SELECT x.stream_id, MAX(x.us) AS us FROM joined_{side} x GROUP BY x.stream_id
    ) h ON h.stream_id = a.stream_id AND h.us = a.us
    GROUP BY a.stream_id, a.us
) n FULL JOIN (
    SELECT s.* FROM set_members s WHERE {mine} AND {among.format("s")}
) s ON s.stream_id = n.stream_id"""
    return cte, half
