"""A log read as of an epoch: of each key the newest row that counts.

A row counts if its generation is in force for its epoch, and its epoch is not after the requested
one. The rows of the last snapshot and of the epochs after it suffice.

Law: what is read as of an epoch never changes, whatever is written later.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrow import codes_of
from fencepost.tuples import Bools, Int64s
from pipelines.lake.data_files import DataFile
from schemas.logs import NTH

Era = tuple[int, int, int]
"""A generation, and the first and last epoch for which it is in force."""


@dataclass(frozen=True)
class AsOf:
    """The point at which logs are read.

    eras      the generations in force, up to the requested epoch
    snapshot  the last snapshot at or before it; 0: there is none
    """

    eras: tuple[Era, ...]
    snapshot: int

    @property
    def epoch(self) -> int:
        """The last epoch that counts; 0: none does."""
        return self.eras[-1][2] if self.eras else 0

    def may_count(self, file: DataFile) -> bool:
        """Say whether a file may hold rows that count, by its statistics."""
        least, most = file.least("epoch"), file.most("epoch")
        if least is None or most is None:
            return True
        return int(least) <= self.epoch and int(most) >= self.snapshot

    def counting(self, rows: pa.Table) -> pa.Table:
        """Keep the rows that count. O(rows)."""
        if rows.num_rows == 0:
            return rows
        epoch = rows["epoch"].to_numpy()
        generation = rows["generation"].to_numpy()
        whole = rows["snapshot"].to_numpy(zero_copy_only=False).astype(np.bool_)
        counts = np.where(whole, epoch == self.snapshot, epoch > self.snapshot)
        counts &= self._in_force(epoch, generation)
        return rows if counts.all() else rows.filter(pa.array(counts))

    def _in_force(self, epoch: Int64s, generation: Int64s) -> Bools:
        force = np.zeros(len(epoch), np.bool_)
        for era, first, last in self.eras:
            force |= (generation == era) & (epoch >= first) & (epoch <= last)
        return force

    def as_json(self) -> dict[str, Any]:
        """Encode it for a task."""
        return {"eras": [list(era) for era in self.eras], "snapshot": self.snapshot}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "AsOf":
        """Decode it."""
        return cls(tuple((g, a, b) for g, a, b in fields["eras"]), fields["snapshot"])


def newest(rows: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Keep the newest row of each key, unless it says that the key is gone. O(n log n)."""
    if rows.num_rows and pc.min_max(rows["epoch"]).as_py() != _one(rows):
        code = np.zeros(rows.num_rows, np.int64)
        for key in keys:
            mine = codes_of(rows[key].fill_null(0) if key == NTH.name else rows[key])
            code = code * (int(mine.max(initial=0)) + 1) + mine
        order = np.argsort(rows["epoch"].to_numpy(), kind="stable")
        _, back = np.unique(code[order][::-1], return_index=True)
        rows = rows.take(pa.array(np.sort(order[::-1][back])))
    if "gone" in rows.column_names:
        rows = rows.filter(pc.invert(rows["gone"]))
    return rows


def _one(rows: pa.Table) -> dict[str, int]:
    first = rows["epoch"][0].as_py()
    return {"min": first, "max": first}
