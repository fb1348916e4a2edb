"""A day of the town's vehicles: cars to work and out in the evening, vans on rounds, cabs always.

Cars stay at home until morning, by day where their owners work, some in the evening at a garage in
the middle of the town. Their trackers report every half minute under way, and as a sign of life
every ten minutes at rest.

Law: as in `locations`, a vehicle is always on a road and never faster than the road allows; at rest
it is at a crossing. Its first report under way, and its first at rest, are never left out.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from fencepost.times import SECOND
from fencepost.tuples import Doubles, Int64s, TupleBatch
from pipelines.workloads.draws import Draws
from pipelines.workloads.locations import MovingObjects, Traffic
from pipelines.workloads.parts import START, at_least, numbered, one_delivery
from pipelines.workloads.roads import RoadNetwork

HOUR = 3600.0  # in seconds, as all times of a day here
INTERVAL = 30
UPDATES = 24 * 3600 // INTERVAL
SIGN_OF_LIFE = 20  # updates
CARS, VANS = 0.72, 0.18  # of the vehicles; the others are cabs
MORNING, HOME_TIME, LATE = 7.75 * HOUR, 17.0 * HOUR, 21.25 * HOUR
SPREAD = 0.7 * HOUR
OUT = 0.4  # of the cars go to a garage in the evening
BRIEF = 300.0
ROUND_BEGINS, ROUND_ENDS = (5.5 * HOUR, 9.0 * HOUR), (15.0 * HOUR, 19.5 * HOUR)
SHORT_REST, LONG_REST = 60.0, 900.0  # of vans and cabs, between two trips
NEVER = 1e9


@dataclass(frozen=True, kw_only=True)
class TownDay:
    """24 hours of vehicles from `start`, and the garages where they park.

    tuples   1.5 s for 2,000 vehicles, 570 reports each

    garages  how many, each at a different crossing: the first fifth are filled in the evening,
             the next half by day, the others at night
    """

    vehicles: int = 2_000
    garages: int = 60
    start: int = START
    seed: int = 1
    feed: str = "locations"

    axes = ("x", "y", "speed")

    def __post_init__(self) -> None:
        """Raise InputError for impossible settings."""
        at_least("vehicles", self.vehicles, 10)
        at_least("garages", self.garages, 5)

    @cached_property
    def counts(self) -> tuple[int, int, int]:
        """Return how many cars, vans and cabs there are."""
        cars, vans = int(np.rint(self.vehicles * CARS)), int(np.rint(self.vehicles * VANS))
        return cars, vans, self.vehicles - cars - vans

    @cached_property
    def names(self) -> pa.StringArray:
        """Return the streams: the cars, the vans, the cabs."""
        words = zip(("car-", "van-", "cab-"), self.counts, strict=True)
        return pa.concat_arrays([numbered(word, count) for word, count in words])

    def garages_at(self, roads: RoadNetwork) -> tuple[Int64s, Int64s, Int64s]:
        """Return the crossings with a garage that fills in the evening, by day, at night."""
        near = from_the_middle(roads)
        evening, day = self.garages // 5, self.garages // 2
        inner = near[: 2 * (evening + day) : 2]
        outer = near[::-1][: 4 * (self.garages - evening - day) : 4]
        shuffled = inner[Draws(self.seed, "day garages").order(len(inner))]
        return shuffled[:evening], shuffled[evening:], outer

    def tuples(self, roads: RoadNetwork) -> TupleBatch:
        """Simulate the day, and collect the trackers' reports, in time order."""
        phase = 1000 * Draws(self.seed, "clocks").below(1000 * INTERVAL, self.vehicles)
        turn = np.argsort(phase, kind="stable")
        calls = np.arange(self.vehicles) % SIGN_OF_LIFE
        traffic = DayTraffic(self, roads)
        streams, times, readings = [], [], []
        moved = np.zeros(self.vehicles, np.bool_)
        for update in range(UPDATES):
            traffic.advance()
            moves = traffic.way > 0.0
            reports = moves | moved | (update % SIGN_OF_LIFE == calls)
            moved = moves
            who = turn[reports[turn]]
            streams.append(who.astype(np.int32))
            times.append(self.start + update * INTERVAL * SECOND + phase[who])
            readings.append(np.stack([column[who] for column in traffic.readings()]))
        ts, values = np.concatenate(times), np.concatenate(readings, axis=1)
        return one_delivery(self.feed, self.axes, self.names, np.concatenate(streams), ts, values)


