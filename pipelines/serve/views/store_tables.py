"""The tables of a lake on an object store, as a DuckDB session reads them.

DuckDB's Delta reader requests each commit since the last checkpoint three times, and each data file
twice: (measured) 33 requests for a ledger of 13 commits. So the files of a small table are fetched
to this host, each once, and read from there; what is in them cannot change. A large table is
attached where it is.

Law: as on a disk: every table is pinned when the session opens, the ledgers first.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.resources import files as resources
from pathlib import Path

import duckdb

from pipelines.lake.checksums import content
from pipelines.lake.copies import copied
from pipelines.lake.data_files import DataFile
from pipelines.lake.store import Store
from pipelines.places import Remote, duckdb_secret
from pipelines.places.host import host_cache
from schemas import Table

SMALL = 64 << 20
"""Bytes up to which a table is fetched."""

AT_ONCE = 16
"""Requests under way."""


class StoredTables:
    """The tables of one lake, opened one by one for one session."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, root: Remote, store: Store) -> None:
        """Open nothing yet."""
        self._connection = connection
        self._root = root
        self._store = store
        self._content = content if store.packed is None else store.packed.content
        self._attaches = False

    def source(self, table: Table, types: Sequence[tuple[str, str]]) -> str | None:
        """Give what to select a table's rows from; None if it has none.

        `types` are the columns that name folders, each with its type.
        """
        files = self._store.files(table.name)
        if not files:
            return None
        if sum(file.size for file in files) > SMALL and self._can_attach():
            name = f"_{table.name}"
            uri = self._root / table.name
            self._connection.execute(
                f"ATTACH '{uri}' AS {name} (TYPE delta, PIN_SNAPSHOT, READ_ONLY)"
            )
            return name
        return parquet(self._fetched(table, files), types)

    @property
    def folders(self) -> list[str]:
        """The folders that the session reads."""
        return [f"{self._root}/", f"{host_cache()}/"]

    def _fetched(self, table: Table, files: Sequence[DataFile]) -> list[Path]:
        folder = self._root / table.name
        with ThreadPoolExecutor(min(AT_ONCE, len(files))) as pool:
            copy = partial(copied, folder, content=self._content)
            return list(pool.map(copy, (file.path for file in files)))

    def _can_attach(self) -> bool:
        """Let DuckDB into the store; False where its wheels know no such store."""
        if not self._attaches and self._root.base.startswith("s3://"):
            wheel = resources("duckdb_extension_httpfs") / "extensions" / f"v{duckdb.__version__}"
            self._connection.execute(f"LOAD '{wheel / 'httpfs.duckdb_extension'}'")
            self._connection.execute(duckdb_secret(self._root) or "")
            self._attaches = True
        return self._attaches


def parquet(files: Sequence[Path], types: Sequence[tuple[str, str]]) -> str:
    """Write what to select the rows of some files from; a column that a file lacks is null."""
    listed = ", ".join(f"'{path}'" for path in files)
    folders = ", ".join(f"'{name}': {kind}" for name, kind in types)
    by_folder = f", hive_types = {{{folders}}}" if folders else ""
    return (
        f"read_parquet([{listed}], union_by_name = true, "
        f"hive_partitioning = {str(bool(folders)).lower()}{by_folder})"
    )
