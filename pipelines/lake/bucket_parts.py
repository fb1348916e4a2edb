"""Rows by the bucket of their stream: each bucket's rows carry the ids of its own streams alone.

To read a dictionary costs 55 ns an id, so no file has the ids of other buckets.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Codes, Int32s
from pipelines.lake.buckets import bucket_of, residues_of

UInt16s = npt.NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class PartedStreams:
    """The ids of streams by bucket.

    residue   that of each id, as its bucket is named by `modulus`
    own_code  its place among those of its bucket
    own       the ids of each bucket
    """

    names: pa.StringArray
    modulus: int
    residue: UInt16s
    own_code: Int32s
    own: Sequence[pa.StringArray]

    @classmethod
    def of(cls, names: pa.StringArray, modulus: int) -> Self:
        """Part ids, in O(bytes)."""
        residue = residues_of(names, modulus).astype(np.uint16)
        order = np.argsort(residue, kind="stable")
        ends = np.cumsum(np.bincount(residue, minlength=modulus))
        begins = np.append(0, ends[:-1])
        own_code = np.empty(len(names), np.int32)
        own_code[order] = np.arange(len(names)) - begins[residue[order]]
        parted = names.take(pa.array(order))
        own = [parted.slice(a, b - a) for a, b in zip(begins.tolist(), ends.tolist(), strict=True)]
        return cls(names, modulus, residue, own_code, own)

    def parts(self, rows: pa.Table, codes: Codes) -> Iterator[tuple[int, pa.Table]]:
        """Give each bucket that has rows, and these, in the order in which they were. O(n).

        `codes` says whose a row is; the parts have it coded, as `stream_id`.
        """
        residue = self.residue[codes]
        order = np.argsort(residue, kind="stable")
        ends = np.cumsum(np.bincount(residue, minlength=self.modulus)).tolist()
        place = rows.column_names.index("stream_id")
        others = pc.take(rows.remove_column(place), pa.array(order), boundscheck=False)
        own_codes = self.own_code[codes[order]]
        for each, (begin, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            if begin < end:
                code = pa.array(own_codes[begin:end])
                ids = pa.DictionaryArray.from_arrays(code, self.own[each])
                part = others.slice(begin, end - begin)
                yield bucket_of(self.modulus, each), part.add_column(place, "stream_id", ids)
