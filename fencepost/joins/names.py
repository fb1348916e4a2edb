"""Streams and queries by their codes: their names, and the order of their names.

Law: names are in the order of their bytes in UTF-8, which is the order of their code points.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.tuples import Int64s

Codes = npt.NDArray[np.signedinteger]


def coded(names: pa.StringArray, codes: Codes) -> pa.DictionaryArray:
    """Give names by their codes; a few rows do not carry all names along."""
    if len(codes) < len(names):
        return pc.dictionary_encode(names.take(pa.array(codes)))
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32, copy=False)), names)


def ranks(names: pa.StringArray, codes: Codes) -> Int64s:
    """Rank codes by their names: O(k log k) over those that occur."""
    used, place = np.unique(codes, return_inverse=True)
    rank = np.empty(len(used), np.int64)
    rank[pc.array_sort_indices(names.take(pa.array(used))).to_numpy()] = np.arange(len(used))
    ranked: Int64s = rank[place]
    return ranked
