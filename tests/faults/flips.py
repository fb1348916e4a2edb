"""One bit of one byte of a lake's files flipped, and what comes of it.

Law: whoever reads gets the rows that were written, or an error that names what is damaged.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.errors import FencepostError
from pipelines.lake.data_files import DataFile
from pipelines.lake.store import Store
from pipelines.project.settings import Settings, load

LOCKS = ("_lock", "_lock.json")
"""For people and courtesy: nothing of them is ever a row."""


@dataclass(frozen=True)
class Flip:
    """A bit of a file below a project."""

    path: str
    at: int
    bit: int

    @contextmanager
    def done(self, project: Path) -> Iterator[None]:
        """Flip it for a while; the files are as they were before, afterwards."""
        file = project / self.path
        content = file.read_bytes()
        damaged = bytearray(content)
        damaged[self.at] ^= 1 << self.bit
        put(file, bytes(damaged))
        try:
            yield
        finally:
            put(file, content)


def put(file: Path, content: bytes) -> None:
    """Replace a file, which may be mapped."""
    aside = file.with_name(f".{file.name}.flip")
    aside.write_bytes(content)
    aside.replace(file)


def drawn(project: Path, many: int, seed: int, ending: str = "") -> list[Flip]:
    """Draw flips in the files of a lake whose names end so; each file is as likely as any other."""
    draw = random.Random(seed)  # noqa: S311  the same each time
    files = [
        path
        for path in sorted((project / "lake").rglob("*"))
        if path.is_file()
        and path.name not in LOCKS
        and path.name.endswith(ending)
        and path.stat().st_size
    ]
    chosen = [draw.choice(files) for _ in range(many)]
    return [
        Flip(str(path.relative_to(project)), draw.randrange(path.stat().st_size), draw.randrange(8))
        for path in chosen
    ]


def read(project: Path) -> dict[str, Any]:
    """Read all that a run reads: every table's rows, and which of its files may hold what."""
    settings = load(project)
    store = Store.to_read(settings.root, settings.tables)
    rows = {name: store.rows(name) for name in store.tables}
    return {
        "rows": {name: sorted(map(repr, table.to_pylist())) for name, table in rows.items()},
        "files": {name: sorted(map(_known, store.files(name))) for name in store.tables},
    }


def _known(file: DataFile) -> str:
    bounds = [(file.least(name), file.most(name)) for name in ("arrival", "epoch", "n", "lane")]
    return repr((file.path, file.size, file.rows, sorted(file.partition.items()), bounds))


def outcome(project: Path, flip: Flip, wanted: dict[str, Any]) -> str:
    """Say what a reader gets: `named`, `equal`, or `wrong`."""
    with flip.done(project):
        try:
            return "equal" if read(project) == wanted else "wrong"
        except FencepostError:
            return "named"


def active_data(settings: Settings) -> set[str]:
    """Name the data files that the tables consist of, below the project."""
    store = Store.to_read(settings.root, settings.tables)
    return {f"lake/{name}/{file.path}" for name in store.tables for file in store.files(name)}
