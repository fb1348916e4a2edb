"""What `fencepost.toml` declares: where the lake is, how a run goes, which feeds there are.

The nearest file counts, from the working folder upward; paths in it begin at its own folder. A
variable FENCEPOST_LAKE, FENCEPOST_RUNNER, FENCEPOST_READ_PATH, FENCEPOST_CORES or FENCEPOST_MEMORY
stands over it.

Law: settings that were loaded can be worked with. Whatever is wrong is told at once, each fault
with its place, and nothing is begun.
"""

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fencepost.errors import Fault, Faults, InputError
from fencepost.queries.wording import did_you_mean, shortened
from fencepost.times import DAY, PER_UNIT, SECOND
from pipelines.lake.layout import READABLE
from pipelines.toml_section import (
    Read,
    Section,
    duration,
    flag,
    names,
    one_of,
    optional,
    text,
    told,
    whole,
)
from schemas import RESERVED, Table, all_tables

FILE = "fencepost.toml"
NOTHING_DONE = "nothing done"
FORMS = ("csv", "json", "parquet", "delta")
PARTITIONS = ("day", "hour")
RUNNERS = ("spark", "here")
READ_PATHS = ("auto", "files", "spark")
VIEWS = (
    "visits",
    "inside_now",
    "query_activity",
    "stream_activity",
    "epoch_accounting",
    "done_epochs",
    "query_versions",
)
"""Names of published views, which no feed may have either."""

RAW_PREFIX = "raw_"
"""In a SQL session the tables as they lie in the lake have names that begin so."""

KEYWORDS = ("all", "and", "between", "not", "or")
"""What no axis may be called, since `where` reads it as something else."""

NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
NAME_IN_WORDS = "a-z first, then up to 62 of a-z, 0-9 and _"
MEMORY = re.compile(r"[1-9][0-9]{0,5}[kmgt]", re.IGNORECASE)
SECTIONS = ("lake", "run", "feeds")
ENVIRONMENT = {
    "lake": {"path": "FENCEPOST_LAKE"},
    "run": {
        "runner": "FENCEPOST_RUNNER",
        "read_path": "FENCEPOST_READ_PATH",
        "cores": "FENCEPOST_CORES",
        "memory": "FENCEPOST_MEMORY",
    },
}
"""By table and key: the variable that stands over it."""

NO_ENVIRONMENT: Mapping[str, str] = {}


@dataclass(frozen=True)
class Feed:
    """A feed as declared. Times are µs.

    source             the folder that deliveries land in; of the form delta, the source table
    form               csv, json, parquet or delta; None: each file by its content
    ts_unit            what an integer time counts; None: integers are no times
    settle             how long a file must have been left alone before it is taken
    partition          hour or day: what a time partition of this feed is
    partition_in_path  whether a delivery's path says its hour or day; else its arrival does
    """

    name: str
    axes: tuple[str, ...]
    source: Path
    form: str | None = None
    stream_column: str = "stream_id"
    ts_column: str = "ts"
    ts_unit: str | None = None
    clock_column: str | None = None
    allowed_lateness: int = 0
    max_skew: int = DAY
    settle: int = 2 * SECOND
    partition: str = "day"
    partition_in_path: bool = False


