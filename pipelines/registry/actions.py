"""What `fencepost queries` does to the lake: hold it, recover it, register, say what changed.

Law: what is removed by a rule (all that a file does not name, all of an owner) is what was agreed
to, or nothing is done.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.errors import Fault, Faults, InputError
from fencepost.text import did_you_mean
from pipelines.lake.store import Store
from pipelines.project.lake import PATIENCE, open_to_write
from pipelines.project.settings import Settings
from pipelines.registry.changes import Changes, not_named, places
from pipelines.registry.commit import Registered, recover, register
from pipelines.registry.definitions import DEFINITION
from pipelines.registry.queries import standing
from pipelines.registry.text import plain

NOTHING_REMOVED = "nothing removed"
MOST_GUESSED = 10_000
"""Of more ids than these the nearest is not looked for: it would take seconds."""

Gone = Callable[[Store], pa.StringArray]
Agree = Callable[[int], None]


def take(
    settings: Settings, command: str, given: pa.Table, gone: Gone, agree: Agree | None = None
) -> Registered:
    """Register what was given and remove what `gone` names; `agree` is asked first, and raises.

    Nobody is kept waiting while it is asked.
    """
    agreed: pa.StringArray | None = None
    if agree is not None:
        agreed = gone(Store.to_read(settings.root, settings.tables))
        if len(agreed):
            agree(len(agreed))
    with open_to_write(settings, command, PATIENCE, recover=recover) as (store, _):
        ids = gone(store)
        if agreed is not None and set(ids.to_pylist()) != set(agreed.to_pylist()):
            raise InputError("the queries have changed while you were asked: nothing changed")
        return register(store, settings, Changes(given, ids), time.time_ns() // 1000)


def put(settings: Settings, command: str, given: pa.Table) -> Registered:
    """Register what was given; the others stay."""
    return take(settings, command, given, lambda _: pa.array([], pa.string()))


def replace(
    settings: Settings, command: str, given: pa.Table, feed: str | None, agree: Agree | None
) -> Registered:
    """Register what was given, and remove all else, or all else of a feed."""
    return take(
        settings, command, given, lambda store: not_named(standing(store), given, feed), agree
    )


def remove(settings: Settings, command: str, ids: Sequence[tuple[Fault, str]]) -> Registered:
    """Remove queries by their ids; the fault that comes with an id tells where it was given."""
    wanted = pa.chunked_array([pa.array([query_id for _, query_id in ids], pa.string())])
    distinct = wanted.unique()

    def gone(store: Store) -> pa.StringArray:
        there = standing(store)["id"]
        missing = pc.is_in(wanted, value_set=distinct.filter(_absent(distinct, there)))
        faults = [
            _unknown(fault, query_id, there)
            for (fault, query_id), absent in zip(ids, missing.to_pylist(), strict=True)
            if absent
        ]
        if faults:
            raise Faults(faults, NOTHING_REMOVED)
        return distinct

    return take(settings, command, DEFINITION.empty_table(), gone)


def remove_owned(settings: Settings, command: str, owner: str, agree: Agree | None) -> Registered:
    """Remove all queries of an owner."""

    def gone(store: Store) -> pa.StringArray:
        queries = standing(store)
        mine = pc.fill_null(pc.equal(queries["owner"], owner), False)
        if not pc.any(mine).as_py():
            raise InputError(f"no query is owned by '{plain(owner)}': {NOTHING_REMOVED}")
        return queries["id"].filter(mine).combine_chunks()

    return take(settings, command, DEFINITION.empty_table(), gone, agree)


def ids_in(file: Path) -> list[tuple[Fault, str]]:
    """Read ids from a file, one a line; Faults where it is no text."""
    try:
        lines = file.read_bytes().decode("utf-8-sig").split("\n")
    except OSError as why:
        raise Faults(
            [Fault(str(file), f"cannot be read: {why.strerror}")], NOTHING_REMOVED
        ) from None
    except UnicodeDecodeError:
        raise Faults([Fault(str(file), "is not UTF-8")], NOTHING_REMOVED) from None
    ids = [(Fault(str(file), "", place), line.rstrip("\r")) for place, line in enumerate(lines, 1)]
    return [(fault, query_id) for fault, query_id in ids if query_id]


def unknown_id(query_id: str, there: pa.ChunkedArray) -> str:
    """Say that no query has this id, and which id is near."""
    near = did_you_mean(query_id, there.to_pylist()) if len(there) <= MOST_GUESSED else ""
    return f"no query '{plain(query_id)}' stands.{plain(near)}"


def _absent(ids: pa.StringArray, there: pa.ChunkedArray) -> pa.BooleanArray:
    return pa.array(places(pa.chunked_array([ids]), there) < 0)


def _unknown(fault: Fault, query_id: str, there: pa.ChunkedArray) -> Fault:
    return Fault(fault.source, unknown_id(query_id, there), fault.line)
