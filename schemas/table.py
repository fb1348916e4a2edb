"""What a table is: its columns with comments, its constraints, and the layout of its files.

Law: a table is declared once, here; all code that creates, writes, reads or documents it goes by
the declaration. Every time is UTC in microseconds, every value a finite double.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa

TIME = pa.timestamp("us", "UTC")

PAYLOAD_KINDS: Mapping[str, str] = {
    "text": "string",
    "long": "long",
    "double": "double",
    "boolean": "boolean",
    "timestamp": "timestamp",
}
"""By the kind that a feed declares a payload column of, the kind of the tables' columns."""

PAYLOAD_PREFIX = "payload_"
"""Begins the names of payload columns in the tables."""

Role = Literal["tuples", "found", "log", "ledger", "mart"]
"""What a table is for: the tuples of one feed; what epochs found; what they remember; what was
planned, done or registered; what is written down for readers without a session."""

Owner = Literal["feed", "join", "lake"]
"""Who writes it: the lane of a feed, the lane of two feeds that are joined, or no lane at all."""

KINDS: Mapping[str, pa.DataType] = {
    "string": pa.string(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "timestamp": TIME,
    "date": pa.date32(),
    "array<string>": pa.list_(pa.string()),
    "array<long>": pa.list_(pa.int64()),
    "array<integer>": pa.list_(pa.int32()),
    "array<double>": pa.list_(pa.float64()),
    "array<timestamp>": pa.list_(TIME),
}


@dataclass(frozen=True)
class Column:
    """One column; its comment is what a SQL user sees."""

    name: str
    kind: str
    comment: str
    nullable: bool = False

    @property
    def arrow(self) -> pa.Field:
        """The column as Arrow knows it."""
        return pa.field(self.name, KINDS[self.kind], self.nullable)


@dataclass(frozen=True)
class Table:
    """A table of the lake.

    key             what identifies a row within its lane; of a key of a log or a ledger the newest
                    row tells
    partitioned_by  columns that name folders; the others stand in the files
    sorted_by       the order of the rows within a file, so that row groups can be passed over
    clustered_by    what maintenance arranges the rows of all files by: a query reads few of them
    checks          SQL conditions by name that every row meets, in any engine that writes
    """

    name: str
    comment: str
    columns: tuple[Column, ...]
    role: Role
    owner: Owner
    key: tuple[str, ...]
    partitioned_by: tuple[str, ...] = ()
    sorted_by: tuple[str, ...] = ()
    clustered_by: tuple[str, ...] = ()
    checks: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def arrow(self) -> pa.Schema:
        """All columns, as Arrow knows them."""
        return pa.schema([column.arrow for column in self.columns])

    @property
    def lane_column(self) -> str | None:
        """The column that names the lane of a row; None where rows are of no lane."""
        names = [column.name for column in self.columns]
        return next((name for name in ("lane", "feed") if name in names), None)

    @cached_property
    def in_files(self) -> pa.Schema:
        """The columns that are in the files: all but those that name folders."""
        return pa.schema([f for f in self.arrow if f.name not in self.partitioned_by])


@dataclass(frozen=True)
class FeedColumns:
    """The columns that a feed declares, and that the lake's tables have because of it.

    axes      what queries are about, in their order
    payload   what travels along: name and kind of each, a kind of `PAYLOAD_KINDS`
    sequence  long or string: its tuples are ordered by a sequence column; None: by file and row
    """

    axes: tuple[str, ...]
    payload: tuple[tuple[str, str], ...] = ()
    sequence: str | None = None

    @property
    def payload_columns(self) -> tuple[str, ...]:
        """The names that its payload columns have in the tables."""
        return tuple(PAYLOAD_PREFIX + name for name, _ in self.payload)

    def as_json(self) -> dict[str, Any]:
        """Encode it for a task."""
        return {"axes": self.axes, "payload": self.payload, "sequence": self.sequence}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "FeedColumns":
        """Decode it."""
        payload = tuple((name, kind) for name, kind in fields["payload"])
        return cls(tuple(fields["axes"]), payload, fields["sequence"])


Feeds = Mapping[str, FeedColumns]
"""The columns of every feed of a lake, by the feed's name."""


def axes_only(axes: Mapping[str, tuple[str, ...]]) -> dict[str, FeedColumns]:
    """Give feeds that declare these axes and nothing besides."""
    return {feed: FeedColumns(own) for feed, own in axes.items()}


def axis_columns(feeds: Feeds, prefix: str = "") -> tuple[Column, ...]:
    """Declare the axes of all feeds, each name once; null where an event's feed has no such axis.

    `feeds` are all of the lake's.
    """
    feeds_of: dict[str, list[str]] = {}
    for feed, own in feeds.items():
        for axis in own.axes:
            feeds_of.setdefault(axis, []).append(feed)
    before = {"": "", "prev_": "the tuple before: "}.get(prefix, f"the {prefix[:-1]} tuple: ")
    return tuple(
        Column(prefix + axis, "double", f"{before}axis of {', '.join(feeds)}", nullable=True)
        for axis, feeds in feeds_of.items()
    )


def payload_columns(feeds: Feeds) -> tuple[Column, ...]:
    """Declare the payload columns of feeds, each name once: null where a row's feed has none.

    Last in a table, where one that was made before a feed declared them gets them.
    """
    kinds: dict[str, str] = {}
    feeds_of: dict[str, list[str]] = {}
    for feed, own in feeds.items():
        for name, kind in own.payload:
            kinds[name] = PAYLOAD_KINDS[kind]
            feeds_of.setdefault(name, []).append(feed)
    return tuple(
        Column(
            PAYLOAD_PREFIX + name, kinds[name], f"payload of {', '.join(of)}: {name}", nullable=True
        )
        for name, of in feeds_of.items()
    )