@dataclass(frozen=True)
class Settings:
    """All that was declared.

    root            the lake's folder
    buckets         into how many shares the streams are parted; counts when a lake is made
    epoch_rows      at most so many rows in an epoch, a single larger delivery aside
    group           at most so many epochs are committed together
    snapshot_every  after so many epochs the whole state is written
    runner          spark, or here: in this process
    read_path       who reads the tables' files: files (PyArrow), spark, or auto
    cores, memory   what a run may use; None: what there is
    """

    file: Path | None
    root: Path
    feeds: Mapping[str, Feed]
    buckets: int = 8
    epoch_rows: int = 10_000_000
    group: int = 32
    snapshot_every: int = 50
    runner: str = "spark"
    read_path: str = "auto"
    cores: int | None = None
    memory: str | None = None

    @cached_property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """The axes of each feed."""
        return {name: feed.axes for name, feed in self.feeds.items()}

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The tables of a lake with these feeds."""
        return all_tables(self.axes)


def load(file: Path | None = None, *, lake: Path | None = None) -> Settings:
    """Read the settings; Faults tell all that is wrong with them.

    `file` is a fencepost.toml or its folder, None the nearest one. `lake` stands over every other
    word on where the lake is.
    """
    file = _nearest() if file is None else file / FILE if file.is_dir() else file
    try:
        content = file.read_bytes()
    except OSError as why:
        raise _refused(file, f"cannot be read: {why.strerror}") from None
    try:
        return understood(content.decode("utf-8-sig"), file, lake, os.environ)
    except UnicodeDecodeError as why:
        line = content[: why.start].count(b"\n") + 1
        raise _refused(file, "is not UTF-8", line=line) from None


def understood(
    text: str,
    file: Path,
    lake: Path | None = None,
    environment: Mapping[str, str] = NO_ENVIRONMENT,
) -> Settings:
    """Understand the text of a fencepost.toml, as if it stood in `file`."""
    try:
        declared = tomllib.loads(text)
    except (ValueError, RecursionError) as why:
        raise _not_toml(file, text, str(why)) from None
    reading = _Reading(file, lake, environment)
    settings = reading.settings(declared)
    if reading.faults:
        raise Faults(reading.faults, NOTHING_DONE)
    return settings


def _nearest() -> Path:
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / FILE).is_file():
            return folder / FILE
    raise InputError(
        f"there is no {FILE} in {here} or in a folder above it: `fencepost init` makes one"
    )


def _shown(file: Path) -> str:
    """Name a file as short as it can be named from here."""
    try:
        return str(file.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(file)


def _refused(file: Path, message: str, **place: Any) -> Faults:  # noqa: ANN401
    return Faults([Fault(_shown(file), message, **place)], NOTHING_DONE)


def _not_toml(file: Path, text: str, why: str) -> Faults:
    said = f"is not TOML: {why[:1].lower()}{why[1:]}"
    place = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", said, re.DOTALL)
    if place is None:  # what is missing is missing at the end
        return _refused(file, said)
    line, column = int(place[2]), int(place[3])
    given = text.split("\n")[line - 1]
    return _refused(file, place[1], line=line, column=column, text=given.rstrip("\r"))


class _Reading:
    """A fencepost.toml being read: where it stands, and what is wrong so far."""

    def __init__(self, file: Path, lake: Path | None, environment: Mapping[str, str]) -> None:
        self.source = _shown(file)
        self.file = file.parent.resolve() / file.name
        self.lake = lake
        self.environment = environment
        self.faults: list[Fault] = []

    def settings(self, declared: Mapping[str, Any]) -> Settings:
        for key in declared:
            if key not in SECTIONS:
                hint = (
                    f"the tables are [lake], [run] and [feeds.<name>].{did_you_mean(key, SECTIONS)}"
                )
                self.faults.append(Fault(self.source, f"unknown key {told(key)}", hint=hint))
        lake = self._section("lake", declared)
        run = self._section("run", declared)
        root = self._root(lake)
        settings = Settings(
            file=self.file,
            root=root,
            feeds=self._feeds(declared, root),
            buckets=lake.value("buckets", whole(1, 4096), 8),
            epoch_rows=lake.value("epoch_rows", whole(1), 10_000_000),
            group=lake.value("group", whole(1), 32),
            snapshot_every=lake.value("snapshot_every", whole(1), 50),
            runner=run.value("runner", one_of(RUNNERS), "spark"),
            read_path=run.value("read_path", one_of(READ_PATHS), "auto"),
            cores=run.value("cores", optional(whole(1)), None),
            memory=run.value("memory", optional(_memory), None),
        )
        lake.end()
        run.end()
        return settings

    def _section(self, name: str, declared: Mapping[str, Any]) -> Section:
        section = Section.of(self.source, name, declared.get(name, {}), self.faults)
        over = ENVIRONMENT.get(name, {})
        said = {key: (variable, self.environment.get(variable)) for key, variable in over.items()}
        section.over = {key: (variable, text) for key, (variable, text) in said.items() if text}
        return section

    def _root(self, section: Section) -> Path:
        if self.lake is not None:
            section.over = {"path": ("--lake", str(self.lake))}
        begin = Path.cwd() if "path" in section.over else self.file.parent
        section.given = {"path": "lake", **section.given}
        root = section.value("path", _folder(begin), begin)
        why = why_no_root(root)
        if why is not None and "path" in section.over:
            self.faults.append(Fault(section.over["path"][0], why))
        elif why is not None:
            section.fault(f"path: {why}")
        return root

    def _feeds(self, declared: Mapping[str, Any], root: Path) -> dict[str, Feed]:
        given = self._section("feeds", declared).given
        if not given and not self.faults:
            hint = 'write [feeds.<name>] and under it axes = ["..."] and source = "..."'
            self.faults.append(Fault(self.source, "no feed is declared", hint=hint))
        feeds = {name: self._feed(name, given[name]) for name in given}
        for feed in feeds.values():
            for why in _badly_placed(feed, feeds.values(), root):
                self.faults.append(Fault(self.source, f"[feeds.{feed.name}] source: {why}"))
        return feeds

    def _feed(self, name: str, given: object) -> Feed:
        section = Section.of(self.source, f"feeds.{shortened(name)}", given, self.faults)
        why = why_no_feed(name)
        if why is not None:
            section.fault(why)
        default = Feed(name, (), Path())
        like = 'name them: axes = ["price", "volume"]'
        where = "name the folder that its files land in"
        in_file = _folder(self.file.parent)
        feed = Feed(
            name=name,
            axes=section.needed("axes", names, (), like),
            source=section.needed("source", in_file, default.source, where),
            form=section.value("format", optional(one_of(FORMS)), None),
            stream_column=section.value("stream_column", text, default.stream_column),
            ts_column=section.value("ts_column", text, default.ts_column),
            ts_unit=section.value("ts_unit", optional(one_of((*PER_UNIT,))), None),
            clock_column=section.value("clock_column", optional(text), None),
            allowed_lateness=section.value("allowed_lateness", duration, 0),
            max_skew=section.value("max_skew", duration, default.max_skew),
            settle=section.value("settle", duration, default.settle),
            partition=section.value("partition", one_of(PARTITIONS), default.partition),
            partition_in_path=section.value("partition_in_path", flag, default=False),
        )
        section.end()
        for wrong in _wrong_columns(feed):
            section.fault(wrong)
        return feed


def why_no_root(root: Path) -> str | None:
    """Say why a lake cannot lie there; None where it can."""
    if READABLE.fullmatch(str(root)):
        return None
    odd = "".join(sorted(set(READABLE.sub("", str(root)))))
    return (
        f"some engines cannot read '{shortened(str(root), 200)}', a path with {odd!r}: "
        "take one of letters, digits and . _ - / only"
    )


def why_no_feed(name: str) -> str | None:
    """Say why a feed cannot be called so; None where it can."""
    if not NAME.fullmatch(name):
        return f"{told(name)} is no name of a feed: {NAME_IN_WORDS}"
    if name in RESERVED:
        return f"'{name}' is the name of a table of every lake: name the feed otherwise"
    if name in VIEWS:
        return f"'{name}' is the name of a view of every lake: name the feed otherwise"
    if name.startswith(RAW_PREFIX):
        return f"'{name}': names that begin with {RAW_PREFIX} are those of raw tables in SQL"
    return None


def why_no_axis(name: str) -> str | None:
    """Say why an axis cannot be called so; None where it can."""
    if not NAME.fullmatch(name):
        return f"{told(name)} is no name of an axis: {NAME_IN_WORDS}"
    if name in KEYWORDS:
        return f"'{name}' means something else in `where`: name the axis otherwise"
    if name.startswith("prev_"):
        return f"'{name}': what begins with prev_ are the values of the tuple before, in events"
    tables = _tables_with_column(name)
    return f"'{name}' is a column of {' and '.join(tables)} already" if tables else None


def _tables_with_column(name: str) -> list[str]:
    """List the tables with axes among their columns that have a column of this name besides."""
    tables = all_tables({"tuples": ("axis",)}).values()
    columns = {table.name: {column.name for column in table.columns} for table in tables}
    return [table for table, has in columns.items() if "axis" in has and name in has - {"axis"}]


def _wrong_columns(feed: Feed) -> Iterator[str]:
    if feed.form == "delta" and feed.partition_in_path:
        yield "partition_in_path: a version of a Delta table has no path; its arrival says which"
    for place, axis in enumerate(feed.axes):
        why = why_no_axis(axis)
        if why is not None:
            yield f"axes: {why}"
        elif axis in feed.axes[:place]:
            yield f"axes: '{axis}' stands twice"
    own = {"stream_column": feed.stream_column, "ts_column": feed.ts_column}
    own |= {} if feed.clock_column is None else {"clock_column": feed.clock_column}
    for key, column in own.items():
        also = [other for other, named in own.items() if named == column and other < key]
        also += ["axes"] if column in feed.axes else []
        if also:
            yield f"{key}: {told(column)} is in {' and '.join(also)} too; each has its own column"


def _badly_placed(feed: Feed, feeds: Iterable[Feed], root: Path) -> Iterator[str]:
    """Say which folder lies in which: deliveries of one would be taken for those of another."""
    source = feed.source
    if source == root or source.is_relative_to(root):
        yield f"{source} is the lake, or lies in it"
    elif root.is_relative_to(source):
        yield f"the lake {root} lies in {source}"
    for other in feeds:
        if other.source != source and other.source.is_relative_to(source):
            yield f"the folder of '{other.name}', {other.source}, lies in {source}"


def _folder(begin: Path) -> Read[Path]:
    """Take a path, which begins at a folder unless it is absolute."""

    def read(given: object) -> Path:
        try:
            return (begin / Path(text(given)).expanduser()).resolve()
        except (OSError, RuntimeError) as why:  # a circle of links, a home that nobody has
            raise ValueError(f"{told(given)} leads nowhere: {why}") from None

    return read


def _memory(given: object) -> str:
    if isinstance(given, str) and MEMORY.fullmatch(given):
        return given.lower()
    raise ValueError(f'{told(given)} was given, where a size like "4g" or "800m" was expected')
