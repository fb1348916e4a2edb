"""Columns in which every query is as most are: always valid, for all streams, of one box.

They are shared by all sets, so that a query added to a million copies none of them.

Law: a usual column is read-only, and the same for every set of as many queries.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from fencepost.queries.columns import NO_SHAPE
from fencepost.times import ALWAYS_FROM, ALWAYS_TO

Column = npt.NDArray[np.generic]

_EACH: Mapping[str, np.generic] = {
    "versions": np.int32(1),
    "everywhere": np.bool_(True),
    "stream_ptr": np.int64(0),
    "within": np.int64(-1),
    "enters_on_first": np.bool_(False),
    "valid_from": np.int64(ALWAYS_FROM),
    "valid_to": np.int64(ALWAYS_TO),
    "test_ptr": np.int64(0),
    "leaps": np.bool_(False),
    "shape": np.int32(NO_SHAPE),
}
"""What stands in every row of a usual column."""

COUNTED = "box_ptr"
"""The column that counts its rows: a box each."""

USUAL = (*_EACH, COUNTED)
_ROOM = 1 << 12
_columns: dict[str, Column] = {}


def usual(name: str, rows: int) -> Column:
    """Give a usual column. O(1), but for the first of so many rows."""
    known = _columns.get(name)
    if known is None or len(known) < rows:
        many = max(_ROOM, rows + rows // 4)
        known = np.arange(many) if name == COUNTED else np.full(many, _EACH[name])
        known.flags.writeable = False
        _columns[name] = known
    return known[:rows]


def is_usual(name: str, column: Column) -> bool:
    """Say whether a column is usual. O(n): (measured) all of a million queries 6 ms."""
    if column.base is not None and column.base is _columns.get(name):
        return True
    return bool((column == usual(name, len(column))).all())
