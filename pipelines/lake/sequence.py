"""The one sequence of the lake: every delivery and every registry commit takes the next number.

A number is assigned by a `planned` row of `arrivals`, by compare-and-set, before anything else is
written; later a second row gives the outcome, done or refused.

Law: numbers are assigned once and rise by one. A plan has one conclusion, however often
it is made.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.errors import LakeError
from fencepost.row_hashes import content_hash
from pipelines.lake.append import TRIES, Conflict, Unknown, append_once, committed
from pipelines.lake.evidence import Evidence
from pipelines.lake.store import Store
from schemas.arrivals import DONE, PLANNED

ARRIVALS = "arrivals"


def latest(arrivals: pa.Table) -> pa.Table:
    """Give the current row of each number: its conclusion, else its plan. In order of n."""
    concluded = pc.not_equal(arrivals["state"], PLANNED).to_numpy()
    numbers = arrivals["n"].to_numpy()
    order = np.lexsort((concluded, numbers))
    ends = np.flatnonzero(np.diff(numbers[order], append=-1))
    return arrivals.take(pa.array(order[ends]))


class Numbers:
    """The newest number that was assigned; 0: none."""

    newest = 0

    def add(self, rows: pa.Table) -> None:
        """Add rows of the ledger."""
        self.newest = max(self.newest, pc.max(rows["n"]).as_py() or 0)


def take_numbers(
    store: Store, what: str, plan: str, lane: str, make: Callable[[int], pa.Table]
) -> pa.Table:
    """Plan arrivals under the next numbers; give their rows as the ledger has them.

    `make` gets the first free number and makes the rows of `arrivals` from there on, none where
    nothing is left to plan; it is called again where another writer was first. What it reads of
    the ledger is what the number was taken from: look and number are one compare-and-set.
    """
    since = store.version(ARRIVALS)
    tried: tuple[Evidence, pa.Table] | None = None
    for _ in range(TRIES):
        at = store.version(ARRIVALS)
        if tried is not None and at > since and committed(store, ARRIVALS, tried[0], since):
            return tried[1]  # the commit was late to show itself
        planned = make(store.fold(ARRIVALS, Numbers).newest + 1)
        if planned.num_rows == 0:
            return planned
        evidence = _evidence(what, plan, lane, planned)
        tried = evidence, planned
        try:
            store.append(ARRIVALS, at, store.write(ARRIVALS, planned), evidence)
        except (Conflict, Unknown) as lost:
            if not committed(store, ARRIVALS, evidence, since):
                if isinstance(lost, Unknown) and lost.failed is not None:
                    raise lost.failed from lost
                continue
        return planned
    raise LakeError(
        f"no number could be assigned in {TRIES} attempts: each time another writer was first. "
        "Look for other programs that write to the lake."
    )


def conclude(
    store: Store, plan: str, lane: str, rows: Sequence[Mapping[str, Any]], since: int
) -> None:
    """Record once the outcome of a plan: its rows of `arrivals`, each now done or refused.

    `since` is a version of `arrivals` from before the plan.
    """
    table = store.as_table(ARRIVALS, rows)
    evidence = _evidence(DONE, plan, lane, table)
    append_once(store, ARRIVALS, evidence, lambda: store.write(ARRIVALS, table), since)


def _evidence(what: str, plan: str, lane: str, rows: pa.Table) -> Evidence:
    numbers = pc.min_max(rows["n"]).as_py()
    return Evidence(
        what, plan, lane, numbers["min"], numbers["max"], 0, rows.num_rows, content_hash(rows)
    )
