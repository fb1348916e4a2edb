"""A ledger that forgot: rows in the tables of a plan that `epochs` does not know.

A ledger that was emptied or restored to an older version would have its epochs planned and
committed again, beside the existing rows. So before a plan is written, the commits since the last
one are checked: each must be of a plan that the ledger knows. That is a commit or two a table,
and for an idle lane as many as the log keeps. A commit is cleaned away only when no open
plan needs it (`keep_history`), so a missing one is no fault; what it would have shown is not seen.
"""

from collections.abc import Mapping, Sequence

from fencepost.errors import LakeError
from pipelines.lake.store import Store
from pipelines.planning.chain import EPOCHS, Chain
from schemas import Table

NO_PLAN = -1


def refuse_lost_plans(
    store: Store, chain: Chain, targets: Sequence[Table], bases: Mapping[str, int]
) -> None:
    """Refuse to plan where a table holds rows of a plan of the lane that its ledger lacks.

    `bases` are the versions that the ledger was read at: if it has moved on since, another writer
    is at work, and the plan that is about to be made will not be committed.
    """
    last = chain.epochs[-1] if chain.epochs else None
    for name in (table.name for table in targets):
        since = NO_PLAN if last is None else last.bases.get(name, NO_PLAN)
        for said in store.evidence(name, store.kept_since(name, since)):
            if (said.what, said.lane) != ("evaluate", chain.lane):
                continue
            if (last is not None and said.plan == last.plan) or said.plan in _known(store):
                continue
            if store.version(EPOCHS) != bases[EPOCHS]:
                return
            raise LakeError(
                f"the table '{name}' holds rows of epochs {said.first}–{said.last} of "
                f"'{chain.lane}', and the ledger 'epochs' knows nothing of them: it was emptied or "
                "restored to an older version. Nothing was written. Restore the whole lake from "
                "one copy, or make a new one from the landing files"
            )


def _known(store: Store) -> set[str]:
    return {row["plan"] for row in store.rows(EPOCHS).to_pylist()}
