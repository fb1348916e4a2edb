"""The state of a monitor as bytes: a zip of `state.json` and Arrow files.

Law: columns and numbers, nothing pickled, nothing of the rules but what tells whether a rule is
still the same: the hash of what it says. So a state is read under any rules.
"""

import dataclasses
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.api.evaluation import Evaluation, FeedRun
from fencepost.api.inputs import TupleColumns
from fencepost.arrow import codes_in
from fencepost.crossings.state import Heads, places_in
from fencepost.errors import StateError
from fencepost.hashing import digest
from fencepost.order import OrderRules
from fencepost.position import Positions
from fencepost.queries.files import StandingQueries
from fencepost.queries.fingerprint import hashes_of
from fencepost.queries.joins import BandJoins, JoinSets, NearJoins, WindowJoins
from fencepost.queries.joins.regions import SideRegions
from fencepost.queries.query_set import QuerySet
from fencepost.state import FeedState
from fencepost.transitions import Pending
from fencepost.tuples import Int32s, Int64s, TupleBatch

if TYPE_CHECKING:
    from fencepost.api.join_run import JoinRun
    from fencepost.joins.state import SideState

FORMAT = 2
"""2: places, sequences and the order rules; axes are numbered, so that they may have any name."""
READ = (1, FORMAT)
NUMBERED = "numbered"
"""Where this is said, the axes of the tables are named by their numbers."""
ABOUT = "state.json"
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    pa.ArrowException,
    EOFError,
    LookupError,
    NotImplementedError,  # zipfile: a damaged entry names a compression that there is none of
    ValueError,
)
"""What reading a damaged zip may raise."""
Tables = dict[str, pa.Table]


Bind = Callable[[Mapping[str, tuple[str, ...]], Positions], StandingQueries]


@dataclass(frozen=True, eq=False)
class Saved:
    """What a monitor is, its rules aside."""

    columns: TupleColumns
    evaluation: Evaluation

    def to_bytes(self) -> bytes:
        """Write it down."""
        tables: Tables = {}
        feeds, joins = self.evaluation.feeds, self.evaluation.joins
        about = {
            "format": FORMAT,
            "order": dataclasses.astuple(self.evaluation.order),
            "columns": [
                self.columns.stream_id,
                self.columns.ts,
                self.columns.ts_unit,
                self.columns.sequence,
            ],
            "axes": list(self.columns.axes.items()),
            "position": list(self.columns.position.items()),
            "feeds": [
                _write_feed(run, f"feed{n}/", tables) for n, run in enumerate(feeds.values())
            ],
            "joins": [
                _write_join(run, f"join{n}/", tables) for n, run in enumerate(joins.values())
            ],
        }
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as packed:
            files = {f"{name}.arrow": _arrow_bytes(table) for name, table in tables.items()}
            for name, content in {ABOUT: json.dumps(about).encode(), **files}.items():
                entry = zipfile.ZipInfo(name)  # of no time: equal states are equal bytes
                packed.writestr(entry, content, zipfile.ZIP_DEFLATED, compresslevel=1)
        return written.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes, bind: Bind) -> "Saved":
        """Read it under the rules that `bind` gives for the axes and positions of its feeds."""
        try:
            about, tables = _unpacked(content)
            return _restored(about, tables, bind)
        except DAMAGED as why:
            raise StateError(
                f"this is no state that a Monitor saved, or it is damaged: {why}"
            ) from why


def _arrow_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _unpacked(content: bytes) -> tuple[dict[str, Any], Tables]:
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        about = json.loads(packed.read(ABOUT))
        if about["format"] not in READ:
            raise StateError(
                f"the state has the format {about['format']}, this Fencepost reads "
                f"{READ[0]} to {FORMAT}"
            )
        return about, {
            name.removesuffix(".arrow"): pa.ipc.open_file(packed.read(name)).read_all()
            for name in packed.namelist()
            if name.endswith(".arrow")
        }


def _restored(
    about: Mapping[str, Any],
    tables: Tables,
    bind: Bind,
) -> Saved:
    stream_id, ts, ts_unit, *sequence = about["columns"]
    declared, position = (
        {feed: tuple(own) for feed, own in listed}
        for listed in (about["axes"], about.get("position", ()))
    )
    columns = TupleColumns(
        stream_id, ts, ts_unit, declared, sequence[0] if sequence else None, position
    )
    axes = {feed["feed"]: tuple(feed["axes"]) for feed in about["feeds"]}
    rules = bind(axes, columns.positions(axes))
    feeds = {
        feed["feed"]: _read_feed(feed, f"feed{n}/", tables, rules)
        for n, feed in enumerate(about["feeds"])
    }
    saved = {tuple(join["feeds"]): (n, join) for n, join in enumerate(about["joins"])}
    joins = {}
    for lane, sets in rules.joins.items():
        n, join = saved.get((sets.windows.left, sets.windows.right), (None, None))
        joins[lane] = (
            _begin_join(sets, feeds)
            if join is None
            else _read_join(join, f"join{n}/", tables, sets)
        )
    return Saved(columns, Evaluation(feeds, joins, _order_of(about)))


