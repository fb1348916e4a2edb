"""Rules over tuples that keep coming: the monitor, and one call for tuples that are all there."""

import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Literal, get_args

import pyarrow as pa

from fencepost.api.evaluation import Evaluation, FeedRun, join_runs
from fencepost.api.inputs import (
    REJECTED,
    Axes,
    TupleColumns,
    arrow_table,
    read_tuples,
    rejected_rows,
)
from fencepost.api.result import Result
from fencepost.api.rules import DEFAULT_FEED, Rules, as_rules
from fencepost.api.state import Saved
from fencepost.api.tables import ResultTables, event_columns
from fencepost.errors import Faults, InputError
from fencepost.lanes import lane_of
from fencepost.order import OrderRules, Ties
from fencepost.queries.conversions import is_text
from fencepost.text import counted, did_you_mean
from fencepost.times import parse_duration

Duration = str | timedelta
LatenessBy = Literal["feed", "stream"]
AxesByFeed = Sequence[str] | Mapping[str, Sequence[str]]


def evaluate(  # noqa: PLR0913  tuples and rules, and how the tuples are read, by name
    tuples: object,
    rules: object,
    *,
    stream_id: str = "stream_id",
    ts: str = "ts",
    ts_unit: str | None = None,
    axes: AxesByFeed | None = None,
    position: AxesByFeed | None = None,
    sequence: str | None = None,
    ties: Ties = "all",
    allowed_lateness: Duration = "0s",
    lateness_by: LatenessBy = "feed",
    idle: Duration = "24h",
    threads: int = 1,
) -> Result:
    """Find what entered, left, matched or paired in tuples that are all there.

    `tuples` is a table: Arrow, pandas, Polars, a DuckDB relation or rows as dicts. Of several
    feeds it is a dict, `{"bids": bids, "asks": asks}`, taken in this order. `rules` is whatever
    `fencepost.rules` takes. `stream_id` and `ts` name the columns that say whose tuple it is and
    when; `ts_unit` (s, ms, us, ns) says what a `ts` counts that is an integer. `axes` are the
    columns that rules may speak of, of one feed or as a dict by feed; without it, all columns of
    numbers. `position` names the two of them that a `region` is on, `("lon", "lat")` in degrees or
    `("x", "y")` on a plane.

    Of several tuples of a stream at one instant, `ties="all"` takes each as a step, in the order of
    their rows, and `"first"` the first alone. `sequence` names a column, integers or text, that
    orders them instead: then the same number twice is a duplicate or a conflict.

    Crossings are found by so many `threads`: more than one pays where many fences overlap.

    Law: the result is that of a new `Monitor`, pushed once; the rows of a table may stand in any
    order, but for those of one stream and instant. A table with a missing or an unfit column raises
    `InputError` and evaluates nothing; a row that is no tuple is rejected, with its reason.

    Cost: about 0.3 µs a tuple and as much an event (a million tuples, 1,000 rules, 2.2 million
    events: 0.9 s on a core), after 20 µs a rule. Joins and large inputs run compiled kernels: the
    very first call compiles them, seconds to half a minute, and later ones load them.

    >>> import fencepost as fp
    >>> ticks = [("AAPL", 9, 229.0), ("AAPL", 10, 231.7), ("AAPL", 11, 230.1), ("MSFT", 9, 512.0)]
    >>> rows = [{"stream_id": s, "ts": f"2026-11-18T{h:02}:30:00Z", "price": p}
    ...         for s, h, p in ticks]
    >>> rule = {"id": "breakout", "streams": ["AAPL"], "where": "price >= 231.5", "within": "2h"}
    >>> result = fp.evaluate(rows, rule)
    >>> result.events.column("type").to_pylist()
    ['I', 'O']
    >>> result.transitions.column("type").to_pylist()
    ['pass_through']
    """
    rules = as_rules(rules)
    monitor = Monitor(
        rules,
        stream_id=stream_id,
        ts=ts,
        ts_unit=ts_unit,
        axes=axes,
        position=position,
        sequence=sequence,
        ties=ties,
        allowed_lateness=allowed_lateness,
        lateness_by=lateness_by,
        idle=idle,
        threads=threads,
    )
    return monitor._push(tuples, whole=True)  # noqa: SLF001  its own


