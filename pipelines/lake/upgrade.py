"""What an older lake's tables need when the first writer of this format opens it."""

from typing import TYPE_CHECKING

from pipelines.lake.obsolete import HAVE_EPOCHS, replaced_in
from schemas.epochs import EPOCHS as LEDGER

if TYPE_CHECKING:
    from pipelines.lake.store import Store


def make_true(store: "Store") -> None:
    """Do what formats before 7 left to views: remove what was replaced; say so in comments."""
    replaced = replaced_in(store.rows(LEDGER.name))
    for name, table in store.tables.items():
        if table.role in HAVE_EPOCHS and store.log(name).is_plain:
            for rows in replaced:
                store.remove(name, rows)
        delta = store.delta(name)
        if delta.metadata().description != table.comment:
            delta.alter.set_table_description(table.comment)
