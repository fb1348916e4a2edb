"""The active queries, and all versions so far.

Law: a row of the registry counts when its commit is done. A version is active from the first row
that names it to the next commit that removes or changes the query; later rows of the same version
are edits of what is not evaluated.
"""

# ruff: noqa: S608  a view's text is built from declared names alone

import schemas
from pipelines.serve.views.view import View, select_list, without
from schemas import Column

DONE_COMMITS = "SELECT c.n FROM raw_arrivals c WHERE c.kind = 'registry' AND c.state = 'done'"

_COLUMNS = without(schemas.all_tables({})["queries"].columns, "removed")
_CONTENT = without(_COLUMNS, "n", "registry_version")

QUERIES = View(
    "queries",
    "The active queries, as of the newest registry version.",
    _COLUMNS,
    f"""SELECT {select_list("q", _COLUMNS)} FROM (
    SELECT r.*, ROW_NUMBER() OVER (PARTITION BY r.id ORDER BY r.n DESC) AS nth
    FROM raw_queries r WHERE r.n IN ({DONE_COMMITS})
) q WHERE q.nth = 1 AND NOT q.removed""",
)

QUERY_VERSIONS = View(
    "query_versions",
    "Every version of every query, from when and until when it was active.",
    (
        *_CONTENT,
        Column("n", "long", "the registry commit that added it: arrivals.n"),
        Column("registry_version", "long", "the first registry version with it"),
        Column("until_n", "long", "the commit that ended it; null: active", nullable=True),
        Column(
            "until_registry_version", "long", "the first registry version without it", nullable=True
        ),
        Column("ended_by", "string", "removal or change; null: active", nullable=True),
    ),
    f"""WITH ordered AS (
    SELECT r.id, r.version, r.removed, r.n, r.registry_version,
        LEAD(r.n) OVER w AS next_n,
        LEAD(r.registry_version) OVER w AS next_registry_version,
        LEAD(r.version) OVER w AS next_version,
        LEAD(r.removed) OVER w AS next_removed
    FROM raw_queries r WHERE r.n IN ({DONE_COMMITS})
    WINDOW w AS (PARTITION BY r.id ORDER BY r.n)
), lives AS (
    SELECT o.id, o.version, MIN(o.n) AS n, MAX(o.n) AS newest_n,
        MIN(o.registry_version) AS registry_version,
        MAX(CASE WHEN o.next_removed OR o.next_version > o.version THEN o.next_n END) AS until_n,
        MAX(CASE WHEN o.next_removed OR o.next_version > o.version
            THEN o.next_registry_version END) AS until_registry_version,
        MAX(CASE WHEN o.next_removed THEN 'removal'
            WHEN o.next_version > o.version THEN 'change' END) AS ended_by
    FROM ordered o WHERE NOT o.removed GROUP BY o.id, o.version
)
SELECT {select_list("q", _CONTENT)}, v.n, v.registry_version, v.until_n,
    v.until_registry_version, v.ended_by
FROM lives v JOIN raw_queries q ON q.id = v.id AND q.n = v.newest_n""",
)
