"""What a refresh notes of a mart: the epochs that its rows count, and the files that they are in.

A note lies beside the files of its feed, in a folder that readers of Delta tables pass over. It is
written after the commit, and names what the mart then consists of.

Law: a note is believed only if the mart's files are the very ones that it names. So who is killed
between commit and note, or whose mart another program has changed, reads the view whole once more;
and a note that comes late describes files that are no longer there.
"""

# ruff: noqa: S608  statements over views and lanes that are declared

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Self

import duckdb

from pipelines.lake.data_files import DataFile
from pipelines.places import Place, listed, read, replace
from pipelines.serve.marts.content import Content, Part
from pipelines.serve.views.presence import LATENESS

NOTES = "_notes"


@dataclass(frozen=True)
class Extent:
    """What a session sees of a lane: with its rows, all that the views over it depend on.

    epoch, generation  the last epoch in force, the newest generation; 0: there is none
    epochs    a digest of all up to it: the generation and the plan of each
    ledger    how many rows tell of its deliveries and of registrations: they only become more
    lateness  by which its streams wait for clocks of their own; -1: they do not
    """

    epoch: int
    generation: int
    epochs: str
    ledger: int
    lateness: int

    @classmethod
    def of(cls, session: duckdb.DuckDBPyConnection, feed: str, upto: int | None = None) -> "Extent":
        """Ask a session, of all epochs in force or of the first ones. O(epochs), in DuckDB."""
        first = "" if upto is None else f" AND d.epoch <= {upto}"
        known = "CONCAT_WS(' ', d.epoch, d.generation, d.plan)"
        (found,) = session.execute(
            f"""SELECT COALESCE(MAX(d.epoch), 0), COALESCE(MAX(d.generation), 0),
                COALESCE(MD5(STRING_AGG({known}, ',' ORDER BY d.epoch)), ''),
                (SELECT COUNT(*) FROM raw_arrivals a
                    WHERE a.kind = 'registry' OR a.lane = '{feed}'),
                COALESCE(MAX_BY({LATENESS}, d.epoch), -1)
            FROM done_epochs d WHERE d.lane = '{feed}'{first}"""
        ).fetchall()
        return cls(*found)


@dataclass(frozen=True)
class MartNote:
    """What the rows of a feed in a mart are, as of a refresh.

    form     a digest of how they are made: the view's text, the columns
    extent   what of the lane they count
    settled  the files with rows that later epochs do not change
    open     those with the others
    hashes   of the rows of either
    """

    form: str
    extent: Extent
    settled: Sequence[str]
    open: Sequence[str]
    hashes: tuple[int, int]

    @classmethod
    def read(cls, folder: Place, feed: str) -> Self | None:
        """Read the note of a feed; None where there is none that can be read."""
        try:
            fields = json.loads(read(_path(folder, feed)))
            extent, hashes = Extent(**fields.pop("extent")), tuple(fields.pop("hashes"))
            return cls(**fields, extent=extent, hashes=hashes)
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            return None

    def write(self, folder: Place, feed: str) -> None:
        """Write it in the place of an earlier one."""
        path = _path(folder, feed)
        path.parent.mkdir(parents=True, exist_ok=True)
        replace(path, json.dumps(asdict(self)).encode())

    @classmethod
    def of(cls, content: Content, form: str, extent: Extent) -> Self:
        """Note what a mart consists of."""
        settled, still_open = content.settled, content.open
        hashes = settled.hash, still_open.hash
        return cls(form, extent, settled.paths, still_open.paths, hashes)

    def content(self, files: Sequence[DataFile]) -> Content:
        """Give what it names, of the mart's files."""
        by_path = {file.path: file for file in files}
        settled, still_open = (
            Part(tuple(by_path[path] for path in paths), of)
            for paths, of in zip((self.settled, self.open), self.hashes, strict=True)
        )
        return Content(settled, still_open)

    def names(self, files: Sequence[DataFile]) -> bool:
        """Say whether these are the files that it names."""
        return {file.path for file in files} == {*self.settled, *self.open}


def are_there(folder: Place, feed: str, files: Sequence[DataFile]) -> bool:
    """Say whether the files of a feed exist and are as long as the log says. One listing."""
    part = f"feed={feed}"
    there = {f"{part}/{entry.path}": entry.size for entry in listed(folder / part)}
    return all(there.get(file.path) == file.size for file in files)


def _path(folder: Place, feed: str) -> Place:
    return folder / NOTES / f"{feed}.json"
