"""The standing queries: every version that was ever registered."""

from schemas.table import Column, Table

QUERIES = Table(
    "queries",
    "The registry, a log: one row for each change of a query. The newest row of an id tells; "
    "`removed` there means that it no longer stands.",
    (
        Column("n", "long", "its registry commit's place in the sequence: arrivals.n"),
        Column("registry_version", "long", "the registry commits, counted from 1"),
        Column("id", "string", "the query's id, verbatim"),
        Column("feed", "string", "the feed it watches"),
        Column("kind", "string", "crossing or match"),
        Column("version", "integer", "counts the changes of what is evaluated, from 1"),
        Column("removed", "boolean", "true: from here on it does not stand"),
        Column("where", "string", "the condition as written; null: lo and hi say it", True),
        Column("lo", "array<double>", "begins of its boxes, box by box, axis by axis; lo <= v"),
        Column("hi", "array<double>", "ends of its boxes; v < hi"),
        Column(
            "tests",
            "array<integer>",
            "what a match tests beside, four numbers each: its box (from 0), the left axis, the "
            "op (0 <, 1 <=, 2 =), the right axis; null: nothing",
            nullable=True,
        ),
        Column("streams", "array<string>", "the streams it watches; null: all", nullable=True),
        Column("within", "long", "the t of its transitions, µs; null: it has none", nullable=True),
        Column("on_first", "string", "silent or enter"),
        Column("valid_from", "timestamp", "evaluated from here on; null: always", nullable=True),
        Column("valid_to", "timestamp", "evaluated before this; null: always", nullable=True),
        Column("owner", "string", "whose it is", nullable=True),
        Column("tags", "array<string>", "free words", nullable=True),
        Column("note", "string", "free text", nullable=True),
    ),
    sorted_by=("feed", "id"),
    checks={
        "on_first_is_known": "on_first = 'silent' OR on_first = 'enter'",
        "a_version_is_positive": "version > 0",
    },
)
