"""A second reading of the semantics, with pandas, for data that is too large for the reference.

It shares no code with the engine or the reference. Tuples are judged and released one by one;
crossings are found rule by rule over whole columns; each crossing is decided on its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd  # type: ignore[import-untyped]

Bounds = Mapping[str, tuple[float, float]]


class Rule(NamedTuple):
    """A rule of one box: lo <= value < hi on each of some axes."""

    id: str
    bounds: Bounds
    streams: tuple[str, ...] | None = None
    within: int | None = None


class Judging(NamedTuple):
    """How arrivals are judged; `by_stream` is the idle time where each stream has its own clock."""

    ties: Literal["all", "first"] = "all"
    sequence: str | None = None
    lateness: int = 0
    by_stream: int | None = None


class Head(NamedTuple):
    """A stream's last released tuple."""

    ts: int
    sequence: int
    values: tuple[float, ...]
    place: int


@dataclass
class Arrivals:
    """What became of all rows: the accepted, the rejected, and what the watermarks were.

    accepted  stream, ts, place, axes, delivery: the one that released it
    rejected  (delivery, row, reason)
    marks     after each delivery: the watermark of a stream
    """

    accepted: pd.DataFrame
    rejected: list[tuple[int, int, str]]
    waiting: int
    marks: list[Callable[[str], int | None]]


class _Tuple(NamedTuple):
    """A tuple that waits."""

    ts: int
    sequence: int
    delivery: int
    row: int
    values: tuple[float, ...]

    def key(self, judging: Judging) -> tuple[int, ...]:
        """What no two waiting tuples of a stream share."""
        if judging.sequence is not None:
            return self.ts, self.sequence
        return (self.ts,) if judging.ties == "first" else (self.ts, self.delivery, self.row)


@dataclass
class _Feed:
    judging: Judging
    heads: dict[str, Head] = field(default_factory=dict)
    waiting: dict[str, dict[tuple[int, ...], _Tuple]] = field(default_factory=dict)
    latest: dict[str, int] = field(default_factory=dict)

    def fault(self, stream: str, new: _Tuple) -> str | None:
        """Why an arrival is rejected; None: it is good."""
        known = self.waiting.get(stream, {}).get(new.key(self.judging))
        if known is not None:
            return "duplicate" if known.values == new.values else "conflict"
        head = self.heads.get(stream)
        if head is None or new.ts > head.ts:
            return None
        if new.ts < head.ts:
            return "late"
        if self.judging.sequence is not None:
            if new.sequence != head.sequence:
                return "late" if new.sequence < head.sequence else None
        elif self.judging.ties == "all":
            return None
        return "duplicate" if head.values == new.values else "conflict"

    def mark(self) -> Callable[[str], int | None]:
        """The watermark of each stream, as things stand."""
        if not self.latest:
            return lambda _: None
        latest, feed = dict(self.latest), max(self.latest.values())
        lateness, idle = self.judging.lateness, self.judging.by_stream
        if idle is None:
            return lambda _: feed - lateness
        return lambda stream: max(latest.get(stream, feed - idle) - lateness, feed - idle)


def judged(rows: pd.DataFrame, axes: Sequence[str], judging: Judging) -> Arrivals:
    """Take rows of (delivery, stream, ts, axes, row) in the order of their deliveries."""
    feed = _Feed(judging)
    rejected: list[tuple[int, int, str]] = []
    accepted: list[tuple[object, ...]] = []
    marks = []
    ordered = ["ts", *([judging.sequence] if judging.sequence else []), "row"]
    for delivery in range(int(rows["delivery"].max()) + 1):
        part = rows[rows["delivery"] == delivery].sort_values(ordered, kind="stable")
        sequence = part[judging.sequence].tolist() if judging.sequence else part["row"].tolist()
        points = list(zip(*(part[axis].tolist() for axis in axes), strict=True))
        columns = (part["stream"].tolist(), part["ts"].tolist(), sequence, part["row"].tolist())
        for stream, ts, number, row, values in zip(*columns, points, strict=True):
            new = _Tuple(ts, number, delivery, row, values)
            why = feed.fault(stream, new)
            if why is not None:
                rejected.append((delivery, row, why))
                continue
            feed.waiting.setdefault(stream, {})[new.key(judging)] = new
            feed.latest[stream] = max(ts, feed.latest.get(stream, ts))
        marks.append(feed.mark())
        for stream in list(feed.waiting):
            accepted += _released(feed, stream, marks[-1](stream), delivery)
    names = ["stream", "ts", "place", *axes, "delivery"]
    waiting = sum(map(len, feed.waiting.values()))
    return Arrivals(pd.DataFrame(accepted, columns=names), rejected, waiting, marks)


