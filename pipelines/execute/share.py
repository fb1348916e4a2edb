"""The task of an epoch's job and its result: a share of a feed's streams, as lines of JSON.

It carries numbers and names of files in the lake, nothing that could be executed. The result also
says how crossings and matches were found, for the ledger.

Law: it says how, not what: two runs that chose differently gave the same rows, so no hash and no
comparison of epochs reads it.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fencepost.order import NEVER, OrderRules
from fencepost.tuples import Int64s
from pipelines.execute.logs import AsOf
from pipelines.places import Place, place_of
from pipelines.planning.rules import as_json, of_json
from schemas import FeedColumns, Feeds

if TYPE_CHECKING:  # only tasks need the engine
    from fencepost.outcome import FeedOutcome


Choice = Mapping[str, Any]
"""How crossings and matches were found in an epoch."""


@dataclass(frozen=True)
class FeedStep:
    """One epoch of the group: its deliveries, and the feed's watermark after each of them.

    queries  the file with the query set, below the lake; None: no query is active
    matches  the same, of the `match` queries
    rules    how its deliveries are ordered and judged
    """

    epoch: int
    generation: int
    arrivals: tuple[int, ...]
    watermarks: tuple[int | None, ...]
    queries: str | None
    matches: str | None
    rules: OrderRules

    @property
    def marks(self) -> Int64s:
        """The watermarks as the engine takes them."""
        return np.array([NEVER if mark is None else mark for mark in self.watermarks], np.int64)


@dataclass(frozen=True)
class Share:
    """A task. `buckets` are its residues by the modulus `all_buckets`; None: all of them.

    columns   those of every feed, by name: the columns of the tables
    paths     by arrival: the names of its files, for the quarantine
    files     by table: the data files to read
    unordered the deliveries whose rows are unordered
    """

    root: str
    feed: str
    columns: Feeds
    all_buckets: int
    buckets: tuple[int, ...] | None
    watermark: int | None
    steps: tuple[FeedStep, ...]
    paths: Mapping[int, tuple[str, ...]]
    files: Mapping[str, tuple[str, ...]]
    as_of: AsOf
    snapshot: bool
    unordered: tuple[int, ...] = ()

    @property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """The axes of every feed."""
        return {feed: own.axes for feed, own in self.columns.items()}

    @cached_property
    def place(self) -> Place:
        """The lake."""
        return place_of(self.root, Path())

    def to_json(self) -> str:
        """Encode it as one line of JSON."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        fields["columns"] = {feed: own.as_json() for feed, own in self.columns.items()}
        fields["steps"] = [{**vars(step), "rules": as_json(step.rules)} for step in self.steps]
        fields["as_of"] = self.as_of.as_json()
        return json.dumps(fields, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str) -> "Share":
        """Decode the line."""
        fields = json.loads(line)
        fields["columns"] = columns_of(fields["columns"])
        fields["buckets"] = None if fields["buckets"] is None else tuple(fields["buckets"])
        fields["steps"] = tuple(
            FeedStep(
                step["epoch"],
                step["generation"],
                tuple(step["arrivals"]),
                tuple(step["watermarks"]),
                step["queries"],
                step["matches"],
                of_json(step["rules"]),
            )
            for step in fields["steps"]
        )
        fields["unordered"] = tuple(fields["unordered"])
        fields["paths"] = {int(n): tuple(names) for n, names in fields["paths"].items()}
        fields["files"] = {name: tuple(paths) for name, paths in fields["files"].items()}
        fields["as_of"] = AsOf.from_json(fields["as_of"])
        return cls(**fields)


def columns_of(fields: Mapping[str, Any]) -> dict[str, FeedColumns]:
    """Decode the columns of every feed."""
    return {feed: FeedColumns.from_json(own) for feed, own in fields.items()}


@dataclass(frozen=True)
class TaskResult:
    """What a task did: the data files it wrote, by table, and its counts.

    hashes   by table: the sum of the hashes of its rows
    counts   by epoch: the columns of `epochs`
    seconds  how the time divides
    choices  by epoch: how crossings and matches were found
    """

    files: Mapping[str, list[dict[str, Any]]]
    rows: Mapping[str, int]
    hashes: Mapping[str, int]
    counts: Mapping[int, Mapping[str, int]]
    seconds: Mapping[str, float]
    choices: Mapping[int, Choice] = field(default_factory=dict)

    def to_json(self) -> str:
        """Encode it as one line of JSON."""
        return json.dumps(vars(self))

    @classmethod
    def from_json(cls, line: str) -> "TaskResult":
        """Decode the line."""
        fields = json.loads(line)
        for name in ("counts", "choices"):
            fields[name] = {int(epoch): each for epoch, each in fields[name].items()}
        return cls(**fields)


def choice_of(outcome: "FeedOutcome") -> Choice:
    """Record how a task found the crossings and matches of an epoch."""
    indexes = () if outcome.matcher is None else outcome.matcher.choices
    return {
        **outcome.chosen.as_json(),
        "matches": [
            {"index": each.name, "named": each.named, "boxes": each.boxes, "why": each.why}
            for each in indexes
        ],
    }


def merged_choices(choices: Iterable[Choice]) -> str | None:
    """Merge the choices of an epoch's tasks as JSON; None if there are none.

    By way to find crossings, and by index that served matches: how many tasks chose it,
    and the reason of the first of them.
    """
    crossings: dict[str, dict[str, Any]] = {}
    matches: dict[str, dict[str, Any]] = {}
    for choice in choices:
        rest = {name: choice[name] for name in ("why", "fl", "w") if name in choice}
        crossings.setdefault(choice["crossings"], {"tasks": 0, **rest})["tasks"] += 1
        for index in choice["matches"]:
            name = f"{index['index']} for {'named' if index['named'] else 'all'} streams"
            rest = {"boxes": index["boxes"], "why": index["why"]}
            matches.setdefault(name, {"tasks": 0, **rest})["tasks"] += 1
    return json.dumps({"crossings": crossings, "matches": matches}) if crossings else None
