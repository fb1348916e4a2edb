"""Geofences as people draw them, over the town on the earth: districts, parking circles, corridors.

Law: the districts part the town: neighbours have the same vertices along the edge between them, so
every place in the town lies in exactly one. No district's edge runs along a road.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from fencepost.tuples import Doubles, Int64s
from pipelines.workloads.draws import Draws
from pipelines.workloads.globe import degrees
from pipelines.workloads.parts import above, at_least, numbered
from pipelines.workloads.roads import LINES, RoadNetwork
from pipelines.workloads.squares import Garages

OUTWARDS = 1.1

Region = dict[str, Any]
"""A region of a query, as JSON has it."""


@dataclass(frozen=True, kw_only=True)
class Districts:
    """A number of districts, as polygons that share their edges: rows of them, south to north.

    table    30 µs a district

    Their edges run through the middles of the squares between crossings.
    """

    count: int = 36
    within: int | None = None

    def __post_init__(self) -> None:
        """Raise InputError for more districts than there are squares."""
        at_least("districts", self.count, 0)
        above("districts", self.count, -1, LINES * LINES)

    def rings(self, roads: RoadNetwork) -> list[Doubles]:
        """Return the vertices of each, [2, k] in metres, counterclockwise, the first not again."""
        grids = (at.reshape(LINES, LINES) for at in (roads.x, roads.y))
        corners = np.stack([corners_of_squares(at, roads.extent / 2.0) for at in grids])
        rows = int(np.rint(np.sqrt(self.count)))
        found = []
        for row in range(rows):
            south, north = row * LINES // rows, (row + 1) * LINES // rows
            many = (row + 1) * self.count // rows - row * self.count // rows
            for column in range(many):
                west, east = column * LINES // many, (column + 1) * LINES // many
                block = corners[:, south : north + 1, west : east + 1]
                edges = (
                    block[:, 0, :-1],
                    block[:, :-1, -1],
                    block[:, -1, :0:-1],
                    block[:, :0:-1, 0],
                )
                found.append(np.concatenate(edges, axis=1))
        return found

    def table(self, roads: RoadNetwork) -> pa.Table:
        """Return the columns id, region, and within where there is one."""
        regions = [polygon(ring) for ring in self.rings(roads)]
        return region_table(numbered("district-", self.count), regions, self.within)


@dataclass(frozen=True, kw_only=True)
class ParkingCircles:
    """The town's parking garages as circles: where `Garages` has squares, and of the same size.

    table    5 µs a circle
    """

    count: int = 50
    radius: float = 20.0
    within: int | None = Garages.within
    seed: int = 1

    def __post_init__(self) -> None:
        """Raise InputError for impossible settings."""
        at_least("garages", self.count, 0)
        above("radius", self.radius, 1e-3, 1e5)

    def table(self, roads: RoadNetwork) -> pa.Table:
        """Return the columns id, region, and within where there is one."""
        x, y = Garages(count=self.count, seed=self.seed).middles(roads)
        regions = [circle(*at, self.radius) for at in zip(x, y, strict=True)]
        return region_table(numbered("garage-", self.count), regions, self.within)


@dataclass(frozen=True, kw_only=True)
class Corridors:
    """Corridors along the quickest way from one side of the town to the other.

    table    0.2 s for the ways, and 20 µs a corridor
    """

    count: int = 1
    width: float = 40.0
    within: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        """Raise InputError for impossible settings."""
        at_least("corridors", self.count, 0)
        above("width", self.width, 1e-3, 1e5)

    def table(self, roads: RoadNetwork) -> pa.Table:
        """Return the columns id, region, and within where there is one."""
        ways = ways_across(roads, self.count, self.seed) if self.count else []
        regions = [corridor(roads.x[way], roads.y[way], self.width) for way in ways]
        return region_table(numbered("corridor-", self.count), regions, self.within)


@dataclass(frozen=True, kw_only=True)
class Geofences:
    """Districts, parking circles and corridors together; `garage_within` is of the circles."""

    districts: int = Districts.count
    garages: int = ParkingCircles.count
    corridors: int = Corridors.count
    within: int | None = None
    garage_within: int | None = ParkingCircles.within
    seed: int = 1

    def table(self, roads: RoadNetwork) -> pa.Table:
        """Return the columns id, region, and within where some have one."""
        each = (
            Districts(count=self.districts, within=self.within),
            ParkingCircles(count=self.garages, within=self.garage_within, seed=self.seed),
            Corridors(count=self.corridors, within=self.within, seed=self.seed),
        )
        tables = [zones.table(roads) for zones in each]
        return pa.concat_tables(tables, promote_options="default")


def ways_across(roads: RoadNetwork, count: int, seed: int) -> list[Int64s]:
    """Return the crossings on the quickest way from one in the outer town to the one opposite."""
    half = roads.extent / 2.0
    far = (roads.x - half) ** 2 + (roads.y - half) ** 2
    outer = np.argsort(far, kind="stable")[len(far) // 2 :]
    begins = outer[Draws(seed, "corridors").below(len(outer), count)]
    leads, _ = roads.arms
    routes = roads.routes(roads.length / roads.limit)
    ways = []
    for begin in begins.tolist():
        across = (roads.x + roads.x[begin] - 2.0 * half) ** 2
        end = int(np.argmin(across + (roads.y + roads.y[begin] - 2.0 * half) ** 2))
        way = [begin]
        while way[-1] != end:
            way.append(int(leads[way[-1], routes[way[-1], end]]))
        ways.append(np.array(way))
    return ways


def corners_of_squares(at: Doubles, middle: float) -> Doubles:
    """Return the middles of the squares between crossings, on one axis: [n + 1, n + 1] of [n, n].

    Around the town are further crossings for them, a step outwards from its middle.
    """
    around = np.pad(np.ones(at.shape), 1, constant_values=OUTWARDS)
    wide = (np.pad(at, 1, mode="edge") - middle) * around
    total: Doubles = wide[:-1, :-1] + wide[:-1, 1:] + wide[1:, :-1] + wide[1:, 1:]
    return middle + total / 4.0


def polygon(ring: Doubles) -> Region:
    """Return a GeoJSON polygon of one ring in metres."""
    places = positions(ring[0], ring[1])
    return {"type": "Polygon", "coordinates": [[*places, places[0]]]}


def circle(x: float, y: float, radius: float) -> Region:
    """Return a circle about a place in metres."""
    middle = positions(np.array([x]), np.array([y]))[0]
    return {"circle": {"center": middle, "radius": f"{radius:g}m"}}


def corridor(x: Doubles, y: Doubles, width: float) -> Region:
    """Return a corridor along a line in metres."""
    return {"corridor": {"line": positions(x, y), "width": f"{width:g}m"}}


def positions(x: Doubles, y: Doubles) -> list[list[float]]:
    """Return places in metres as longitude and latitude."""
    return [list(at) for at in zip(degrees(x, 0).tolist(), degrees(y, 1).tolist(), strict=True)]


def region_table(ids: pa.Array, regions: Sequence[Region], within: int | None) -> pa.Table:
    """Return queries of a region each: the columns id, region (JSON), and within where given."""
    columns = {"id": ids, "region": pa.array(map(json.dumps, regions), pa.string())}
    if within is not None:
        columns["within"] = pa.array(np.full(len(ids), within, np.int64))
    return pa.table(columns)
