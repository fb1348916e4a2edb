"""The table of the rows that an evaluation of files rejected, delivery by delivery.

Law: rows are in the order of the deliveries, and of the lines in each.
"""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from fencepost.api.tables import CODED, constant, whole
from pipelines.files.losses import Loss, by_option, kinds, loss_of
from pipelines.files.read.rows import Malformed

NAME = "quarantine"
QUARANTINE = pa.schema(
    {
        "reason": CODED,
        "detail": pa.string(),
        "source": CODED,
        "line": pa.int64(),
        "raw": pa.string(),
    }
)


@dataclass(eq=False)
class QuarantineRows:
    """The rows rejected so far, and what each delivery lost with them."""

    losses: list[Loss] = field(default_factory=list)
    _parts: list[pa.Table] = field(default_factory=list)

    def add(
        self,
        source: str,
        rows: int,
        malformed: Malformed,
        reasons: pa.StringArray,
        rejected: Malformed,
        *,
        ordered: bool = False,
    ) -> None:
        """Add the malformed rows of a delivery of so many rows, and the rejected tuples.

        `ordered`: they have a sequence, and so no need of ties.
        """
        lines = np.concatenate([malformed.line, rejected.line])
        order = pa.array(np.argsort(lines, kind="stable"))
        reason = pa.concat_arrays([pa.array(["malformed"] * len(malformed), pa.string()), reasons])
        columns = {
            "reason": reason.take(order).dictionary_encode(),
            "detail": pa.concat_arrays([malformed.detail, rejected.detail]).take(order),
            "source": constant(source, len(lines)),
            "line": pa.array(lines).take(order),
            "raw": pa.concat_arrays([malformed.raw, rejected.raw]).take(order),
        }
        if len(lines):
            self._parts.append(pa.table(columns, QUARANTINE))
            reasons = columns["reason"].cast(pa.string())
            found = kinds(reasons, columns["detail"], columns["raw"])
            idle = ("ties",) if ordered else ()
            self.losses.append(loss_of(source, rows, found, by_option(idle)))

    @property
    def table(self) -> pa.Table:
        """All rows."""
        return whole(self._parts, QUARANTINE)
