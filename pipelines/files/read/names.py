"""Columns by the names that a feed declares, however a file spells them.

An axis is `open` in rules and tables, where a file may say `Open` or `OPEN`.

Law: a column of exactly the declared name is that column. Where there is none, the only one that
has the same letters and digits is, unless another name means it; of two such, neither.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pipelines.files.read.declaration import Declared
from pipelines.files.read.records import RawRows

_OTHER = re.compile(r"[\W_]+")


def spelling_of(declared: Declared, columns: Sequence[str]) -> dict[str, str]:
    """Give the names of a file, by those declared, where the two differ."""
    axes = () if declared.wide else declared.axes or ()
    wanted = dict.fromkeys((*declared.own, *axes))
    missing = [name for name in wanted if name not in columns]
    if not missing:
        return {}
    alike: dict[str, list[str]] = {}
    for column in columns:
        if column not in wanted:
            alike.setdefault(_plain(column), []).append(column)
    found = {name: alike.get(_plain(name), []) for name in missing}
    return {name: names[0] for name, names in found.items() if len(names) == 1}


def _plain(name: str) -> str:
    """Leave letters and digits, small and without accents."""
    parts = unicodedata.normalize("NFKD", name)
    return _OTHER.sub("", "".join(c for c in parts if not unicodedata.combining(c))).casefold()


def respelt(declared: Declared, names: Mapping[str, str]) -> Declared:
    """Put other names in the place of those declared."""
    if not names:
        return declared

    def of(name: str) -> str:
        return names.get(name, name)

    times = declared.ts
    return replace(
        declared,
        axes=None if declared.axes is None else tuple(map(of, declared.axes)),
        clock=None if declared.clock is None else of(declared.clock),
        stream_id=of(declared.stream_id),
        ts=of(times) if isinstance(times, str) else (of(times[0]), of(times[1])),
        deleted=None if declared.deleted is None else of(declared.deleted),
        payload=tuple((of(name), kind) for name, kind in declared.payload),
        sequence=None if declared.sequence is None else of(declared.sequence),
    )


def as_spelt(declared: Declared, columns: Sequence[str]) -> Declared:
    """Declare what a file with these columns has, by its own names."""
    return respelt(declared, spelling_of(declared, columns))


def renamed(rows: RawRows, names: Mapping[str, str]) -> RawRows:
    """Give the cells of a file under other names."""
    if not names:
        return rows
    return replace(
        rows,
        cells={names.get(name, name): cells for name, cells in rows.cells.items()},
        refused={names.get(name, name): faults for name, faults in rows.refused.items()},
        unlike=None if rows.unlike is None else renamed(rows.unlike, names),
    )
