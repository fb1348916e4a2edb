"""From the text of a `fencepost.toml` to settings.

The nearest file is read, from the working folder upward, unless FENCEPOST_CONFIG names another;
paths in it begin at its own folder. The variables of `keys.py` override it.

Law: loaded settings are usable. All faults are reported together, each
with its place, before any work begins.
"""

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fencepost.errors import Fault, Faults, InputError
from fencepost.lanes import sides_of
from fencepost.text import did_you_mean, shortened
from pipelines.places import Place, lies_in
from pipelines.project.settings import feed_keys, keys, spark_keys
from pipelines.project.settings.contradictions import apart
from pipelines.project.settings.feeds import read_feed
from pipelines.project.settings.model import Feed, Settings
from pipelines.project.settings.names import why_no_root
from pipelines.project.settings.section import Section
from pipelines.project.settings.values import shown

NOTHING_DONE = "nothing done"
SECTIONS = ("lake", "run", "report", "alerts", "feeds")
TABLES = "[lake], [run], [report], [alerts] and [feeds.<name>]"
NO_ENVIRONMENT: Mapping[str, str] = {}


def load(file: Path | None = None, *, lake: str | Path | None = None) -> Settings:
    """Read the settings; Faults list all that is wrong with them.

    `file` is a fencepost.toml or its folder; None is the one that FENCEPOST_CONFIG names, or the
    nearest. `lake` overrides any other setting of the lake's folder.
    """
    file = _chosen() if file is None else file
    file = file / keys.FILE if file.is_dir() else file
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
    lake: str | Path | None = None,
    environment: Mapping[str, str] = NO_ENVIRONMENT,
) -> Settings:
    """Parse the text of a fencepost.toml, as if it were in `file`."""
    try:
        declared = tomllib.loads(text)
    except (ValueError, RecursionError) as why:
        raise _not_toml(file, text, str(why)) from None
    reading = _SettingsReader(file, lake, environment)
    settings = reading.settings(declared)
    if reading.faults:
        raise Faults(reading.faults, NOTHING_DONE)
    return settings


def _chosen() -> Path:
    named = os.environ.get(keys.CONFIG)
    if named:
        return Path(named)
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / keys.FILE).is_file():
            return folder / keys.FILE
    raise InputError(
        f"there is no {keys.FILE} in {here} or in a folder above it: `fencepost init` makes one"
    )


def _shown(file: Path) -> str:
    """Name a file by its shortest path from here."""
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


