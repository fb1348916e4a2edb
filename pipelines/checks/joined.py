"""Of joins: do counts tell of the rows there are, do changes alternate, are members the newest?

Each function gives a SELECT with one column `said`, as in `accounting`.
"""

# ruff: noqa: S608  names of feeds and axes are declared, all else are numbers

from collections.abc import Mapping, Sequence

from pipelines.checks.scope import Scope
from pipelines.checks.taken import deliveries, tuples
from pipelines.project.settings import Settings


def paired(scope: Scope, _: Sequence[str]) -> str:
    """Hold the pairs that each epoch counted against those that are there."""
    return _counted(scope, "pairs", {"paired": "COUNT(*)"})


def changed(scope: Scope, _: Sequence[str]) -> str:
    """Hold the changes that each epoch counted against those that are there."""
    each = {"came_in": 1, "went_out": -1}
    counts = {name: f"COUNT(CASE WHEN e.change = {sign} THEN 1 END)" for name, sign in each.items()}
    return _counted(scope, "band_changes", counts)


def _counted(scope: Scope, table: str, counts: Mapping[str, str]) -> str:
    told = ", ".join(f"d.{name}" for name in counts)
    made = ", ".join(f"{count} AS {name}" for name, count in counts.items())
    unlike = " || ".join(
        f"CASE WHEN COALESCE(r.{name}, 0) <> COALESCE(h.{name}, 0) THEN ', {name} ' "
        f"|| COALESCE(h.{name}, 0) || ' and ' || COALESCE(r.{name}, 0) || ' there' ELSE '' END"
        for name in counts
    )
    return f"""WITH held AS (
    SELECT d.epoch, {told} FROM done_epochs d
    WHERE d.lane = '{scope.lane}' AND {scope.epochs("d.epoch")}
), there AS (
    SELECT e.epoch, {made} FROM {table} e
    WHERE e.lane = '{scope.lane}' AND {scope.epochs("e.epoch")} GROUP BY e.epoch
), told AS (
    SELECT h.epoch, {unlike} AS wrong FROM held h LEFT JOIN there r ON r.epoch = h.epoch
)
SELECT CASE WHEN t.wrong <> '' THEN 'epoch ' || t.epoch || ':' || SUBSTRING(t.wrong, 2) END AS said
FROM told t"""


def epochs(scope: Scope, _: Sequence[str]) -> str:
    """Hold the rows that each epoch counted against each other, and against its deliveries."""
    mine = f"'{scope.lane}'"
    return f"""WITH each_taken AS (
    SELECT d.epoch, EXPLODE(d.arrivals) AS n FROM done_epochs d WHERE d.lane = {mine}
), brought AS (
    SELECT t.epoch, SUM(a.rows) AS rows FROM each_taken t JOIN arrivals a ON a.n = t.n
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


def alternation(scope: Scope, _: Sequence[str]) -> str:
    """Hold each change in the scope against the one before of its (query, version, pair).

    Of an epoch, those of a registration come first, then those of its deliveries in order; of a
    delivery a stream has one tuple at a time.
    """
    pair = ("query_id", "query_version", "left_stream_id", "right_stream_id")
    by = ", ".join(f"c.{name}" for name in pair)
    pairs = ""
    if scope.runs is not None:
        pairs = f""" AND ({by}) IN (
        SELECT ({", ".join(f"i.{name}" for name in pair)}) FROM band_changes i
        WHERE i.lane = '{scope.lane}' AND {scope.epochs("i.epoch")}
    )"""
    return f"""WITH unfolded AS (
    SELECT UNNEST(d.arrivals) AS n, UNNEST(RANGE(LEN(d.arrivals))) AS nth
    FROM done_epochs d WHERE d.lane = '{scope.lane}'
), steps AS (
    SELECT c.*, COALESCE(LAG(c.change) OVER w, -1) AS before
    FROM band_changes c LEFT JOIN unfolded u ON u.n = c.arrival
    WHERE c.lane = '{scope.lane}'{pairs}
    WINDOW w AS (PARTITION BY {by} ORDER BY c.epoch, COALESCE(u.nth, -1), c.ts)
)
SELECT CASE WHEN s.change = s.before THEN s.query_id || ' v' || s.query_version || ', '
        || s.left_stream_id || ' and ' || s.right_stream_id || ': '
        || CASE WHEN s.change = 1 THEN '+1' ELSE '-1' END || ' at ' || s.ts || ' follows '
        || CASE WHEN s.change = 1 THEN '+1' ELSE '-1, or nothing' END
    END AS said
FROM steps s WHERE {scope.epochs("s.epoch")}"""


def newest(scope: Scope, settings: Settings) -> str:
    """Hold each member against the newest tuple of its stream that was taken.

    Of streams with tuples that their feed has not judged yet nothing is said.
    """
    halves = [_newest_of(scope, side, settings.axes[feed]) for side, feed in enumerate(scope.sides)]
    return f"WITH {deliveries(scope, settings)}\n{' UNION ALL '.join(halves)}"


def _newest_of(scope: Scope, side: int, axes: Sequence[str]) -> str:
    feed = scope.sides[side]
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
    values = "".join(f", ARG_MAX(a.v{i}, a.us) AS v{i}" for i in range(len(axes)))
    unlike = " OR ".join(f"n.v{i} IS DISTINCT FROM s.{axis}" for i, axis in enumerate(axes))
    return f"""SELECT CASE
    WHEN s.stream_id IS NULL AND NOT n.gone THEN '{feed}: ' || n.stream_id || ' is no member'
    WHEN n.stream_id IS NULL THEN '{feed}: ' || s.stream_id || ' is a member and has no tuple'
    WHEN s.stream_id IS NOT NULL AND n.gone
        THEN '{feed}: ' || s.stream_id || ' is a member, and its newest tuple took it out'
    WHEN UNIX_MICROS(s.ts) <> n.us THEN '{feed}: ' || s.stream_id || ' stands at ' || s.ts
        || ', its newest tuple is of ' || MAKE_TIMESTAMP(n.us)
    WHEN s.stream_id IS NOT NULL AND ({unlike})
        THEN '{feed}: ' || s.stream_id || ' stands at other values than its newest tuple'
    END AS said
FROM (
    SELECT a.stream_id, MAX(a.us) AS us, ARG_MAX(a.gone, a.us) AS gone{values}
    FROM ({tuples(scope, side, axes, among.format("t"))}) a GROUP BY a.stream_id
) n FULL JOIN (
    SELECT s.* FROM set_members s WHERE {mine} AND {among.format("s")}
) s ON s.stream_id = n.stream_id"""
