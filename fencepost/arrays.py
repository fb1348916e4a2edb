"""What NumPy's arrays are called: one name for each type of cell that the engine counts in."""

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Int8s = npt.NDArray[np.int8]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
UInt64s = npt.NDArray[np.uint64]
Doubles = npt.NDArray[np.float64]
Codes = npt.NDArray[np.signedinteger]


def are_all(rows: Codes, n: int) -> bool:
    """Say whether rows are all of n, in their order: then they need not be gathered. O(rows)."""
    return len(rows) == n and np.array_equal(rows, np.arange(n))
