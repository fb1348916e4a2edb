"""The folder of the results: all its files are written, or none.

Law: under its own name there is never half a file, and what fails leaves the folder unchanged.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa

from fencepost.errors import Fault, Faults
from pipelines.disk.atomic import replacing
from pipelines.disk.errors import naming, refuse_failing
from pipelines.files.write.form import OutForm
from pipelines.files.write.text import csv_pieces, json_pieces
from pipelines.progress import Progress, no_progress


class OutFolder:
    """Where results go: checked before the work begins, made when it is done."""

    def __init__(self, folder: Path, form: OutForm, names: Sequence[str]) -> None:
        """Name the files; nothing is touched."""
        self.folder = folder
        self.form = form
        self.targets = {name: folder / f"{name}.{form}" for name in names}

    def faults(self, inputs: Sequence[Path]) -> list[Fault]:
        """List what prevents writing, as far as that can be seen without trying."""
        above = next(p for p in (self.folder, *self.folder.absolute().parents) if p.exists())
        if not above.is_dir():
            return [self._fault(f"{above} is a file, where a folder was expected")]
        if not os.access(above, os.W_OK | os.X_OK):
            return [self._fault(f"nothing can be written to {above}: permission denied")]
        faults = [
            self._fault(f"{target} is a folder, where a file is to be written")
            for target in self.targets.values()
            if target.is_dir()
        ]
        read = {path.resolve() for path in inputs}
        faults += [
            self._fault(f"{target} is among the files to be read, and would be written over")
            for target in self.targets.values()
            if target.resolve() in read
        ]
        return faults

    def write(self, tables: Mapping[str, pa.Table], progress: Progress = no_progress) -> None:
        """Write all the tables, and only then give them their names."""
        try:
            with _made(self.folder), replacing(*self.targets.values()) as passing:
                places = zip(self.targets.items(), passing, strict=True)
                for place, ((name, target), path) in enumerate(places):
                    progress(f"writing {target}", place / len(self.targets))
                    with naming(path):
                        write_table(tables[name], path, self.form)
        except OSError as failure:
            refuse_failing(failure, self.folder)
            why = failure.strerror or str(failure).splitlines()[0]
            raise Faults([self._fault(f"cannot be written: {why}")], "nothing written") from None

    def _fault(self, message: str) -> Fault:
        return Fault(f"--out {self.folder}", message)


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Make a folder and those above it; take them away again if what goes into it fails."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for path in missing:
            with suppress(OSError):
                path.rmdir()
        raise


def write_table(table: pa.Table, path: Path, form: OutForm) -> None:
    """Write one file."""
    if form is OutForm.PARQUET:
        from pyarrow import parquet

        # Without Arrow's own schema text is text to every reader, coded or not.
        parquet.write_table(table, path, store_schema=False)
        return
    with path.open("xb") as file:
        file.writelines(csv_pieces(table) if form is OutForm.CSV else json_pieces(table))
