"""What each query saw on each day, UTC.

Law: on each day `inside` is that of the previous day with a row, plus the visits that began, less
those that ended and whose beginning was seen; on the newest day of a lane whose watermark has not
passed it, it is what `inside_now` counts. Durations are summed as whole microseconds, so that the
mean is the same in every engine and for any order of rows; days are UTC in a session of any zone.
"""

# ruff: noqa: S608  a view's text is built from declared names alone

from pipelines.serve.views.view import View
from schemas import marts
from schemas.events import TRANSITIONS

_DAY = 86_400_000_000
"""Microseconds."""


def _day(instant: str) -> str:
    """Write the day of an instant, UTC, whatever the session's time zone; exact."""
    us = f"UNIX_MICROS({instant})"
    return f"DATE_FROM_UNIX_DATE(CAST(({us} - PMOD({us}, {_DAY})) / {_DAY} AS INT))"


_KINDS = ",\n        ".join(
    f"COUNT(CASE WHEN t.type = '{kind}' THEN 1 END) AS {kind}" for kind in TRANSITIONS
)
_NO_KINDS = ", ".join(f"0 AS {kind}" for kind in TRANSITIONS)
_SUMS = ",\n        ".join(
    f"CAST(SUM(p.{name}) AS BIGINT) AS {name}"
    for name in (
        *("times_entered", "times_left", *TRANSITIONS, "streams"),
        *("visits_begun", "visits_ended", "known", "lasted", "gone_in"),
    )
)

# `spans` is small compared to the visits, and each of its rows counts on two days: the day on which
# the visits began and the day on which they ended.
DAILY_SUMMARY = View(
    marts.DAILY_SUMMARY.name,
    marts.DAILY_SUMMARY.comment,
    marts.DAILY_SUMMARY.columns,
    f"""WITH spans AS (
    SELECT v.feed, v.query_id, v.query_version,
        {_day("v.entered_ts")} AS entered_on, {_day("v.left_ts")} AS left_on,
        COUNT(*) AS visits, COUNT(v.duration) AS known,
        CAST(SUM(UNIX_MICROS(v.left_ts) - UNIX_MICROS(v.entered_ts)) AS BIGINT) AS lasted,
        MAX(v.duration) AS longest
    FROM visits v
    GROUP BY v.feed, v.query_id, v.query_version,
        {_day("v.entered_ts")}, {_day("v.left_ts")}
), parts AS (
    SELECT e.feed, e.day, e.query_id, e.query_version,
        COUNT(CASE WHEN e.type = 'I' THEN 1 END) AS times_entered,
        COUNT(CASE WHEN e.type = 'O' THEN 1 END) AS times_left,
        {_NO_KINDS},
        COUNT(DISTINCT e.stream_id) AS streams,
        0 AS visits_begun, 0 AS visits_ended, 0 AS known, 0 AS lasted, 0 AS gone_in,
        NULL AS longest
    FROM events e GROUP BY e.feed, e.day, e.query_id, e.query_version
    UNION ALL
    SELECT t.feed, t.day, t.query_id, t.query_version, 0, 0,
        {_KINDS},
        0, 0, 0, 0, 0, 0, NULL
    FROM transitions t GROUP BY t.feed, t.day, t.query_id, t.query_version
    UNION ALL
    SELECT s.feed, CASE WHEN ends.it THEN s.left_on ELSE s.entered_on END, s.query_id,
        s.query_version, 0, 0, 0, 0, 0, 0, 0,
        CASE WHEN ends.it THEN 0 ELSE s.visits END,
        CASE WHEN ends.it THEN s.visits ELSE 0 END,
        CASE WHEN ends.it THEN s.known ELSE 0 END,
        CASE WHEN ends.it THEN COALESCE(s.lasted, 0) ELSE 0 END,
        CASE WHEN NOT ends.it THEN s.visits WHEN s.entered_on IS NULL THEN 0 ELSE -s.visits END,
        CASE WHEN ends.it THEN s.longest END
    FROM spans s CROSS JOIN (SELECT TRUE AS it UNION ALL SELECT FALSE AS it) ends
    WHERE (ends.it AND s.left_on IS NOT NULL) OR (NOT ends.it AND s.entered_on IS NOT NULL)
), days AS (
    SELECT p.feed, p.day, p.query_id, p.query_version,
        {_SUMS},
        MAX(p.longest) AS longest
    FROM parts p GROUP BY p.feed, p.day, p.query_id, p.query_version
)
SELECT d.feed, d.day, d.query_id, d.query_version, d.times_entered, d.times_left,
    {", ".join(f"d.{kind}" for kind in TRANSITIONS)},
    d.streams, d.visits_begun, d.visits_ended,
    CASE WHEN d.known > 0 THEN CAST(d.lasted AS DOUBLE) / d.known / 1e6 END AS mean_duration,
    d.longest AS longest_duration,
    CAST(SUM(d.gone_in) OVER (
        PARTITION BY d.feed, d.query_id, d.query_version ORDER BY d.day
    ) AS BIGINT) AS inside
FROM days d""",
)