class Monitor:
    """Rules over tuples that keep coming: each batch gives what has changed since the one before.

    The parameters are those of `evaluate`. `allowed_lateness` is how long a tuple may wait for
    earlier ones of later batches: then a batch may come out of order, and gives what is certain.
    By default all streams wait for the feed's clock; with `lateness_by="stream"` each waits for its
    own, as trackers that were offline need it, until it is `idle` behind the feed's.

    push   O(tuples + events), and 3 ms however small the batch and however many the rules
    save   O(streams + what is undecided or waiting): no tuple is kept beyond the last of a stream

    Law: how a sequence of tuples is cut into batches changes no row, as long as the tuples of a
    stream come in order; nor does saving between two of them, and loading in another process.

    >>> import fencepost as fp
    >>> monitor = fp.Monitor({"id": "yard", "where": "x < 10 AND y < 10"})
    >>> at = lambda minute, x: [{"stream_id": "van 7", "ts": f"2026-11-18T08:{minute:02}:00Z",
    ...                          "x": x, "y": 2.0}]
    >>> monitor.push(at(0, 25.0))
    <Result: 1 row read, 1 accepted, 0 rejected; nothing found>
    >>> monitor.push(at(1, 4.5)).events.select(["type", "query_id", "x", "prev_x"]).to_pylist()
    [{'type': 'I', 'query_id': 'yard', 'x': 4.5, 'prev_x': 25.0}]
    """

    def __init__(  # noqa: PLR0913  rules, and how the tuples are read, by name
        self,
        rules: object,
        *,
        stream_id: str = "stream_id",
        ts: str = "ts",
        ts_unit: str | None = None,
        axes: AxesByFeed | None = None,
        position: AxesByFeed | None = None,
        sequence: str | None = None,
        ties: Ties = "all",
        allowed_lateness: Duration = "0s",
        lateness_by: LatenessBy = "feed",
        idle: Duration = "24h",
        threads: int = 1,
    ) -> None:
        """Take the rules; Faults lists what is wrong with them."""
        columns = TupleColumns(
            *(stream_id, ts, ts_unit, _by_feed("axes", axes), sequence),
            _by_feed("position", position),
        )
        if lateness_by not in get_args(LatenessBy):
            raise InputError(f"lateness_by is {lateness_by!r}: 'feed' or 'stream' was expected")
        behind = _microseconds("idle", idle) if lateness_by == "stream" else None
        lateness = _microseconds("allowed_lateness", allowed_lateness)
        order = OrderRules(ties, lateness, behind)
        self._begin(as_rules(rules), columns, Evaluation({}, {}, order), threads)
        self._settle({feed: named for feed, named in columns.axes.items() if feed is not None})

    def _begin(
        self, rules: Rules, columns: TupleColumns, evaluation: Evaluation, threads: int
    ) -> None:
        if threads < 1:
            raise InputError(f"threads is {threads!r}: 1 or more was expected")
        evaluation.threads = threads
        self._rules = rules
        self._columns = columns
        self._evaluation = evaluation

    @property
    def rules(self) -> Rules:
        """The rules in force."""
        return self._rules

    @property
    def axes(self) -> dict[str, Axes]:
        """The axes of every feed that has been seen or declared."""
        return {name: feed.state.heads.axes for name, feed in self._evaluation.feeds.items()}

    def push(self, tuples: object) -> Result:
        """Evaluate a batch: a table, or tables by feed, which are taken in the dict's order.

        Law: where it raises, nothing has changed, and the same batch may be pushed again.
        """
        return self._push(tuples, whole=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file, whole or not at all; the rules are not in it."""
        from fencepost.files import replacing

        with replacing(Path(path)) as (passing,):
            passing.write_bytes(self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str], rules: object, *, threads: int = 1) -> "Monitor":
        """Continue where `save` stopped, under these rules.

        Law: with the same rules it is as if nothing had happened between. A rule that is new or
        has changed begins now: a stream that is inside gives no `I`, and an `O` when it leaves; a
        band join or near join gives all pairs that are in, with the next batch. What a rule left
        undecided that is gone or has changed is dropped.

        >>> import fencepost as fp, tempfile, pathlib
        >>> rule = {"id": "cheap", "where": "price < 10"}
        >>> at = lambda s, price: [{"stream_id": "a", "ts": f"2026-11-18T08:00:0{s}Z",
        ...                         "price": price}]
        >>> monitor = fp.Monitor(rule)
        >>> result = monitor.push(at(0, 12.0))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     monitor.save(pathlib.Path(folder, "state"))
        ...     later = fp.Monitor.load(pathlib.Path(folder, "state"), rule)
        >>> later.push(at(1, 9.5)).events.column("type").to_pylist()
        ['I']
        """
        return cls.from_bytes(Path(path).read_bytes(), rules, threads=threads)

    def to_bytes(self) -> bytes:
        """Give the state as bytes, to be kept anywhere: a zip of JSON and Arrow files."""
        return Saved(self._columns, self._evaluation).to_bytes()

    @classmethod
    def from_bytes(cls, state: bytes, rules: object, *, threads: int = 1) -> "Monitor":
        """Continue from such bytes, as `load` does from a file."""
        rules = as_rules(rules)
        saved = Saved.from_bytes(state, rules._for)  # noqa: SLF001  its own
        monitor = cls.__new__(cls)
        monitor._begin(rules, saved.columns, saved.evaluation, threads)  # noqa: SLF001  its own
        return monitor

    def __repr__(self) -> str:
        """Say what is watched, and how much was seen."""
        feeds = self._evaluation.feeds.values()
        streams = counted(sum(len(feed.state.heads) for feed in feeds), "stream")
        return f"<Monitor: {self._rules!r}; {streams} seen>"

    def _push(self, tuples: object, *, whole: bool) -> Result:
        """Evaluate a batch; of a `whole` evaluation it is also said which rules had no tuples."""
        given = _tables_by_feed(tuples, self._rules, self._columns)
        tables = {feed: table for feed, table in given.items() if table.num_columns}
        known = self.axes
        axes = {
            feed: known.get(feed) or self._columns.axes_of(feed, table)
            for feed, table in tables.items()
        }
        read = {
            feed: read_tuples(table, feed, self._columns, axes[feed])
            for feed, table in tables.items()
        }
        try:
            self._settle(axes, may_lack=whole)
        except Faults as fault:
            for feed, table in tables.items():
                _note_texts(fault, feed, table, axes[feed])
            raise
        evaluation, before = self._evaluation, self._evaluation.accepted
        pairs = [pair for pair in self._rules.pairs if lane_of(*pair) in evaluation.joins]
        results = ResultTables(self.axes, pairs)
        rejected = [
            rejected_rows(feed, len(tables[feed]), bad, evaluation.push(batch, results))
            for feed, (batch, bad) in read.items()
        ]
        return Result(
            **results.tables(),
            rejected=pa.concat_tables([REJECTED.empty_table(), *rejected]),
            read=sum(map(len, tables.values())),
            accepted=evaluation.accepted - before,
            waiting=evaluation.waiting,
            notes=tuple(self._notes(tables, whole=whole)),
        )

    def _settle(self, axes: Mapping[str, Axes], *, may_lack: bool = True) -> None:
        """Index the rules of feeds that are new, over these axes."""
        every = self.axes | dict(axes)
        fresh = [feed for feed in axes if feed not in self._evaluation.feeds]
        if not fresh:
            return
        columns = event_columns(every)
        for name in columns:
            if columns.count(name) > 1:
                raise InputError(f"an axis cannot be called '{name}': the events have it already")
        for left, right in self._rules.pairs:
            if not may_lack and (left in every) != (right in every):
                here, lacking = (left, right) if left in every else (right, left)
                raise InputError(
                    f"a rule joins '{left}' and '{right}': the axes of '{lacking}' must be known "
                    f"before the first tuples of '{here}'. Push both, {{'{left}': …, "
                    f"'{right}': …}}, or declare axes={{'{lacking}': ['…']}}"
                )
        positions = self._columns.positions(every)
        bound = self._rules._for(every, positions)  # noqa: SLF001  its own
        feeds = {feed: FeedRun.of(bound.sets[feed], bound.matches[feed]) for feed in fresh}
        joins = join_runs(bound)
        self._evaluation.feeds |= feeds
        self._evaluation.joins = joins | self._evaluation.joins

    def _notes(self, tables: Mapping[str, pa.Table], *, whole: bool) -> list[str]:
        own = self._columns.own
        notes = []
        for feed, table in tables.items():
            used = {*own, *self.axes[feed]}
            ignored = [name for name in table.column_names if name not in used]
            if ignored:
                notes.append(f"feed '{feed}': ignored {', '.join(ignored)}, which are no axes")
        silent = [feed for feed in self._rules.feeds if feed not in tables] if whole else []
        if silent:
            notes.append(f"no tuples came of {', '.join(silent)}, which rules watch")
        return notes


def _tables_by_feed(given: object, rules: Rules, columns: TupleColumns) -> dict[str, pa.Table]:
    """Give each table its feed; a single one is of the only feed that the rules watch."""
    is_columns = isinstance(given, Mapping) and {columns.stream_id, columns.ts} & {*given}
    if isinstance(given, Mapping) and not is_columns:
        for feed in given:
            if feed not in rules.feeds:
                watched = ", ".join(rules.feeds) or "nothing"
                raise InputError(
                    f"no rule watches the feed '{feed}': they watch {watched}."
                    f"{did_you_mean(str(feed), rules.feeds)}"
                )
        if not given:
            raise InputError("an empty dict was given, tables by feed were expected")
        return {
            feed: arrow_table(table, f"the tuples of '{feed}'") for feed, table in given.items()
        }
    if len(rules.feeds) > 1:
        by_feed = ", ".join(f"{feed!r}: …" for feed in rules.feeds)
        raise InputError(
            f"the rules watch {', '.join(rules.feeds)}: say whose tuples these are, {{{by_feed}}}"
        )
    feed = rules.feeds[0] if rules.feeds else DEFAULT_FEED
    return {feed: arrow_table(given, "the tuples")}


def _note_texts(fault: Faults, feed: str, table: pa.Table, axes: Axes) -> None:
    """Tell under an error which columns are no axes because they hold text."""
    texts = [f.name for f in table.schema if is_text(f.type) and f.name not in axes]
    if texts:
        fault.add_note(
            f"Of the feed '{feed}', {', '.join(texts)} hold text. Where that is numbers, cast it "
            "or name the axes with axes=[…]."
        )


def _by_feed(what: str, axes: AxesByFeed | None) -> dict[str | None, Axes]:
    if axes is None:
        return {}
    if isinstance(axes, str):
        raise InputError(f"{what} is the text {axes!r}: a list of names was expected, [{axes!r}]")
    if isinstance(axes, Mapping):
        return {feed: tuple(names) for feed, names in axes.items()}
    return {None: tuple(axes)}


def _microseconds(name: str, duration: Duration) -> int:
    try:
        if isinstance(duration, timedelta):
            duration = f"{duration // timedelta(microseconds=1)}us"
        return parse_duration(duration)
    except ValueError as why:
        raise InputError(f"{name}: {why}") from None
