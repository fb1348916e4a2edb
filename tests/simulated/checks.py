"""What must hold of a lake, at every commit and in the end, by the words of its laws.

Nothing here asks the code under test: what is in force is told by the order of the plans' commits,
what is right by taking every delivery in order, once, in one piece.
"""

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from fencepost.order import OrderRules
from pipelines.execute.logs import AsOf
from pipelines.lake.evidence import Evidence
from pipelines.planning.chain import Chain, Epoch
from tests.simulated.store import Disk, Laid
from tests.simulated.streams import LOGS, Item, Streams, newest

Row = Mapping[str, Any]


class Violation(AssertionError):
    """A law does not hold."""


def demand(holds: bool, law: str, *facts: object) -> None:
    if not holds:
        raise Violation(": ".join([law, *map(str, facts)]))


def declared_in(row: Row) -> OrderRules:
    """Read from a delivery's row how it is to be judged."""
    said = json.loads(row["declared"])
    idle = said["idle"] if said["lateness_by"] == "stream" else None
    return OrderRules(said["ties"], said["allowed_lateness"], idle)


def _settled(rows: Sequence[Row]) -> list[Row]:
    """Leave out what lies behind a registration that is not concluded."""
    concluded = {row["n"] for row in rows if row["state"] != "planned"}
    begun = [r["n"] for r in rows if r["kind"] == "registry" and r["n"] not in concluded]
    return [row for row in rows if row["n"] < min(begun, default=row["n"] + 1)]


