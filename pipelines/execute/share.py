"""The task of an epoch's job: a share of a feed's streams, and all that is to be done with it.

It travels as one line of JSON: numbers, names of files below the lake, nothing that could be run.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fencepost.order import NEVER
from fencepost.tuples import Int64s
from pipelines.execute.choices import Choice
from pipelines.execute.logs import AsOf


@dataclass(frozen=True)
class Step:
    """One epoch of the group: its deliveries, and the feed's watermark after each of them.

    queries  the file with the query set, below the lake; None: no query stands
    matches  the same, of the `match` queries
    """

    epoch: int
    generation: int
    arrivals: tuple[int, ...]
    watermarks: tuple[int | None, ...]
    queries: str | None
    matches: str | None

    @property
    def marks(self) -> Int64s:
        """The watermarks as the engine takes them."""
        return np.array([NEVER if mark is None else mark for mark in self.watermarks], np.int64)


@dataclass(frozen=True)
class Share:
    """A task. `buckets` are the shares it takes; None: all of them.

    axes      those of every feed, by name: the columns of the tables
    paths     by arrival: the names of its files, for the quarantine
    files     by table: the data files to read
    unordered the deliveries whose rows are in no order
    """

    root: str
    feed: str
    axes: Mapping[str, tuple[str, ...]]
    lateness: int
    all_buckets: int
    buckets: tuple[int, ...] | None
    watermark: int | None
    steps: tuple[Step, ...]
    paths: Mapping[int, tuple[str, ...]]
    files: Mapping[str, tuple[str, ...]]
    as_of: AsOf
    snapshot: bool
    unordered: tuple[int, ...] = ()

    def to_json(self) -> str:
        """Write the line."""
        told: dict[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        told["steps"] = [vars(step) for step in self.steps]
        told["as_of"] = self.as_of.as_json()
        return json.dumps(told, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str) -> "Share":
        """Read the line."""
        told = json.loads(line)
        told["axes"] = {feed: tuple(axes) for feed, axes in told["axes"].items()}
        told["buckets"] = None if told["buckets"] is None else tuple(told["buckets"])
        told["steps"] = tuple(
            Step(
                step["epoch"],
                step["generation"],
                tuple(step["arrivals"]),
                tuple(step["watermarks"]),
                step["queries"],
                step["matches"],
            )
            for step in told["steps"]
        )
        told["unordered"] = tuple(told["unordered"])
        told["paths"] = {int(n): tuple(names) for n, names in told["paths"].items()}
        told["files"] = {name: tuple(paths) for name, paths in told["files"].items()}
        told["as_of"] = AsOf.from_json(told["as_of"])
        return cls(**told)


@dataclass(frozen=True)
class Answer:
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
        """Write the line."""
        return json.dumps(vars(self))

    @classmethod
    def from_json(cls, line: str) -> "Answer":
        """Read the line."""
        told = json.loads(line)
        for name in ("counts", "choices"):
            told[name] = {int(epoch): each for epoch, each in told[name].items()}
        return cls(**told)
