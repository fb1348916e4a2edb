"""The tables of the lake, one declaration each: columns with comments, constraints, layout."""

from collections.abc import Iterable, Mapping

from schemas.arrivals import ARRIVALS
from schemas.dismissals import DISMISSALS
from schemas.epochs import EPOCHS
from schemas.events import events, matches, transitions
from schemas.joins import band_changes, live_windows, pairs, set_members
from schemas.logs import pending, reorder, stream_state
from schemas.quarantine import QUARANTINE
from schemas.queries import QUERIES
from schemas.table import Column, Owner, Table
from schemas.tuples import tuples

__all__ = ["FORMAT", "RESERVED", "Column", "Table", "all_tables", "logs_of", "written_by"]

FORMAT = 5
"""The version of this layout; a lake of a newer one is refused.

2   matches: the table, the column `tests` of `queries`, `matched` and `choice` of `epochs`
3   joins: their four tables, what `queries` keeps of them, their counts in `epochs`, and
    `deleted` in the tables of tuples
4   dismissals: refused deliveries that somebody dismissed
5   band_changes: the column `side`
"""


def all_tables(axes: Mapping[str, tuple[str, ...]]) -> dict[str, Table]:
    """Declare every table of a lake with these feeds, by name."""
    declared = (
        ARRIVALS,
        DISMISSALS,
        QUERIES,
        QUARANTINE,
        EPOCHS,
        stream_state(axes),
        reorder(axes),
        pending(),
        events(axes),
        transitions(),
        matches(),
        pairs(axes),
        band_changes(),
        set_members(axes),
        live_windows(axes),
        *(tuples(feed, own) for feed, own in axes.items()),
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