class Checks:
    """Sees every commit as it is made."""

    def __init__(self, disk: Disk, items: Mapping[str, Item], lane: str) -> None:
        self.disk = disk
        self.items = items
        self.lane = lane
        self.force: list[Row] = []
        self.done: set[tuple[int, int]] = set()
        self.plans: set[str] = set()
        self.keys: set[tuple[str, str, str]] = set()
        self.generations = 1

    def committed(self, name: str, evidence: Evidence, seen: Mapping[str, Sequence[Row]]) -> None:
        """Look at a commit that was made just now."""
        key = (name, evidence.what, evidence.plan)
        demand(key not in self.keys, "a commit was made twice", *key)
        self.keys.add(key)
        if name != "epochs":
            return
        rows = [r for f in self.disk.commits[name][-1].files for r in self.disk.written[f.path]]
        if evidence.what == "plan":
            self.plans.add(evidence.plan)
            self._planned(rows, seen["arrivals"])
        else:
            if evidence.plan not in self.plans:  # done at once: then it counts from here on
                self.force = [*self.force[: rows[0]["epoch"] - 1], *rows]
            self.done |= {(row["epoch"], row["generation"]) for row in rows}
            self._is_right(self._published())
            self._is_true()

    def _is_true(self) -> None:
        """Hold every row of an epoch against what is in force: a group was concluded just now."""
        force = {(row["epoch"], row["generation"]) for row in self.force}
        for name in ("events", "quarantine", *LOGS):
            rows = [row for row in self.disk.rows(name) if row.get("epoch") is not None]
            stale = {(row["epoch"], row["generation"]) for row in rows} - force
            demand(not stale, f"{name} holds rows that were replaced", sorted(stale))

    def _planned(self, rows: Sequence[Row], seen: Sequence[Row]) -> None:
        first = rows[0]["epoch"]
        demand(first <= len(self.force) + 1, "a plan leaves epochs out", first)
        self.force = [*self.force[: first - 1], *rows]
        self.generations = max(self.generations, rows[0]["generation"])
        before = [n for row in self.force for n in row["arrivals"]]
        known = self._deliveries(_settled(seen))[: len(before)]
        demand(before == known, "a plan advances over a stale epoch", before, known)

    def _published(self) -> list[Row]:
        """Give the epochs that are shown: done and in force."""
        shown = [row for row in self.force if (row["epoch"], row["generation"]) in self.done]
        demand(shown == self.force[: len(shown)], "an epoch is done before an earlier one")
        return shown

    def _deliveries(self, rows: Sequence[Row]) -> list[int]:
        """List the deliveries that are done, in their order."""
        done = [r for r in rows if r["kind"] == "delivery" and r["state"] == "done"]
        return [row["n"] for row in sorted(done, key=lambda r: (r["partition_key"], r["n"]))]

    def is_whole(self) -> bool:
        """Say whether every plan is concluded, and every delivery evaluated."""
        rows = self.disk.rows("arrivals")
        concluded = {row["n"] for row in rows if row["state"] != "planned"}
        taken = [n for row in self.force for n in row["arrivals"]]
        return (
            all(row["n"] in concluded for row in rows)
            and taken == self._deliveries(rows)
            and len(self._published()) == len(self.force)
        )

    def _is_right(self, shown: Sequence[Row]) -> None:
        """Hold what is shown against one pass over the same deliveries."""
        found, _ = self._in_one_pass([n for row in shown for n in row["arrivals"]])
        force = {(row["epoch"], row["generation"]) for row in shown}
        events = [r for r in self.disk.rows("events") if (r["epoch"], r["generation"]) in force]
        told = Counter((r["stream_id"], r["head"], r["arrival"]) for r in events)
        demand(told == Counter(found.found), "events", told, found.found)
        aside = [
            r
            for r in self.disk.rows("quarantine")
            if (r.get("epoch"), r.get("generation")) in force
        ]
        turned = Counter((r["arrival"], r["stream_id"], r["line"]) for r in aside)
        demand(turned == Counter(found.turned), "quarantine", turned, found.turned)

    def _in_one_pass(self, numbers: Sequence[int]) -> tuple[Streams, list[Streams]]:
        """Take deliveries one after the other; also the memory after each."""
        rows = {row["n"]: row for row in self.disk.rows("arrivals")}
        commits = sorted(
            (row["n"], row["registry_version"])
            for row in self.disk.rows("arrivals")
            if row["kind"] == "registry" and row["state"] == "done"
        )
        streams, after, mark = Streams(), [], None
        for n in numbers:
            item, rules = self.items[rows[n]["path"]], declared_in(rows[n])
            if item.max_ts is not None:
                late = item.max_ts - (rules.lateness if rules.idle is None else rules.idle)
                mark = late if mark is None else max(mark, late)
            at = bisect_left(commits, (n, 0))
            streams.take(n, item.tuples, f"r{commits[at - 1][1]}" if at else "", mark, rules)
            after.append(streams.copy())
        return streams, after

    def at_the_end(self) -> None:
        """Look at the lake when all work is done."""
        self._arrived_once()
        chain = Chain.of(self.lane, map(Epoch.of_row, self.disk.rows("epochs")))
        mine = [(e.epoch, e.generation, e.arrivals) for e in chain.epochs]
        told = [(r["epoch"], r["generation"], tuple(r["arrivals"])) for r in self.force]
        demand(mine == told, "the chain is not what the plans made it", mine, told)
        demand(not chain.open and not chain.replaced, "the chain is not whole", chain)
        self._is_right(self._published())
        _, after = self._in_one_pass(chain.covered)
        taken = 0
        for epoch in chain.epochs:
            taken += len(epoch.arrivals)
            self._state(chain.upto(epoch.epoch), after[taken - 1])

    def _arrived_once(self) -> None:
        rows = self.disk.rows("arrivals")
        concluded = [r for r in rows if r["state"] != "planned"]
        twice = [n for n, many in Counter(r["n"] for r in concluded).items() if many > 1]
        demand(not twice, "concluded twice", twice)
        planned = Counter(r["n"] for r in rows if r["state"] == "planned")
        demand(set(planned.values()) <= {1}, "a number was taken twice", planned)
        paths = [r["path"] for r in concluded if r["kind"] == "delivery" and r["state"] == "done"]
        demand(sorted(paths) == sorted(self.items), "deliveries", paths)
        loaded = self.disk.rows(self.lane)
        tuples = Counter((r["arrival"], r["read_in"], r["stream_id"], r["ts"]) for r in loaded)
        own = [r for r in concluded if r["kind"] == "delivery"]
        path_of = {r["n"]: r["path"] for r in own}
        zone_of = {r["n"]: json.loads(r["declared"]).get("timezone") for r in own}
        told = Counter(
            (n, zone_of[n], *t) for n, path in path_of.items() for t in self.items[path].tuples
        )
        demand(tuples == told, "tuples", tuples - told, told - tuples)
        bad = Counter(r["arrival"] for r in self.disk.rows("quarantine") if "epoch" not in r)
        told = Counter({n: self.items[path].malformed for n, path in path_of.items()})
        demand(bad == +told, "malformed", bad, told)

    def _state(self, chain: Chain, expected: Streams) -> None:
        """Read the logs as of the end of a chain."""
        as_of = AsOf(tuple(chain.eras), chain.snapshot)
        for name in LOGS:
            rows = Laid(self.disk.kinds[name], self.disk.rows(name))
            stands = newest(as_of.counting(rows).to_pylist())
            demand(stands == expected.logs()[name], name, len(chain), stands, expected.logs()[name])
