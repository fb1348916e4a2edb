"""Moving objects on the roads of a town: S1's two-axis set-up, by our own generator.

Every object is on a trip to a crossing, by the quickest way, and sets out for another when it
arrives. Traffic decides how much of the road's limit it reaches; one update in four finds the
traffic changed.

Law: an object is always on a road, and never faster than the road and its class allow. Fast objects
reach 60 km/h and make 20 in the mean, slow ones 12 and 4.3 (S1 §7.2), within a tenth.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.times import SECOND
from fencepost.tuples import Doubles, Int64s, TupleBatch
from pipelines.workloads.draws import Draws
from pipelines.workloads.parts import START, above, at_least, numbered, one_delivery, share
from pipelines.workloads.roads import RoadNetwork

FAST_LIMIT, SLOW_LIMIT = 60.0, 12.0  # km/h
# The pace is the part of the limit that traffic leaves: CRAWL + (1 − CRAWL) u². With 0.05 both
# classes come within 4% of S1's mean speeds on our towns (arterials 60 km/h, streets 40).
CRAWL = 0.05
TRAFFIC_CHANGES = 0.25  # at this part of the updates
KMH = 3.6  # km/h in one m/s


class Speeds(NamedTuple):
    """Of one class of objects, in km/h."""

    mean: float
    highest: float


@dataclass(frozen=True, kw_only=True)
class MovingObjects:
    """S1 §7.2: 1,000 objects, an update each 30 s, 100 updates each; half of them fast.

    tuples   200 ns an update with 2,000 objects, beside 0.2 s for the routes

    fast       the share of fast objects, named vehicle-…; they come first, then the walker-…
    interval   between two updates of an object, in µs; the objects' clocks are spread over it
    parked     how long an object rests where a trip ends, in µs: uniform from 0 to twice that;
               S1's mean speeds are those of objects that never rest
    speed      with a third axis: the distance covered since the update before, in km/h
    """

    objects: int = 1_000
    updates: int = 100
    fast: float = 0.5
    interval: int = 30 * SECOND
    parked: int = 0
    speed: bool = True
    start: int = START
    seed: int = 1
    feed: str = "locations"

    def __post_init__(self) -> None:
        """Raise InputError for impossible settings."""
        at_least("objects", self.objects, 1)
        at_least("updates", self.updates, 1)
        share("fast", self.fast)
        above("interval", self.interval, 999, 3600 * SECOND)
        at_least("parked", self.parked, 0)

    @property
    def axes(self) -> tuple[str, ...]:
        """Return x, y and, where wanted, speed."""
        return ("x", "y", "speed") if self.speed else ("x", "y")

    @property
    def vehicles(self) -> int:
        """Return how many objects are fast."""
        return int(np.rint(self.objects * self.fast))

    @property
    def names(self) -> pa.StringArray:
        """Return the streams: the vehicles, then the walkers."""
        return pa.concat_arrays(
            [
                numbered("vehicle-", self.vehicles),
                numbered("walker-", self.objects - self.vehicles),
            ]
        )

    def tuples(self, roads: RoadNetwork) -> TupleBatch:
        """Move, all objects in time order."""
        phase = 1000 * Draws(self.seed, "clocks").below(self.interval // 1000, self.objects)
        turn = np.argsort(phase, kind="stable")
        traffic = Traffic(self, roads)
        values = np.empty((len(self.axes), self.updates, self.objects))
        traffic.advance()  # so that the first update has a speed
        for update in range(self.updates):
            traffic.advance()
            for axis, column in enumerate(traffic.readings()[: len(self.axes)]):
                values[axis, update] = column[turn]
        at = self.start + self.interval * np.arange(self.updates, dtype=np.int64)
        ts = (at[:, None] + phase[turn]).ravel()
        stream = np.tile(turn.astype(np.int32), self.updates)
        columns = values.reshape(len(self.axes), -1)
        return one_delivery(self.feed, self.axes, self.names, stream, ts, columns)


class Traffic:
    """Where every object is, and what it is about to do; `advance` is one interval for all at once.

    advance  0.2 µs an object, in as many rounds as the busiest object passes crossings
    """

    def __init__(self, plan: MovingObjects, roads: RoadNetwork) -> None:
        """Put every object on a road, on its way from its own crossing to its first goal."""
        self.roads = roads
        self.seconds = plan.interval / SECOND
        self.parked = plan.parked / SECOND
        self._traffic, self._trips = Draws(plan.seed, "traffic"), Draws(plan.seed, "trips")
        leads, road = roads.arms
        self._leads, self._limit = leads.ravel(), (roads.limit / KMH)[road].ravel()
        self._length, self._most = roads.length[road].ravel(), leads.shape[1]
        slow = np.arange(plan.objects) >= plan.vehicles
        self.top = np.where(slow, SLOW_LIMIT, FAST_LIMIT)
        quickest, shortest = roads.length / roads.limit, roads.length  # for the fast, the slow
        self._routes = np.stack([roads.routes(quickest), roads.routes(shortest)])
        self._kind = slow.astype(np.int64)
        self.here = self._trips.below(len(roads.x), plan.objects)
        self.goal = self._elsewhere(self.here)
        self.arm = self._arm_towards(np.arange(plan.objects))
        self.done = self._trips.uniform(plan.objects) * self._length[self.arm]
        self.rest = np.zeros(plan.objects)
        self.way = np.zeros(plan.objects)
        self.pace = self._new_pace()

    def advance(self) -> None:
        """Move every object for one interval."""
        count = len(self.top)
        changes = self._traffic.uniform(count) < TRAFFIC_CHANGES
        self.pace = np.where(changes, self._new_pace(), self.pace)
        self.way = np.zeros(count)
        left = np.full(count, self.seconds)
        moving = np.arange(count)
        while len(moving):
            pause = np.minimum(self.rest[moving], left[moving])
            self.rest[moving] -= pause
            left[moving] -= pause
            moving = self._along(moving, left)

    def _along(self, who: Int64s, left: Doubles) -> Int64s:
        """Move these to the end of their road or as far as they come; return those with time."""
        arm = self.arm[who]
        speed = np.minimum(self._limit[arm], self.top[who] / KMH) * self.pace[who]
        room = self._length[arm] - self.done[who]
        need = room / speed
        arrives = need <= left[who]
        go = np.where(arrives, room, speed * left[who])
        self.way[who] += go
        self.done[who] += go
        left[who] = np.where(arrives, left[who] - need, 0.0)
        self._turn_off(who[arrives], left)
        return who[left[who] > 0.0]

    def _turn_off(self, who: Int64s, left: Doubles) -> None:
        """Choose the next road of the route; where the trip ends, plan another."""
        self.here[who] = self._leads[self.arm[who]]
        there = who[self.here[who] == self.goal[who]]
        self.goal[there], self.rest[there] = self._next_trip(there, left[there])
        self.arm[who] = self._arm_towards(who)
        self.done[who] = 0.0

    def _next_trip(self, who: Int64s, left: Doubles) -> tuple[Int64s, Doubles]:
        """Return the next goals of these, and how many seconds they rest first.

        They have arrived with `left` seconds of the interval remaining.
        """
        goal = self._elsewhere(self.here[who])
        return goal, self._trips.between(0.0, 2.0 * self.parked, len(left))

    def _arm_towards(self, who: Int64s) -> Int64s:
        """Return the next road, as an index among all arms."""
        here = self.here[who]
        turn = self._routes[self._kind[who], here, self.goal[who]]
        return np.asarray(here * self._most + turn, np.int64)

    def _elsewhere(self, here: Int64s) -> Int64s:
        """Choose a crossing for each object, any but the one where it is."""
        goal = self._trips.below(len(self.roads.x) - 1, len(here))
        return goal + (goal >= here)

    def _new_pace(self) -> Doubles:
        """Draw the part of the limit that traffic leaves to each object."""
        u = self._traffic.uniform(len(self.top))
        return CRAWL + (1.0 - CRAWL) * (u * u)

    def readings(self) -> tuple[Doubles, Doubles, Doubles]:
        """Return x and y in metres, and the speed of the last interval in km/h."""
        roads, ahead = self.roads, self._leads[self.arm]
        part = self.done / self._length[self.arm]
        x, y = roads.x[self.here], roads.y[self.here]
        speed = np.minimum(self.way * (KMH / self.seconds), self.top)  # no rounding error on top
        return x + part * (roads.x[ahead] - x), y + part * (roads.y[ahead] - y), speed


def speed_figures(tuples: TupleBatch) -> dict[str, Speeds]:
    """Return the speeds of 'vehicle' and 'walker' objects, if there are any, in O(n)."""
    speed = tuples.values[tuples.axes.index("speed")]
    vehicle = pc.starts_with(tuples.names, "vehicle-").to_numpy(zero_copy_only=False)
    fast = vehicle[tuples.stream]
    classes = {"vehicle": speed[fast], "walker": speed[~fast]}
    return {name: Speeds(float(s.mean()), float(s.max())) for name, s in classes.items() if len(s)}
