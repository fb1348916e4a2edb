"""S4: band joins kept up. Update cost against n and τ, memory, and two peers.

Bands surround hotspots of the difference, values anywhere on a wider range. Times are those of the
thread, the least of some rounds, each on a new plane; against peers, wall-clock times.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.matches_made import Scale, span
from benchmarks.report import Line
from fencepost.joins.bands import LEFT, BandChanges, BandPlane, Members, StabbingPartition
from fencepost.tuples import Bools, Doubles, Int8s, Int32s

HOTSPOTS = 20
REACH = 100.0  # the hotspots are within −100 to 100
RANGE = 10_000.0  # and the values from 0 to this
END_TO_END, TIMES = 2.0, 100.0
EVERY = 10_000  # updates to a recomputation
SAMPLE = 5
Updates = tuple[Int8s, Int32s, Doubles, Bools]
Words = np.ndarray[tuple[int], np.dtype[np.uint64]]


@dataclass(frozen=True, eq=False)
class Setting:
    """Bands, both sides, and what happens to them."""

    low: Doubles
    high: Doubles
    left: Members
    right: Members
    updates: Updates

    def plane(self) -> BandPlane:
        """Build a new plane."""
        return BandPlane.build(StabbingPartition.build(self.low, self.high), self.left, self.right)


def setting(
    widths: Doubles, hotspots: int, members: int, updates: int, step: float | None = None
) -> Setting:
    """Bands of half these widths each way round hotspots; values jump, or move by about a step."""
    draw = np.random.default_rng(7)
    centre = np.linspace(-REACH, REACH, hotspots)[draw.integers(0, hotspots, len(widths))]
    streams = np.arange(members, dtype=np.int32)
    values = draw.uniform(0, RANGE, (2, members))
    side = draw.integers(0, 2, updates).astype(np.int8)
    stream = draw.integers(0, members, updates).astype(np.int32)
    if step is None:
        moved = draw.uniform(0, RANGE, updates)
    else:
        moved = values[side, stream] + draw.normal(0, step, updates)
    gone = np.zeros(updates, np.bool_)
    return Setting(
        centre - widths, centre + widths, (streams, values[0]), (streams, values[1]),
        (side, stream, moved, gone),
    )  # fmt: skip


def _narrowing(n: int) -> Doubles:
    """Half widths, so that a delete and an insert hit 20 pairs for any n: more bands are narrower.

    With a value a unit of the range, a band of half width w is hit by 2 w of the other side.
    """
    widths = np.arange(1.0, n + 1) ** -1.5
    widths *= 5 / widths.sum()
    return np.random.default_rng(3).permutation(widths)


@dataclass(frozen=True)
class Update:
    """What an update costs: seconds, changes, and the groups that the bands are in."""

    seconds: float
    changes: float
    tau: int


def each_of(n: int, hotspots: int, members: int, updates: int, scale: Scale) -> Update:
    """Check the changes of some updates at n bands, then time them all."""
    made = setting(_narrowing(n), hotspots, members, updates)
    changes = _checked(made)
    seconds = _each(made, scale.repeats)
    return Update(seconds, len(changes) / changes.updates, made.plane().tau())


def by_bands(scale: Scale) -> Iterator[Line]:
    """The cost of an update at n bands, with m, τ and k the same."""
    members = scale.of(10_000, 1000)
    took = {}
    for n in scale.some((1_000, 10_000, 100_000, 1_000_000), 2):
        each = each_of(n, HOTSPOTS, members, scale.of(200_000, 500), scale)
        took[n] = each.seconds
        yield Line(
            f"n = {n:,}: against n = {min(took):,}", took[n] / took[min(took)],
            facts=f"{span(took[n])} an update, {each.changes:.1f} changes; "
            f"m = {members:,} a side, τ = {each.tau}",
        )  # fmt: skip
    yield Line(
        "an update from end to end, dearest to cheapest",
        max(took.values()) / min(took.values()), END_TO_END,
    )  # fmt: skip


def by_groups(scale: Scale) -> Iterator[Line]:
    """The cost of an update at τ groups, with n, m and k the same."""
    members, n = scale.of(10_000, 1000), 10_000
    took = {}
    for hotspots in scale.some((1, 3, 10, 30, 100, 300, 1000), 2):
        each = each_of(n, hotspots, members, scale.of(20_000, 500), scale)
        tau, took[each.tau] = each.tau, each.seconds
        yield Line(
            f"τ = {tau:,}: against τ = {min(took)}", took[tau] / took[min(took)],
            facts=f"{span(took[tau])} an update, {each.changes:.1f} changes; "
            f"{span(took[tau] / tau)} a group",
        )  # fmt: skip


def upkeep(scale: Scale) -> Iterator[Line]:
    """U2: bands come and go, and the groups number at most 2 τ(I) + 1 all the while."""
    n, rounds = scale.of(10_000, 300), scale.of(1_500, 100)
    for told, hotspots, wide in (("round 20 hotspots", HOTSPOTS, 1.0), ("anywhere", 10**6, 0.05)):
        draw = np.random.default_rng(5)
        widths = wide * draw.random(n)
        made = setting(widths, hotspots, 1, 1)
        kept = StabbingPartition.build(made.low, made.high)
        worst, took = 0.0, 0.0
        for _ in range(rounds):
            begin = time.thread_time()
            if draw.random() < 0.5:
                at, reach = draw.uniform(-REACH, REACH, 2), wide * draw.random(2)
                kept = kept.with_added(at - reach, at + reach)
            else:
                kept = kept.with_removed(draw.integers(0, len(kept), 2))
            took += time.thread_time() - begin
            worst = max(worst, kept.tau / (2 * kept.optimal() + 1))
        kept.check()
        yield Line(
            f"bands {told}: most groups ever, to 2 τ(I) + 1", worst, 1.0,
            facts=f"{rounds:,} additions or removals of two bands each at n = {n:,}, "
            f"{span(took / rounds)} each; τ = {kept.tau}, the fewest {kept.optimal()}",
        )  # fmt: skip


def memory(scale: Scale) -> Iterator[Line]:
    """The memory of sets and bands, before updates and after."""
    for hotspots in scale.some((20, 200), 2):
        members, n = scale.of(100_000, 1000), scale.of(100_000, 1000)
        made = setting(_narrowing(n), hotspots, members, scale.of(200_000, 500))
        plane = made.plane()
        before = plane.points.nbytes
        plane.apply(*made.updates)
        bands, m, tau = plane.partition.nbytes, 2 * members, plane.tau()
        after = plane.points.nbytes
        yield Line(
            f"τ = {tau}: bytes", None,
            facts=f"{bands / n:.1f} a band; {before / m:.1f} a stream, {after / m:.1f} after "
            f"{len(made.updates[0]):,} jumps; {after / (m * tau):.3f} for each of m τ; "
            f"n = {n:,}, m = {m:,}",
        )  # fmt: skip


def against_peers(scale: Scale) -> Iterator[Line]:
    """A million small moves, against a hundred recomputations of the full result."""
    from benchmarks.joins_peers_bands import in_duckdb, in_polars

    n, members = scale.of(10_000, 500), scale.of(100_000, 2_000)
    updates = scale.of(1_000_000, 10_000)
    widths = np.random.default_rng(3).random(n) * scale.of(3, 100) / 100
    made = setting(widths, HOTSPOTS, members, updates, step=1e-4 * scale.of(1, 50))
    plane = made.plane()
    total = 0
    for rows in np.array_split(np.arange(n), 20):
        held = plane.pairs(rows)
        total += _marked((held.query, held.left_stream, held.right_stream))
    plane.apply(*(column[:0] for column in made.updates))
    took, alone, changed = 0.0, 0.0, 0
    for first in range(0, updates, EVERY):
        part = tuple(column[first : first + EVERY] for column in made.updates)
        begin, own = time.perf_counter(), time.thread_time()
        changes = plane.apply(*part)
        took += time.perf_counter() - begin
        alone += time.thread_time() - own
        changed += len(changes)
        total += _marked_changes(changes)
    plane.check()
    peers = {"DuckDB": in_duckdb, "Polars": in_polars}
    for name, ask in peers.items():
        once, way, many, theirs = ask(plane, _marked)
        assert (theirs - total) % (1 << 64) == 0, f"{name} and the maintained result differ"
        often = updates // EVERY
        yield Line(
            f"{name}, {often} recomputations, to {updates:,} updates of ours",
            often * once / took, TIMES, at_least=True,
            facts=f"{span(once)} each by {way} ({often} × one that was timed), {many:,} "
            f"pairs; ours {span(took / updates)} an update ({span(alone / updates)} of the "
            f"processor), {changed / updates:.1f} changes",
        )  # fmt: skip


def _each(made: Setting, repeats: int) -> float:
    """The least seconds of an update, on a new plane in each round."""
    best = float("inf")
    for _ in range(repeats):
        plane = made.plane()
        begin = time.thread_time()
        plane.apply(*made.updates)
        best = min(best, time.thread_time() - begin)
    return best / len(made.updates[0])


def _checked(made: Setting) -> BandChanges:
    """Apply the updates, and compare the changes of the first ones with brute force."""
    changes = made.plane().apply(*made.updates)
    now = [made.left[1].copy(), made.right[1].copy()]
    for u in range(SAMPLE):
        side, stream, value = (column[u] for column in made.updates[:3])
        before = _pairs_at(made, side, now[side][stream], now[1 - side])
        now[side][stream] = value
        after = _pairs_at(made, side, value, now[1 - side])
        mine = changes.update == u
        other = changes.right_stream if side == LEFT else changes.left_stream
        keys = changes.query[mine].astype(np.int64) << 32 | other[mine]
        for change, wanted in ((-1, before - after), (1, after - before)):
            assert set(keys[changes.change[mine] == change].tolist()) == wanted, f"update {u}"
    return changes


def _pairs_at(made: Setting, side: int, value: float, others: Doubles) -> set[int]:
    apart = value - others if side == LEFT else others - value
    near = np.flatnonzero((made.low.min() <= apart) & (apart <= made.high.max()))
    pairs: set[int] = set()
    for stream in near.tolist():
        inside = (made.low <= apart[stream]) & (apart[stream] <= made.high)
        pairs.update((np.flatnonzero(inside) << 32 | stream).tolist())
    return pairs


def _marked(rows: tuple[Int32s, Int32s, Int32s], chunk: int = 1 << 22) -> int:
    """Add up a mark of each row: equal sums, equal sets."""
    total = 0
    for first in range(0, len(rows[0]), chunk):
        part = [column[first : first + chunk].astype(np.uint64) for column in rows]
        total += int(_mixed(part).sum())
    return total


def _marked_changes(changes: BandChanges) -> int:
    columns = (changes.query, changes.left_stream, changes.right_stream)
    marks = _mixed([column.astype(np.uint64) for column in columns])
    return int(marks[changes.change > 0].sum()) - int(marks[changes.change < 0].sum())


def _mixed(columns: list[Words]) -> Words:
    key = columns[0]
    for column in [*columns[1:], np.uint64(0)]:
        key = (key ^ (key >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9) + column
    return key ^ (key >> np.uint64(32))


SECTIONS: dict[str, tuple[str, Callable[[Scale], Iterator[Line]]]] = {
    "bands": ("S4: an update at n bands (k about 20, a delete and an insert each)", by_bands),
    "groups": ("S4: an update at τ groups (n = 10,000)", by_groups),
    "upkeep": ("S4: the partition under U2", upkeep),
    "band bytes": ("S4: memory", memory),
    "band peers": (
        "10 K bands over two sets of 100 K, 1 M updates: recomputing every 10 K",
        against_peers,
    ),
}