class DayTraffic(Traffic):
    """Traffic whose trips follow the hours of the day."""

    def __init__(self, plan: TownDay, roads: RoadNetwork) -> None:
        """Put every vehicle where it spends the night."""
        moving = MovingObjects(
            objects=plan.vehicles, fast=1.0, interval=INTERVAL * SECOND, seed=plan.seed
        )
        super().__init__(moving, roads)
        self.now = 0.0
        draws = Draws(plan.seed, "day plans")
        count = plan.vehicles
        cars, vans, _ = plan.counts
        self._stops, self._leaves = stops_of_cars(plan, roads, draws)
        self._stop = np.zeros(count, np.int64)
        self._home = self._stops[:, 0]
        self._ends = draws.between(*ROUND_ENDS, count)
        self._ends[cars + vans :] = NEVER
        self._is_car = np.arange(count) < cars
        begins = draws.between(*ROUND_BEGINS, count)
        begins[cars + vans :] = draws.between(0.0, LONG_REST, count - cars - vans)
        self.here = self._home.copy()
        self.goal = np.where(self._is_car, self._stops[:, 1], self._elsewhere(self.here))
        self.rest = np.where(self._is_car, self._leaves[:, 0], begins)
        self.arm = self._arm_towards(np.arange(count))
        self.done = np.zeros(count)

    def advance(self) -> None:
        """Move every vehicle for one interval."""
        super().advance()
        self.now += self.seconds

    def _next_trip(self, who: Int64s, left: Doubles) -> tuple[Int64s, Doubles]:
        """Send cars to the next stop of their day, vans and cabs anywhere, until they go home."""
        now = self.now + self.seconds - left
        self._stop[who] = np.minimum(self._stop[who] + 1, self._stops.shape[1] - 1)
        stop = self._stop[who]
        following = self._stops[who, np.minimum(stop + 1, self._stops.shape[1] - 1)]
        due = np.maximum(self._leaves[who, stop] - now, BRIEF)
        roams = self._elsewhere(self.here[who])
        pause = self._trips.between(SHORT_REST, LONG_REST, len(who))
        over = now >= self._ends[who]
        at_home = over & (self.here[who] == self._home[who])
        goal = np.where(over & ~at_home, self._home[who], roams)
        pause = np.where(at_home, NEVER, pause)
        is_car = self._is_car[who]
        is_last = following == self.here[who]
        goal = np.where(is_car & ~is_last, following, goal)
        return goal, np.where(is_car, np.where(is_last, NEVER, due), pause)


def stops_of_cars(plan: TownDay, roads: RoadNetwork, draws: Draws) -> tuple[Int64s, Doubles]:
    """Return where each vehicle stops, [vehicles, 4], home first, and when it leaves there."""
    count, near = plan.vehicles, from_the_middle(roads)
    evening, day, night = plan.garages_at(roads)
    u, v = draws.uniform(count), draws.uniform(count)
    outer = near[len(near) - 1 - (u * u * len(near)).astype(np.int64)]
    inner = near[(v * v * len(near)).astype(np.int64)]
    home = np.where(draws.uniform(count) < 0.2, night[draws.below(len(night), count)], outer)
    work = np.where(draws.uniform(count) < 0.6, day[draws.below(len(day), count)], inner)
    work = np.where(work == home, np.where(home == near[0], near[1], near[0]), work)
    out = evening[draws.below(len(evening), count)]
    goes_out = (draws.uniform(count) < OUT) & (out != work) & (out != home)
    spread = [SPREAD * draws.normal(count) for _ in range(3)]
    first, second, third = (
        at + by for at, by in zip((MORNING, HOME_TIME, LATE), spread, strict=True)
    )
    never = np.full(count, NEVER)
    stops = np.stack([home, work, np.where(goes_out, out, home), home], axis=1)
    leaves = np.stack([first, second, np.where(goes_out, third, never), never], axis=1)
    return stops, leaves


def from_the_middle(roads: RoadNetwork) -> Int64s:
    """Return the crossings, those in the middle of the town first."""
    x, y = roads.x - roads.extent / 2.0, roads.y - roads.extent / 2.0
    return np.argsort(x * x + y * y, kind="stable")
