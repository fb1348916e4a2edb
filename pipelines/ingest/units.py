"""How the work of a plan is cut: small deliveries share a unit, a large one has several.

A unit is what one task reads and writes. The data files of a unit hold its rows only, and a unit of
a large delivery only that delivery's: so a delivery that turns out unreadable is refused whole, and
no row of another with it.

Law: how deliveries are cut changes which files the rows are in, never which rows there are.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from pyarrow.parquet import FileMetaData

from pipelines.files.read.content import LineSpan
from pipelines.files.read.delivery import FileStretch
from pipelines.ingest.deliveries import Planned, Runs
from pipelines.ingest.line_spans import line_spans
from pipelines.ingest.record import feed_of
from pipelines.ingest.row_groups import metadata_of
from pipelines.places import Place
from pipelines.project.form import declared_by
from pipelines.project.settings import Feed

SMALL = 32 << 20
"""Bytes up to which a delivery shares a unit with others; a unit of them holds no more."""
LEAST, MOST = 32 << 20, 256 << 20
"""Bytes of a unit of a large delivery, as far as its files can be parted."""
LEAST_SHARED = 1 << 20

T = TypeVar("T")


@dataclass(frozen=True)
class FilePart:
    """What is to be read of one file.

    place   its place among the delivery's files
    size, mtime  as it was when found; mtime None: not compared
    groups  first row group and the one after the last, of a Parquet file; None: all
    span    some lines of a file of lines: first byte, the one after the last, first line; None: all
    lines   the rows to take, in runs; None: all
    fixed   columns whose text is outside the file, as in a Delta table's log
    columns those of the file's table: one that the file lacks is null
    """

    place: int
    path: str
    size: int
    mtime: int | None
    groups: tuple[int, int] | None = None
    lines: Runs | None = None
    fixed: Mapping[str, str | None] | None = None
    columns: tuple[str, ...] = ()
    span: LineSpan | None = None

    @property
    def stretch(self) -> FileStretch:
        """What is to be read of it, as its reader takes it."""
        return self.span if self.groups is None else range(*self.groups)


@dataclass(frozen=True)
class DeliveryPart:
    """A delivery, or what one unit reads of it."""

    n: int
    found_at: int
    files: tuple[FilePart, ...]


@dataclass(frozen=True)
class ReadUnit:
    """The work of one task. `shared`: its parts are whole deliveries, each loaded or refused."""

    root: str
    feed: Feed
    buckets: int
    shared: bool
    parts: tuple[DeliveryPart, ...]

    def to_json(self) -> str:
        """Encode it as a task."""
        feed = {**asdict(self.feed), "source": str(self.feed.source)}
        return json.dumps({**asdict(self), "feed": feed})

    @classmethod
    def from_json(cls, text: str) -> "ReadUnit":
        """Decode it."""
        fields = json.loads(text)
        fields["feed"] = feed_of(fields["feed"])
        fields["parts"] = tuple(_part(part) for part in fields["parts"])
        return cls(**fields)


def _part(fields: Mapping[str, Any]) -> DeliveryPart:
    files = [
        FilePart(
            **{
                **file,
                "groups": None if file["groups"] is None else tuple(file["groups"]),
                "columns": tuple(file["columns"]),
                "span": None if file["span"] is None else LineSpan(*file["span"]),
            }
        )
        for file in fields["files"]
    ]
    return DeliveryPart(fields["n"], fields["found_at"], tuple(files))


@dataclass(frozen=True)
class ReadJob:
    """A planned delivery with its files as they are now."""

    delivery: Planned
    files: tuple[FilePart, ...]

    @property
    def size(self) -> int:
        """Its bytes."""
        return sum(file.size for file in self.files)

    def part(self, files: Sequence[FilePart]) -> DeliveryPart:
        """Give all that is to be read of it, or a part of that."""
        return DeliveryPart(self.delivery.n, self.delivery.found_at, tuple(files))


def cut(
    root: Place, feed: Feed, buckets: int, jobs: Sequence[ReadJob], slots: int
) -> list[ReadUnit]:
    """Cut one feed's deliveries into units for this many parallel tasks."""
    small = [(job, job.size) for job in jobs if job.size <= SMALL]
    large = [job for job in jobs if job.size > SMALL]
    most = _between(-(-sum(size for _, size in small) // slots), LEAST_SHARED, SMALL)
    parts = [tuple(job.part(job.files) for job in some) for some in filled(small, most)]
    units = [ReadUnit(str(root), feed, buckets, shared=True, parts=some) for some in parts]
    for job in large:
        runs = slots * -(-job.size // (slots * MOST))
        most = _between(-(-job.size // runs), LEAST, MOST)
        pieces = [piece for file in job.files for piece in _pieces(feed, file, most)]
        units += [
            ReadUnit(str(root), feed, buckets, shared=False, parts=(job.part(some),))
            for some in filled(pieces, most)
        ]
    return units


def _between(value: int, least: int, most: int) -> int:
    return max(least, min(value, most))


def filled(sized: Sequence[tuple[T, int]], most: int) -> list[list[T]]:
    """Split things into even runs of about so many bytes at most; each goes where its middle is."""
    total = sum(size for _, size in sized)
    share = max(total, 1) / max(-(-total // most), 1)
    runs: dict[int, list[T]] = {}
    before = 0
    for thing, size in sized:
        runs.setdefault(int((before + size / 2) / share), []).append(thing)
        before += size
    return list(runs.values())


def _pieces(feed: Feed, file: FilePart, most: int) -> list[tuple[FilePart, int]]:
    """Split a large file, Parquet by its row groups, others where lines end; each with its bytes.

    What cannot be split is one piece: what is packed, or has records of several lines.
    """
    if file.size <= most // 2:
        return [(file, file.size)]
    if feed.form in ("csv", "json"):
        return _by_lines(feed, file, most)
    metadata = metadata_of(feed.source / file.path, file.size)
    if metadata is None:
        return _by_lines(feed, file, most)
    groups = _groups(metadata)
    if file.lines is not None:
        groups = [group for group in groups if group.has_any(file.lines)]
    if not groups:
        return [(file, file.size)]
    runs = filled([(group, group.size) for group in groups], most)
    return [
        (
            replace(file, groups=(run[0].place, run[-1].place + 1)),
            sum(group.size for group in run),
        )
        for run in runs
    ]


def _by_lines(feed: Feed, file: FilePart, most: int) -> list[tuple[FilePart, int]]:
    spans = line_spans(feed.source / file.path, declared_by(feed), most)
    found = [(replace(file, span=span), span.end - span.begin) for span in spans]
    return found or [(file, file.size)]


@dataclass(frozen=True)
class _Group:
    """A row group: its place, the rows before it, its own, and its bytes."""

    place: int
    before: int
    rows: int
    size: int

    def has_any(self, lines: Runs) -> bool:
        return any(first <= self.before + self.rows and last > self.before for first, last in lines)


def _groups(metadata: FileMetaData) -> list[_Group]:
    """List a Parquet file's row groups."""
    groups, before = [], 0
    for place in range(metadata.num_row_groups):
        group = metadata.row_group(place)
        leaves = (group.column(leaf) for leaf in range(group.num_columns))
        size = sum(leaf.total_compressed_size for leaf in leaves)
        groups.append(_Group(place, before, group.num_rows, size))
        before += group.num_rows
    return groups
