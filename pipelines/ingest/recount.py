"""What a delivery brought, counted in the tables themselves: for when its files are gone.

Law: what a commit's evidence names is counted from the table itself.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.times import to_microseconds
from pipelines.ingest.deliveries import Outcome
from pipelines.lake.data_files import DataFile
from pipelines.lake.store import Store

QUARANTINE = "quarantine"


def counted(store: Store, feed: str, n: int) -> Outcome:
    """Count a delivery's rows; reads only files that can hold some."""
    ts = _read(store, store.files(feed), feed, ["arrival", "ts"], n)["ts"]
    files = _aside(store, feed)
    aside = _ingested(_read(store, files, QUARANTINE, ["arrival", "reason", "epoch"], n))
    counts = {row["values"]: row["counts"] for row in pc.value_counts(aside["reason"]).to_pylist()}
    malformed, future = counts.get("malformed", 0), counts.get("future", 0)
    rows = len(ts) + malformed + future
    return Outcome(n, rows, len(ts), malformed, future, to_microseconds(pc.max(ts).as_py()))


def quarantined(store: Store, feed: str, reasons: Sequence[str]) -> pa.Table:
    """Give the places of rows that ingest quarantined for these reasons: arrival, file, line."""
    columns = ["arrival", "file", "line", "reason", "epoch"]
    rows = _ingested(_read(store, _aside(store, feed), QUARANTINE, columns))
    return rows.filter(pc.is_in(rows["reason"], value_set=pa.array(reasons, pa.string())))


def _aside(store: Store, feed: str) -> list[DataFile]:
    return [file for file in store.files(QUARANTINE) if file.partition.get("feed") == feed]


def _ingested(rows: pa.Table) -> pa.Table:
    """Drop the rows that evaluation rejected."""
    return rows.filter(pc.is_null(rows["epoch"]))


def _read(
    store: Store, files: Sequence[DataFile], table: str, columns: list[str], n: int | None = None
) -> pa.Table:
    """Read columns of a table's files; only those of one arrival, if named."""
    schema = store.tables[table].arrow
    wanted = pa.schema([schema.field(column) for column in columns])
    parts = [wanted.empty_table()]
    for file in files:
        least, most = file.least("arrival"), file.most("arrival")
        if n is not None and least is not None and not least <= n <= most:
            continue
        rows = store.columns_of(table, file, wanted)
        parts.append(rows if n is None else rows.filter(pc.equal(rows["arrival"], n)))
    return pa.concat_tables(parts)
