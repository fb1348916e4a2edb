"""The tables of the lake, one declaration each: columns with comments, constraints, layout."""

from collections.abc import Mapping

from schemas.arrivals import ARRIVALS
from schemas.dismissals import DISMISSALS
from schemas.epochs import EPOCHS
from schemas.events import events, matches, transitions
from schemas.joins import band_changes, live_windows, pairs, set_members
from schemas.logs import pending, reorder, stream_state
from schemas.quarantine import QUARANTINE
from schemas.queries import QUERIES
from schemas.table import Column, Table
from schemas.tuples import tuples

__all__ = ["FORMAT", "RESERVED", "Column", "Table", "all_tables"]

FORMAT = 4
"""The version of this layout; a lake of a newer one is refused.

2   matches: the table, the column `tests` of `queries`, `matched` and `choice` of `epochs`
3   joins: their four tables, what `queries` keeps of them, their counts in `epochs`, and
    `deleted` in the tables of tuples
4   dismissals: refused deliveries that somebody dismissed
"""

RESERVED = (
    "arrivals",
    "band_changes",
    "dismissals",
    "epochs",
    "events",
    "live_windows",
    "matches",
    "pairs",
    "pending",
    "quarantine",
    "queries",
    "reorder",
    "set_members",
    "stream_state",
    "transitions",
)
"""Names of tables that no feed may have."""


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
        live_windows(axes),
        set_members(axes),
        *(tuples(feed, own) for feed, own in axes.items()),
    )
    return {table.name: table for table in declared}
