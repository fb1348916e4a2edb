"""What a writer knew of a lake on a store when it ended, as one object: `_cache/pack.zip`.

It has the state of each log that the writer knew, and copies of small data files. So who comes next
reads one object instead of each commit and each small file, and asks of a table only what became of
it since.

Law: a pack that is old, torn, of another table or missing costs requests and nothing else. The
state of a table counts only if its commit is in the log, word for word, and its seal is right; a
file only if its name says so. Whoever writes the pack last wins.
"""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from deltalake import Schema
from deltalake.exceptions import DeltaError

from fencepost.errors import LakeError, StorageError, StoreUnavailable
from pipelines.lake import checksums
from pipelines.lake.checksums import is_named_by
from pipelines.lake.create import lacking, refuse_other_axes
from pipelines.lake.data_files import DataFile
from pipelines.lake.layout import CACHE
from pipelines.lake.lock import Fence
from pipelines.lake.log import Log
from pipelines.lake.snapshot import Opened, continued
from pipelines.places import Remote, read, replace
from schemas import Table

PACK = "pack.zip"
SMALL, MOST = 64 << 10, 4 << 20
"""Bytes of a file that is packed, and of all of them."""
LONGEST = 1 << 20
"""Bytes of a table's state that is packed."""

_TABLES, _FILES = "tables/", "files/"
_ODD = (ValueError, LookupError, TypeError, AttributeError, DeltaError)
_TORN = (*_ODD, zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, RuntimeError)


class Pack:
    """The pack of one lake: as it was found, and what was learned since."""

    def __init__(self, root: Remote) -> None:
        """Read nothing yet."""
        self._root = root
        self._found: dict[str, bytes] | None = None
        self._files: dict[str, bytes] = {}
        self._size = 0
        self._versions: dict[str, int] = {}

    def log(self, table: Table, table_id: str, fence: Fence, *, adds: bool) -> Log | None:
        """Begin a table's log from its state here; None where the table is to be opened instead.

        Once a request for the pack; then a listing, and a request for each commit since. `adds`:
        columns that the table lacks are wanted.
        """
        state = self._read().get(_TABLES + table.name)
        known = None if state is None else _decoded(state)
        if known is None or known.id != table_id or (adds and lacking(known.schema, table)):
            return None
        folder = self._root / table.name
        try:
            refuse_other_axes([field.name for field in known.schema.fields], table)
            found = continued(folder, table, known)
            log = None if found is None else Log(folder, table, found, fence)
        except LakeError:  # opening the table says what is wrong
            return None
        if found is None or found.id != table_id:
            return None
        self._versions[table.name] = known.version
        return log

    def content(self, folder: Remote, path: str) -> bytes:
        """Read a data file, verified; small ones are remembered. One request, or none."""
        name = f"{_FILES}{folder.name}/{path}"
        self._read()
        found = self._files.get(name)
        if found is None:
            found = checksums.content(folder, path)
            self._remember(name, found)
        return found

    def keep(self, logs: Mapping[str, Log]) -> None:
        """Write what is known by now, if it is more than was found. One request, or none."""
        if not logs:
            return
        found = self._read()
        wanted = {name: state for name, state in found.items() if name.startswith(_TABLES)}
        for name, log in logs.items():
            if self._versions.get(name) != log.version:
                wanted.pop(_TABLES + name, None)
                state = _encoded(log.state) if log.is_plain else b""
                if 0 < len(state) <= LONGEST:
                    wanted[_TABLES + name] = state
        for name in [name for name in self._files if _is_gone(name, logs)]:
            self._size -= len(self._files.pop(name))
        wanted |= self._files
        if wanted != found:
            with suppress(StorageError):  # then the next session needs more requests
                replace(self._root / CACHE / PACK, _packed(wanted))
                self._found = wanted
                self._versions |= {name: log.version for name, log in logs.items()}

    def _read(self) -> dict[str, bytes]:
        if self._found is None:
            self._found = _unpacked(self._root)
            for name, found in self._found.items():
                if name.startswith(_FILES) and is_named_by(name, found):
                    self._remember(name, found)
        return self._found

    def _remember(self, name: str, found: bytes) -> None:
        if len(found) <= SMALL and self._size + len(found) <= MOST and is_named_by(name, found):
            self._files[name] = found
            self._size += len(found)


def _is_gone(name: str, logs: Mapping[str, Log]) -> bool:
    """Say whether a table whose log is known no longer has a file."""
    table, _, path = name.removeprefix(_FILES).partition("/")
    return table in logs and path not in logs[table].files


def _unpacked(root: Remote) -> dict[str, bytes]:
    try:
        content = read(root / CACHE / PACK)
    except StoreUnavailable:
        raise
    except (FileNotFoundError, StorageError):  # none, or none that we may read
        return {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as pack:
            return {name: pack.read(name) for name in pack.namelist()}
    except _TORN:
        return {}


def _packed(content: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as pack:
        for name, each in content.items():
            how = zipfile.ZIP_DEFLATED if name.startswith(_TABLES) else zipfile.ZIP_STORED
            pack.writestr(name, each, how)
    return packed.getvalue()


def _encoded(state: Opened) -> bytes:
    fields: dict[str, Any] = {
        **vars(state),
        "schema": state.schema.to_json(),
        "partitioned_by": list(state.partitioned_by),
        "files": [file.as_json() for file in state.files],
        "newest": list(state.newest),
        "said": list(state.said.items()),
    }
    return json.dumps(fields).encode()


def _decoded(content: bytes) -> Opened | None:
    """Read a table's state; None where something else stands there."""
    try:
        return _state(json.loads(content))
    except _ODD:
        return None


def _state(fields: Mapping[str, Any]) -> Opened:
    return Opened(
        int(fields["version"]),
        int(fields["reader_version"]),
        int(fields["writer_version"]),
        str(fields["id"]),
        Schema.from_json(fields["schema"]),
        list(fields["partitioned_by"]),
        [DataFile.from_json(file) for file in fields["files"]],
        list(fields["newest"]),
        {int(version): said for version, said in fields["said"]},
    )