def _order_of(about: Mapping[str, Any]) -> OrderRules:
    """Before format 2 there was one way: the first tuple of an instant."""
    if about["format"] == 1:
        return OrderRules("first", about["lateness"])
    return OrderRules(*about["order"])


def _write_feed(run: FeedRun, prefix: str, tables: Tables) -> dict[str, Any]:
    state = run.state
    pending = state.pending.to_table(state.heads.names)
    hashes = _definitions(state.pending.of, state.pending.query.astype(np.int64))
    tables[prefix + "heads"] = replace(state.heads, axes=_numbered(state.heads.axes)).to_table()
    tables[prefix + "pending"] = pending.append_column("definition", hashes)
    tables[prefix + "waiting"] = _batch_table(state.waiting)
    return {
        "feed": state.feed,
        "axes": state.heads.axes,
        NUMBERED: True,
        "watermark": state.watermark,
        "accepted": run.accepted,
    }


def _numbered(axes: Sequence[str]) -> tuple[str, ...]:
    """Name axes by their numbers: no column of a state may take their names."""
    return tuple(f"axis{n}" for n in range(len(axes)))


def _read_feed(
    about: Mapping[str, Any], prefix: str, tables: Tables, rules: StandingQueries
) -> FeedRun:
    feed, axes = about["feed"], tuple(about["axes"])
    crossings = rules.sets[feed]
    run = FeedRun.of(crossings, rules.matches[feed])
    heads = tables[prefix + "heads"]
    written = _numbered(axes) if NUMBERED in about else axes
    heads = replace(Heads.from_table(written, heads, run.index.base), axes=axes)
    table = _of_same_rules(tables[prefix + "pending"], crossings)
    pending = Pending.from_table(crossings, heads.names, table)
    waiting = _batch_of(feed, axes, tables[prefix + "waiting"])
    run.state = FeedState(feed, heads, waiting, pending, about["watermark"])
    run.accepted = about["accepted"]
    return run


def _definitions(queries: QuerySet, rows: Int64s) -> pa.StringArray:
    """Hash what queries say, ids and versions included, by their rows, which may repeat."""
    distinct, place = np.unique(rows, return_inverse=True)
    high, low = hashes_of(queries.take(distinct).columns())
    hashes = [f"{a:016x}{b:016x}" for a, b in zip(high.tolist(), low.tolist(), strict=True)]
    return pa.array(hashes, pa.string()).take(pa.array(place))


def _of_same_rules(pending: pa.Table, queries: QuerySet) -> pa.Table:
    """Keep what is undecided of rules that still say the same."""
    row = codes_in(pending["query_id"].combine_chunks(), queries.ids)
    known = pending.filter(pa.array(row >= 0))
    now = _definitions(queries, row[row >= 0].astype(np.int64))
    return known.filter(pc.equal(known["definition"], now)).combine_chunks()


def _batch_table(batch: TupleBatch) -> pa.Table:
    columns = {"stream_id": batch.names.take(pa.array(batch.stream)), "ts": pa.array(batch.ts)}
    columns |= {f"axis{n}": pa.array(values) for n, values in enumerate(batch.values)}
    columns["nth"] = pa.array(np.zeros(0, np.int32) if batch.nth is None else batch.nth)
    if batch.sequence is not None:
        columns["sequence"] = batch.sequence
    return pa.table(columns)


def _batch_of(feed: str, axes: Sequence[str], table: pa.Table) -> TupleBatch:
    values = [table[f"axis{n}"].to_numpy() for n in range(len(axes))]
    sequence = table["sequence"].combine_chunks() if "sequence" in table.column_names else None
    return TupleBatch.from_columns(
        feed,
        axes,
        table["stream_id"].combine_chunks(),
        table["ts"].to_numpy(),
        np.array(values),
        sequence=sequence,
        nth=places_in(table, "nth"),
    )


def _write_join(run: "JoinRun", prefix: str, tables: Tables) -> dict[str, Any]:
    index = run.index
    for name, side in zip(("left", "right"), run.state.sides, strict=True):
        plain = replace(side, axes=_numbered(side.axes))
        tables[f"{prefix}{name}/heads"] = plain.heads_table()
        tables[f"{prefix}{name}/live"] = plain.live_table()
        waiting = _batch_table(side.waiting)
        tables[f"{prefix}{name}/waiting"] = waiting.append_column(
            "gone", pa.array(side.waiting_gone)
        )
    windows = _join_definitions(index.windows)
    return {
        NUMBERED: True,
        "feeds": run.state.feeds,
        "registry": run.registry,
        "sides": [[side.accepted, side.watermark] for side in run.state.sides],
        "windows": dict(zip(windows, index.windows.registered.tolist(), strict=True)),
        "bands": _in_force(index.bands, run.newly),
        "nears": _in_force(index.nears, run.near_newly),
    }


