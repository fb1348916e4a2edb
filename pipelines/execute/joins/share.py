"""The task of a join epoch's job: some of a lane's joins over all tuples of both its feeds.

A join may pair any stream of the one feed with any of the other, so tasks divide the queries, never
the streams. The first of them writes the state as well. It travels as one line of JSON.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fencepost.order import OrderRules
from pipelines.execute.logs import AsOf
from pipelines.execute.share import columns_of
from pipelines.places import Place, place_of
from pipelines.planning.rules import as_json, of_json
from schemas import Feeds

RESULTS = ("paired", "came_in", "went_out", "came_near", "went_away")
"""The counts of what joins find."""


@dataclass(frozen=True)
class JoinStep:
    """One epoch of the group.

    sides     of each delivery: 0 the left feed's, 1 the right feed's
    registry  the version in force
    joins     the file with the joins active then, below the lake; None: there are none
    rules     of each side: how its deliveries are ordered and judged
    """

    epoch: int
    generation: int
    arrivals: tuple[int, ...]
    sides: tuple[int, ...]
    registry: int
    joins: str | None
    rules: tuple[OrderRules, OrderRules]


@dataclass(frozen=True)
class JoinShare:
    """A task.

    feeds       left and right        columns  those of every feed, by name
    watermarks  of each side, before the first of its deliveries here
    part        which part of the joins, of how many
    registered  by registry version: the commit's number, and when it came (µs)
    standing    the joins that were active after the epoch before: what is not among them is new
    files       by table: the data files to read
    unordered   the deliveries whose rows are unordered
    """

    root: str
    lane: str
    feeds: tuple[str, str]
    columns: Feeds
    watermarks: tuple[int | None, int | None]
    steps: tuple[JoinStep, ...]
    part: tuple[int, int]
    registered: Mapping[int, tuple[int, int]]
    standing: str | None
    files: Mapping[str, tuple[str, ...]]
    as_of: AsOf
    snapshot: bool
    unordered: tuple[int, ...] = ()

    @cached_property
    def place(self) -> Place:
        """The lake."""
        return place_of(self.root, Path())

    @property
    def buckets(self) -> None:
        """All streams are read: any of them may be paired with any other."""
        return

    @property
    def all_buckets(self) -> int:
        """Always false: streams are not divided."""
        return 1

    @property
    def writes_state(self) -> bool:
        """Whether this task writes the state."""
        return self.part[0] == 0

    @property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """The axes of every feed."""
        return {feed: own.axes for feed, own in self.columns.items()}

    def to_json(self) -> str:
        """Encode it as one line of JSON."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        fields["columns"] = {feed: own.as_json() for feed, own in self.columns.items()}
        fields["steps"] = [
            {**vars(step), "rules": [as_json(rules) for rules in step.rules]} for step in self.steps
        ]
        fields["as_of"] = self.as_of.as_json()
        return json.dumps(fields, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str) -> "JoinShare":
        """Decode the line."""
        fields = json.loads(line)
        for name in ("feeds", "watermarks", "part", "unordered"):
            fields[name] = tuple(fields[name])
        fields["columns"] = columns_of(fields["columns"])
        fields["steps"] = tuple(map(_step, fields["steps"]))
        fields["registered"] = {int(v): (n, at) for v, (n, at) in fields["registered"].items()}
        fields["files"] = {name: tuple(paths) for name, paths in fields["files"].items()}
        fields["as_of"] = AsOf.from_json(fields["as_of"])
        return cls(**fields)


def _step(fields: Mapping[str, Any]) -> JoinStep:
    left, right = (of_json(rules) for rules in fields["rules"])
    arrivals, sides = tuple(fields["arrivals"]), tuple(fields["sides"])
    return JoinStep(**{**fields, "arrivals": arrivals, "sides": sides, "rules": (left, right)})
