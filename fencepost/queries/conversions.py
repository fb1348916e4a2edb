"""Arrow columns as NumPy columns of what the engine counts in: doubles and µs.

Law: nothing is rounded in silence. Rows without an exact value are reported, for the caller to
refuse.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fencepost.arrays import Bools, Int64s
from fencepost.doubles import EXACT_UP_TO
from fencepost.times import PER_UNIT


def is_text(kind: pa.DataType) -> bool:
    """Say whether a type holds text, in any of Arrow's layouts."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def nulls_of(column: pa.Array) -> Bools:
    """Mark the rows that are null."""
    nulls: Bools = column.is_null().to_numpy(zero_copy_only=False)
    return nulls


def inexact(whole: npt.NDArray[np.integer]) -> Bools:
    """Mark the integers that are no double: those whose odd part has more than 53 bits."""
    wrong = np.zeros(len(whole), np.bool_)
    large = np.flatnonzero((whole > EXACT_UP_TO) | (whole < -EXACT_UP_TO))
    size = np.where(whole[large] < 0, -whole[large], whole[large]).astype(np.uint64)
    lowest = size & (~size + np.uint64(1))
    wrong[large] = size // lowest > EXACT_UP_TO
    return wrong


def microseconds(
    column: pa.Array, unit: str, begin: int, end: int, absent: int
) -> tuple[Int64s, Bools]:
    """Convert counts of a unit to µs, and mark those not in [begin, end); nulls become absent."""
    times, per = PER_UNIT[unit]
    nulls = nulls_of(column)
    if pa.types.is_unsigned_integer(column.type):
        counts = column.fill_null(0).to_numpy(zero_copy_only=False)
        counts = np.minimum(counts, np.array(2**63 - 1, np.uint64)).astype(np.int64)
    else:
        counts = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    counts = counts // per
    outside = ~nulls & ((counts < -(-begin // times)) | (counts > (end - 1) // times))
    return np.where(nulls | outside, absent, np.where(outside, 0, counts) * times), outside


def or_absent(numbers: Sequence[int | None], absent: int) -> Int64s:
    """Make a column of integers; None becomes `absent`."""
    return np.fromiter((absent if n is None else n for n in numbers), np.int64, len(numbers))
