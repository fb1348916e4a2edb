"""The standing queries: every version that was ever registered."""

from schemas.table import Column, Table

QUERIES = Table(
    "queries",
    "The registry, a log: one row for each change of a query. The newest row of an id counts; "
    "`removed` there means that it is no longer active.",
    (
        Column("n", "long", "the registry commit's place in the sequence: arrivals.n"),
        Column("registry_version", "long", "the registry commits, counted from 1"),
        Column("id", "string", "the query's id, verbatim"),
        Column("feed", "string", "the feed it watches; of a join its lane: left~right"),
        Column("kind", "string", "crossing, match, window_join, band_join or near_join"),
        Column("version", "integer", "counts the changes of what is evaluated, from 1"),
        Column("removed", "boolean", "true: from here on it is not active"),
        Column(
            "where",
            "string",
            "the condition as written; null: lo and hi say it, or a join has none",
            True,
        ),
        Column(
            "lo",
            "array<double>",
            "begins of its boxes, box by box, axis by axis; lo <= v; empty: it is a join",
        ),
        Column("hi", "array<double>", "ends of its boxes; v < hi"),
        Column(
            "tests",
            "array<integer>",
            "what a match tests beside, four numbers each: its box (from 0), the left axis, the "
            "op (0 <, 1 <=, 2 =), the right axis; null: nothing",
            nullable=True,
        ),
        Column(
            "streams",
            "array<string>",
            "the streams it watches, of a near join those it takes of the left; null: all",
            nullable=True,
        ),
        Column("within", "long", "the t of its transitions, µs; null: it has none", nullable=True),
        Column("on_first", "string", "silent or enter"),
        Column("valid_from", "timestamp", "evaluated from here on; null: always", nullable=True),
        Column("valid_to", "timestamp", "evaluated before this; null: always", nullable=True),
        Column("owner", "string", "owner", nullable=True),
        Column("tags", "array<string>", "tags", nullable=True),
        Column("note", "string", "free text", nullable=True),
        Column("joined_on", "string", "the `on` of a window join as written", nullable=True),
        Column("window_us", "long", "its window, µs; null: it is a count", nullable=True),
        Column("window_count", "long", "its window, tuples; null: it is a time", nullable=True),
        Column("left_axis", "string", "the axis of the left feed in a band join", nullable=True),
        Column("right_axis", "string", "the axis of the right feed likewise", nullable=True),
        Column("at_least", "double", "the least left - right; null: an open end", nullable=True),
        Column("at_most", "double", "the largest left - right; null: an open end", nullable=True),
        Column(
            "streams_like",
            "array<string>",
            "shell patterns of the streams it watches, beside `streams`; null: none",
            nullable=True,
        ),
        Column(
            "region",
            "string",
            "the region that tuples must be in beside its boxes, as JSON: a Polygon or a "
            "MultiPolygon of GeoJSON, a circle or a corridor, distances in metres or units of the "
            "plane; of a window join an object of them by side; null: none",
            nullable=True,
        ),
        Column(
            "wkb",
            "binary",
            "the polygons of the region, the centre of a circle, or the line of a corridor, as WKB",
            nullable=True,
        ),
        Column(
            "region_on",
            "array<integer>",
            "the two axes that the region is on, counted from 0: longitude and latitude, or x and "
            "y; of a near join those of the left position, then of the right; null: neither",
            nullable=True,
        ),
        Column(
            "on_earth",
            "boolean",
            "whether these are degrees on the earth, not units of a plane; null likewise",
            nullable=True,
        ),
        Column("leaps", "boolean", "true: steps that leap through it are reported; null: no", True),
        Column(
            "distance",
            "double",
            "of a near join: metres, or units of the plane; null: it is none",
            nullable=True,
        ),
        Column("right_streams", "array<string>", "as `streams`, of its right side", True),
        Column("right_streams_like", "array<string>", "as `streams_like`, likewise", True),
    ),
    role="ledger",
    owner="lake",
    key=("id",),
    sorted_by=("feed", "id"),
    checks={
        "on_first_is_known": "on_first = 'silent' OR on_first = 'enter'",
        "a_version_is_positive": "version > 0",
    },
)
