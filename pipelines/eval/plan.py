"""Everything that is checked before the first tuple is read.

Law: every fault in options, queries or files, as far as their headers show it, is
reported at once, before anything is written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from fencepost.api.rules import DEFAULT_FEED
from fencepost.api.tables import NAMES, Axes, event_columns
from fencepost.errors import Fault, InputError, refuse
from fencepost.order_rules import OrderRules
from fencepost.position import Position, declared_position
from fencepost.queries import QuerySet
from fencepost.queries.files import QueryFile, StandingQueries, collected, read_queries
from fencepost.queries.joins import JoinSets
from fencepost.text import counted, did_you_mean
from pipelines.eval.quarantine import NAME
from pipelines.eval.request import EvalRequest, Given
from pipelines.eval.shape import NOTHING_WRITTEN
from pipelines.eval.sources import is_stored, looked_at
from pipelines.files.read.content import Form
from pipelines.files.read.delivery import DeliveryFile
from pipelines.files.read.query_file import open_queries
from pipelines.files.read.rows import Declared
from pipelines.files.write.folder import OutFolder


@dataclass(frozen=True, eq=False)
class Plan:
    """The deliveries in order, each with its feed, and the queries to evaluate.

    declared  by feed: how its files are read; `guessed` says what of it nobody declared
    rules     by feed: how its arrivals are ordered and judged
    """

    request: EvalRequest
    deliveries: Sequence[tuple[str, DeliveryFile]]
    axes: Mapping[str, Axes]
    standing: StandingQueries
    out: OutFolder
    declared: Mapping[str, Declared]
    rules: Mapping[str, OrderRules]
    guessed: Sequence[str] = ()

    @property
    def queries(self) -> Mapping[str, QuerySet]:
        """The crossing queries by feed; a feed without any has an empty set."""
        return self.standing.sets

    @property
    def matches(self) -> Mapping[str, QuerySet]:
        """The `match` queries by feed, likewise."""
        return self.standing.matches

    @property
    def joins(self) -> Mapping[str, JoinSets]:
        """The joins of each lane that has any."""
        return self.standing.joins

    @property
    def lanes(self) -> list[tuple[str, str]]:
        """The feeds of each lane."""
        return [(sets.windows.left, sets.windows.right) for sets in self.joins.values()]

    def notes(self) -> list[str]:
        """List what is worth knowing although nothing is wrong."""
        notes = [*self.guessed]
        for feed, count in self.standing.unevaluated.items():
            queries = counted(count, "query", "queries")
            near = did_you_mean(feed, self.axes)
            notes.append(f"note: {queries} of feed '{feed}' not evaluated: it has no tuples.{near}")
        silent = [
            feed
            for feed, queries in self.queries.items()
            if not len(queries) and not len(self.matches[feed]) and feed not in self.standing.joined
        ]
        notes += [f"note: no query watches feed '{feed}'." for feed in silent]
        return notes


def plan(request: EvalRequest) -> Plan:
    """Check everything; Faults lists all that is wrong."""
    of_queries: list[Fault] = []
    faults: list[Fault] = []
    opening = partial(open_queries, fields=request.features, layer=request.layer)
    files = [collected(of_queries, partial(opening, path), None) for path in request.queries]
    opened = [file for file in files if file is not None]
    if len(opened) == len(files):
        given = _with_feeds(request.tuples, opened, faults)
    else:  # without the queries their feeds are unknown
        given = [replace(each, feed=each.feed or "") for each in request.tuples]
    declared, guessed = _declared(request, given, faults)
    deliveries = []
    for each in given:
        feed = each.feed or ""
        if feed not in declared:
            continue
        file = collected(faults, partial(looked_at, each.source, declared[feed]), None)
        if file is not None:
            deliveries.append((feed, file))
    axes = _axes_by_feed(deliveries, faults)
    feeds = {each.feed for each in given}
    only = next(iter(feeds)) if len(feeds) == 1 else None
    count = len(faults)
    positions = _positions(axes, declared, faults)
    understood = opened if len(faults) == count else []  # no region could be read
    reading = partial(read_queries, understood, axes, only, positions)
    standing = collected(of_queries, reading, StandingQueries({}))
    out = OutFolder(request.out, request.form, (*NAMES, NAME))
    sources = [*request.queries, *(each.source for each in given if not is_stored(each.source))]
    faults += out.faults([Path(source) for source in sources])
    refuse([*of_queries, *faults], NOTHING_WRITTEN)
    rules = {feed: request.shapes.rules(feed) for feed in declared}
    return Plan(request, deliveries, axes, standing, out, declared, rules, guessed)


def _declared(
    request: EvalRequest, given: Sequence[Given], faults: list[Fault]
) -> tuple[dict[str, Declared], list[str]]:
    """Say how the files of each feed are read, and what of it was guessed."""
    sources: dict[str, list[str]] = {}
    for each in given:
        sources.setdefault(each.feed or "", []).append(each.source)
    declared, guessed = {}, []
    for feed, of_feed in sources.items():
        found = collected(faults, partial(request.shapes.of, feed, of_feed), None)
        if found is not None:
            declared[feed] = found[0]
            guessed += found[1]
    return declared, guessed


def _with_feeds(
    tuples: Sequence[Given], files: Sequence[QueryFile], faults: list[Fault]
) -> list[Given]:
    """Name the feed of every delivery: by default the one of all queries."""
    if all(each.feed is not None for each in tuples):
        return list(tuples)
    named = list(dict.fromkeys(feed for file in files for feed in file.feeds()))
    if not named and any(file.features is not None for file in files):
        named = [DEFAULT_FEED]  # zones of a map name none, as a rule
    if len(named) == 1:
        return [replace(each, feed=each.feed or named[0]) for each in tuples]
    which = f"the queries name {', '.join(named)}" if named else "the queries name none"
    for each in tuples:
        if each.feed is None:
            message = f"no feed is named, and {which}"
            hint = f"Write --tuples FEED={each.source}."
            faults.append(Fault(f"--tuples {each.source}", message, hint=hint))
    return [each for each in tuples if each.feed is not None]


def _axes_by_feed(
    deliveries: Sequence[tuple[str, DeliveryFile]], faults: list[Fault]
) -> dict[str, Axes]:
    """Give the axes of every feed: those of its first delivery that names any."""
    first: dict[str, DeliveryFile] = {}
    for feed, file in deliveries:
        if file.axes is not None:
            first.setdefault(feed, file)
    for feed, file in deliveries:
        settled = first.get(feed)
        if settled is None:
            message = "no line is an object with stream_id, ts and an axis"
            hint = "JSON lines are one object a line; the axes may be named with --axes."
            faults.append(Fault(file.source, message, hint=hint))
        elif file.form is not Form.JSON and set(file.axes or ()) != set(settled.axes or ()):
            message = f"the axes are {_listed(file.axes)}, but those of {settled.source} are "
            message += f"{_listed(settled.axes)}: a feed has the same axes in every delivery"
            hint = "Name them with --axes, if the other columns are no axes."
            faults.append(Fault(file.source, message, hint=hint))
    axes = {feed: file.axes or () for feed, file in first.items()}
    faults += _clashes(axes)
    return axes


def _positions(
    axes: Mapping[str, Axes], declared: Mapping[str, Declared], faults: list[Fault]
) -> dict[str, Position]:
    """Say where the tuples of each feed are that has a position."""
    positions = {}
    for feed, own in axes.items():
        names = declared[feed].position
        if names:
            try:
                positions[feed] = declared_position(own, names, declared[feed].position_in)
            except InputError as why:
                faults.append(Fault(f"--position {','.join(names)}", str(why)))
    return positions


def _clashes(axes: Mapping[str, Axes]) -> list[Fault]:
    """Report axes that would be columns of the events twice."""
    columns = event_columns(axes)
    return [
        Fault("--tuples", f"'{name}' cannot be an axis: the events have a column of this name")
        for name in dict.fromkeys(columns)
        if columns.count(name) > 1
    ]


def _listed(axes: Axes | None) -> str:
    return ", ".join(axes or ())
