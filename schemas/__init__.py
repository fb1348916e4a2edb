"""The tables of the lake, one declaration each: columns with comments, constraints, layout."""

from collections.abc import Iterable

from schemas.arrivals import ARRIVALS
from schemas.dismissals import DISMISSALS
from schemas.epochs import EPOCHS
from schemas.events import events, leaps, matches, transitions
from schemas.joins import band_changes, live_windows, near_changes, pairs, set_members
from schemas.logs import pending, reorder, stream_state
from schemas.quarantine import QUARANTINE
from schemas.queries import QUERIES
from schemas.table import Column, FeedColumns, Feeds, Owner, Table, axes_only
from schemas.tuples import tuples

__all__ = [
    "FORMAT",
    "RESERVED",
    "Column",
    "FeedColumns",
    "Feeds",
    "Table",
    "all_tables",
    "axes_only",
    "logs_of",
    "written_by",
]

FORMAT = 8
"""The version of this layout; a lake of a newer one is refused.

2   matches: the table, the column `tests` of `queries`, `matched` and `choice` of `epochs`
3   joins: their four tables, what `queries` keeps of them, their counts in `epochs`, and
    `deleted` in the tables of tuples
4   dismissals: refused deliveries that somebody dismissed
5   band_changes: the column `side`
6   several tuples of a stream at one instant: their places in all tables of results and logs, and
    sequences; payload; `declared` in `arrivals` and `epochs`; `streams_like` of `queries`
7   rows of replaced epochs are removed, where up to 6 only views passed them over; buckets say
    their modulus
8   regions: five columns of `queries`; leaps: the table; near joins: near_changes, their counts in
    `epochs`, and three more columns of `queries`
"""


def all_tables(feeds: Feeds) -> dict[str, Table]:
    """Declare every table of a lake with these feeds, by name."""
    declared = (
        ARRIVALS,
        DISMISSALS,
        QUERIES,
        QUARANTINE,
        EPOCHS,
        stream_state(feeds),
        reorder(feeds),
        pending(),
        events(feeds),
        transitions(),
        matches(),
        leaps(feeds),
        pairs(feeds),
        band_changes(),
        near_changes(),
        set_members(feeds),
        live_windows(feeds),
        *(tuples(feed, own) for feed, own in feeds.items()),
    )
    return {table.name: table for table in declared}


def written_by(owner: Owner, tables: Iterable[Table]) -> list[Table]:
    """Return the tables that a lane's epochs are committed to, in the order of the commits.

    The results go first. Of the logs, the one with each stream's last tuple is declared first and
    committed last.
    """
    mine = [table for table in tables if table.owner == owner]
    return [*(table for table in mine if table.role == "found"), *logs_of(owner, mine)[::-1]]


def logs_of(owner: Owner, tables: Iterable[Table]) -> list[Table]:
    """Return the logs of a lane; the first has each stream's last tuple."""
    return [table for table in tables if table.owner == owner and table.role == "log"]


RESERVED = tuple(sorted(all_tables({})))
"""Names of tables that no feed may have."""