class _SettingsReader:
    """A fencepost.toml being read: its position, and the faults so far."""

    def __init__(self, file: Path, lake: str | Path | None, environment: Mapping[str, str]) -> None:
        self.source = _shown(file)
        self.file = file.parent.resolve() / file.name
        self.lake = lake
        self.environment = environment
        self.faults: list[Fault] = []

    def settings(self, declared: Mapping[str, Any]) -> Settings:
        for key in declared:
            if key not in SECTIONS:
                hint = f"the tables are {TABLES}.{did_you_mean(key, SECTIONS)}"
                self.faults.append(Fault(self.source, f"unknown key {shown(key)}", hint=hint))
        lake = self._section("lake", declared)
        run = self._section("run", declared)
        report = self._section("report", declared)
        alerts = self._section("alerts", declared)
        root = self._root(lake)
        feeds = self._feeds(declared, root)
        settings = Settings(
            file=self.file,
            root=root,
            feeds=feeds,
            queries=lake.path_if_any(keys.QUERIES, self.file.parent),
            queries_id=lake.value(keys.QUERIES_ID),
            buckets=lake.value(keys.BUCKETS),
            epoch_rows=lake.value(keys.EPOCH_ROWS),
            group=lake.value(keys.GROUP),
            snapshot_every=lake.value(keys.SNAPSHOT_EVERY),
            fsync=lake.value(keys.FSYNC),
            keep_history=lake.value(keys.KEEP_HISTORY),
            joins=lake.value(keys.JOINS),
            publish=tuple(t.begun(self.file.parent) for t in lake.value(keys.PUBLISH)),
            runner=run.value(keys.RUNNER),
            read_path=run.value(keys.READ_PATH),
            cores=run.value(keys.CORES),
            memory=run.value(keys.MEMORY),
            master=run.value(spark_keys.MASTER),
            driver_host=run.value(spark_keys.DRIVER_HOST),
            spark=run.value(spark_keys.SPARK),
            reports_address=run.value(keys.REPORTS_ADDRESS),
            base=report.path_if_any(keys.BASE, self.file.parent),
            webhook=alerts.value(keys.WEBHOOK),
            command=alerts.value(keys.COMMAND),
        )
        for why in _wrong_joins(settings.joins, feeds):
            lake.wrong(keys.JOINS, why)
        lake.end()
        run.end()
        report.end()
        alerts.end()
        return settings

    def _section(self, name: str, declared: Mapping[str, Any]) -> Section:
        section = Section.of(self.source, name, declared.get(name, {}), self.faults)
        over = keys.ENVIRONMENT.get(name, {})
        said = {key: (variable, self.environment.get(variable)) for key, variable in over.items()}
        section.over = {key: (variable, text) for key, (variable, text) in said.items() if text}
        return section

    def _root(self, section: Section) -> Place:
        if self.lake is not None:
            section.over = {"path": ("--lake", str(self.lake))}
        begin = Path.cwd() if "path" in section.over else self.file.parent
        root = section.place(keys.LAKE, begin)
        why = why_no_root(root)
        if why is not None:
            section.wrong(keys.LAKE, why)
        return root

    def _feeds(self, declared: Mapping[str, Any], root: Place) -> dict[str, Feed]:
        given = self._section("feeds", declared).given
        if not given and not self.faults:
            hint = 'write [feeds.<name>] and under it axes = ["..."] and source = "..."'
            self.faults.append(Fault(self.source, "no feed is declared", hint=hint))
        feeds = {}
        for name in given:
            section = Section.of(self.source, f"feeds.{shortened(name)}", given[name], self.faults)
            feeds[name] = read_feed(section, name, self.file.parent)
        for whose, why in apart(feeds):
            self.faults.append(Fault(self.source, f"[feeds.{whose}] {why}"))
        for feed in feeds.values():
            for why in _badly_placed(feed, feeds.values(), root):
                self.faults.append(Fault(self.source, f"[feeds.{feed.name}] source: {why}"))
        return feeds


def _wrong_joins(joins: Sequence[str], feeds: Mapping[str, Feed]) -> Iterator[str]:
    for place, lane in enumerate(joins):
        sides = sides_of(lane) or ()
        unknown = [name for name in sides if name not in feeds]
        if lane in joins[:place]:
            yield f"{shown(lane)} occurs twice"
        elif unknown:
            near = did_you_mean(unknown[0], feeds)
            yield f"{shown(lane)}: no feed {shown(unknown[0])} is declared.{near}"
        else:
            why = _why_apart(*(feeds[name] for name in sides))
            yield from [] if why is None else [f"{shown(lane)}: {why}"]


def _why_apart(left: Feed, right: Feed) -> str | None:
    """Say why a Dagster job cannot have partitions of both; None if it can."""
    for key in (feed_keys.PARTITION, feed_keys.PARTITIONS_FROM, feed_keys.PARTITIONS_TO):
        has = {feed.name: getattr(feed, key.name) for feed in (left, right)}
        if has[left.name] != has[right.name]:
            said = " and ".join(
                f"{'not given' if value is None else shown(value)} with {name}"
                for name, value in has.items()
            )
            return f"{key.name} is {said}; both feeds must have the same partitions"
    return None


def _badly_placed(feed: Feed, feeds: Iterable[Feed], root: Place) -> Iterator[str]:
    """Report folders inside one another: deliveries of one would count as those of the other."""
    source = feed.source
    if lies_in(source, root):
        yield f"{source} is the lake, or lies in it"
    elif lies_in(root, source):
        yield f"the lake {root} lies in {source}"
    for other in feeds:
        if other.source != source and lies_in(other.source, source):
            yield f"the folder of '{other.name}', {other.source}, lies in {source}"