def _released(
    feed: _Feed, stream: str, mark: int | None, delivery: int
) -> list[tuple[object, ...]]:
    if mark is None:
        return []
    waiting = feed.waiting[stream].items()
    ready = sorted(key for key, each in waiting if each.ts <= mark)
    rows: list[tuple[object, ...]] = []
    for key in ready:
        each, head = feed.waiting[stream].pop(key), feed.heads.get(stream)
        place = head.place + 1 if head is not None and head.ts == each.ts else 0
        feed.heads[stream] = Head(each.ts, each.sequence, each.values, place)
        rows.append((stream, each.ts, place, *each.values, delivery))
    return rows


def crossings(accepted: pd.DataFrame, axes: Sequence[str], rules: Sequence[Rule]) -> pd.DataFrame:
    """The events of all rules, in the order of each stream's tuples."""
    paths = accepted.groupby("stream", sort=False)
    order = np.concatenate([index.to_numpy() for index in paths.groups.values()])
    path = accepted.loc[order].reset_index(drop=True)
    is_first = path["stream"] != path["stream"].shift()
    before = path[["ts", *axes]].shift().add_prefix("prev_")
    found = []
    for rule in rules:
        inside = np.ones(len(path), bool)
        for axis, (lo, hi) in rule.bounds.items():
            inside &= (path[axis] >= lo) & (path[axis] < hi)
        was = np.concatenate([[False], inside[:-1]])
        crossed = (inside != was) & ~is_first.to_numpy()
        if rule.streams is not None:
            crossed &= path["stream"].isin(rule.streams).to_numpy()
        some = pd.concat([path[crossed], before[crossed]], axis=1)
        some.insert(0, "type", np.where(inside[crossed], "I", "O"))
        some.insert(1, "query_id", rule.id)
        found.append(some)
    events = pd.concat(found, ignore_index=True)
    return events.astype({"prev_ts": "int64"})


def transitions(events: pd.DataFrame, rules: Sequence[Rule], arrivals: Arrivals) -> pd.DataFrame:
    """What each crossing of a rule with `within` turned into, as far as it is decided."""
    within = {rule.id: rule.within for rule in rules}
    kinds = {"I": ("pass_through", "stay"), "O": ("short_absence", "departure")}
    found = []
    for (query, stream), pair in events.groupby(["query_id", "stream"], sort=False):
        t = within[query]
        if t is None:
            continue
        columns = (pair[name].tolist() for name in ("type", "ts", "place", "delivery"))
        its = list(zip(*columns, strict=True))
        for e, f in zip(its, [*its[1:], None], strict=True):
            kind, ts, place, delivery = e
            last = len(arrivals.marks) - 1 if f is None else f[3] - 1
            overdue = _is_past(arrivals, stream, delivery, last, ts + t)
            answered = f is not None and not overdue and f[1] - ts <= t
            if f is None and not overdue:
                continue
            to = (f[1], f[2]) if answered and f is not None else (None, None)
            at = to[0] if answered else ts + t
            found.append((kinds[kind][not answered], query, stream, at, ts, place, *to))
    names = ["type", "query_id", "stream", "ts", "from_ts", "from_place", "to_ts", "to_place"]
    rows = pd.DataFrame(found, columns=names)
    return rows.astype({"to_ts": "Int64", "to_place": "Int64"})


def _is_past(arrivals: Arrivals, stream: str, first: int, last: int, due: int) -> bool:
    """Was the watermark past a time after one of these deliveries? It never falls."""
    mark = arrivals.marks[last](stream) if last >= first else None
    return mark is not None and mark > due