def _in_force(joins: BandJoins | NearJoins, newly: Int32s) -> list[str]:
    """Hash what the joins say whose results have begun."""
    begun = np.ones(len(joins), np.bool_)
    begun[newly] = False
    definitions = _join_definitions(joins)
    return [each for each, has_begun in zip(definitions, begun.tolist(), strict=True) if has_begun]


def _fresh(joins: BandJoins | NearJoins, begun: Sequence[str]) -> list[int]:
    """List the rows of the joins that are not among those whose results have begun."""
    return [row for row, each in enumerate(_join_definitions(joins)) if each not in begun]


def _read_join(
    about: Mapping[str, Any],
    prefix: str,
    tables: Tables,
    sets: JoinSets,
) -> "JoinRun":
    """Read the state of a join; rules that are not among those saved come into force now."""
    from fencepost.api.join_run import JoinRun
    from fencepost.joins.index import LaneIndex
    from fencepost.joins.state import LaneState, SideState

    windows = sets.windows
    since = [about["windows"].get(each) for each in _join_definitions(windows)]
    newly, near_newly = (
        [
            row
            for row, each in enumerate(_join_definitions(joins))
            if each not in about.get(name, ())
        ]
        for name, joins in (("bands", sets.bands), ("nears", sets.nears))
    )
    registry = about["registry"] + (1 if newly or near_newly or None in since else 0)
    registered = np.array([registry if n is None else n for n in since], np.int64)
    empty = (
        SideState.empty(feed, axes) for feed, axes in zip(about["feeds"], windows.axes, strict=True)
    )
    left, right = (
        _read_side(side, f"{prefix}{name}/", numbers, tables, is_numbered=NUMBERED in about)
        for name, side, numbers in zip(("left", "right"), empty, about["sides"], strict=True)
    )
    index = LaneIndex.build(sets._replace(windows=replace(windows, registered=registered)))
    state = LaneState((left, right))
    return JoinRun(
        index, state, registry, np.array(newly, np.int32), np.array(near_newly, np.int32)
    )


def _read_side(
    side: "SideState",
    prefix: str,
    numbers: tuple[int, int | None],
    tables: Tables,
    *,
    is_numbered: bool,
) -> "SideState":
    waiting, heads = tables[prefix + "waiting"], tables[prefix + "heads"]
    written = _numbered(side.axes) if is_numbered else side.axes
    read = replace(side, axes=written).with_heads(heads).with_live(tables[prefix + "live"])
    return replace(
        read,
        axes=side.axes,
        waiting=_batch_of(side.feed, side.axes, waiting),
        waiting_gone=waiting["gone"].to_numpy(),
        accepted=numbers[0],
        watermark=numbers[1],
    )


def _begin_join(sets: JoinSets, feeds: Mapping[str, FeedRun]) -> "JoinRun":
    """Begin joins of feeds that are known: their last tuples are the sets, and all joins new."""
    from fencepost.api.join_run import JoinRun
    from fencepost.joins.index import LaneIndex
    from fencepost.joins.state import LaneState, SideState

    windows, bands, nears = sets
    sides = []
    for place, (feed, axes) in enumerate(
        zip((windows.left, windows.right), windows.axes, strict=True)
    ):
        if place == 1 and feed == windows.left:
            sides.append(SideState.empty(feed, axes))
            continue
        state = feeds[feed].state
        side = replace(
            SideState.empty(feed, axes),
            names=state.heads.names,
            ts=state.heads.ts,
            values=state.heads.values,
            member=np.ones(len(state.heads), np.bool_),
            ts_place=state.heads.ts_place,
            sequence=state.heads.sequence,
            waiting=state.waiting,
            waiting_gone=np.zeros(len(state.waiting), np.bool_),
            watermark=state.watermark,
        )
        sides.append(side)
    newly = (np.arange(len(joins), dtype=np.int32) for joins in (bands, nears))
    return JoinRun(LaneIndex.build(sets), LaneState((sides[0], sides[1])), 0, *newly)


def _join_definitions(joins: WindowJoins | BandJoins | NearJoins) -> list[str]:
    """Hash what each join says, its id included; when it was registered is no part of it."""
    left_out = ("registered", "regions")
    named = [field.name for field in dataclasses.fields(joins) if field.name not in left_out]
    definitions = []
    for row in range(len(joins)):
        one = joins.take(np.array([row]))
        said = [_bytes_of(getattr(one, name)) for name in named]
        if isinstance(one, WindowJoins):
            said += [_region_of(each) for each in one.regions if each.position is not None]
        definitions.append(digest(b"\0".join(said)))
    return definitions


def _region_of(regions: SideRegions) -> bytes:
    """Give the bytes that say one region, and what it is on."""
    return regions.shapes.hashes().tobytes() + repr(regions.position).encode()


def _bytes_of(value: object) -> bytes:
    if isinstance(value, np.ndarray):
        return value.tobytes()
    return repr(value.to_pylist() if isinstance(value, pa.Array) else value).encode()
