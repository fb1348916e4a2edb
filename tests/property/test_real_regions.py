"""Districts and circles over real tracks, against every fix held against every region.

The districts of Beijing share their borders, and the tracks of GeoLife run along them. A small form
of the same test, over made-up zones and walks, runs everywhere.
"""

import json
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pytest

import fencepost as fp
from tests.support.real import data
from tests.support.real.data import needs_real_data

SPHERE = 6_371_008.8
BEIJING = (116.3, 39.98)
Rings = list[list[list[float]]]
Zones = dict[str, list[Rings]]
Crossing = tuple[str, str, int, str]
NEAR = 1e-9
"""What a difference of products is recomputed below, exactly."""


def made_tracks(many: int = 6_000, seed: int = 5) -> pd.DataFrame:
    """Walks of four streams around Beijing, on a grid that corners of districts are on."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(-3, 4, (2, 4, many // 4)).cumsum(axis=2) / 512.0
    lng, lat = (steps + np.array(BEIJING)[:, None, None].round(0)).reshape(2, -1)
    columns = {"stream": np.repeat([*"abcd"], many // 4), "lng": lng, "lat": lat}
    return pd.DataFrame({**columns, "ts": np.tile(np.arange(many // 4), 4) * 1_000_000})


def made_districts() -> Zones:
    """Six zones that part a square: triangles and a hole that another fills."""
    w, s = round(BEIJING[0]), round(BEIJING[1])

    def ring(*corners):
        return [[w + x / 8, s + y / 8] for x, y in (*corners, corners[0])]

    hole = ring((-1, -1), (1, -1), (1, 1), (-1, 1))
    middle = ring((-2, -2), (2, -2), (2, 2), (-2, 2))
    zones = {"core": [[hole]], "middle": [[middle, hole]]}
    outer = [(-8, -8), (8, -8), (8, 8), (-8, 8), (-8, -8)]
    inner = [(-2, -2), (2, -2), (2, 2), (-2, 2), (-2, -2)]
    for k, ((a, b), (c, d)) in enumerate(zip(pairwise(outer), pairwise(inner), strict=True)):
        zones[f"side{k}"] = [[ring(a, b, d, c)]]
    return zones


def real_districts() -> Zones:
    found = json.loads(data.DISTRICTS.read_text())["features"]
    return {
        f"{k}": [rings["coordinates"]] if rings["type"] == "Polygon" else rings["coordinates"]
        for k, rings in enumerate(feature["geometry"] for feature in found)
    }


def in_any(polygons: list[Rings], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    inside: np.ndarray = np.any([in_polygon(rings, x, y) for rings in polygons], axis=0)
    return inside


def in_polygon(rings: Rings, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Even-odd over all edges, half-open upwards; what is near an edge is decided in fractions."""
    inside = np.zeros(len(x), bool)
    for ring in rings:
        for (xa, ya), (xb, yb) in pairwise(ring):
            met = np.flatnonzero((min(ya, yb) <= y) & (y < max(ya, yb)))
            side = (y[met] - ya) * (xb - xa) - (x[met] - xa) * (yb - ya)
            for at in np.flatnonzero(np.abs(side) < NEAR):
                here, there = Fraction(x[met[at]]), Fraction(y[met[at]])
                left = (there - Fraction(ya)) * (Fraction(xb) - Fraction(xa))
                right = (here - Fraction(xa)) * (Fraction(yb) - Fraction(ya))
                side[at] = (left > right) - (left < right)
            inside[met] ^= (side > 0) if yb > ya else (side < 0)
    return inside


def in_circle(centre: tuple[float, float], radius: float, x: np.ndarray, y: np.ndarray):
    """Haversine, by NumPy: no drawn fix is so near a circle that its last digits matter."""
    lng, lat, here, there = (np.radians(each) for each in (x, y, *centre))
    half = np.sin((lat - there) / 2) ** 2
    half += np.cos(lat) * np.cos(there) * np.sin((lng - here) / 2) ** 2
    distance = 2 * SPHERE * np.arcsin(np.sqrt(half))
    assert np.abs(distance - radius).min() > 1e-7
    return distance <= radius


def by_hand(fixes: pd.DataFrame, inside: dict[str, np.ndarray]) -> list[Crossing]:
    """I and O of each stream and region, from one fix to the next."""
    same = np.append(False, fixes["stream"].to_numpy()[1:] == fixes["stream"].to_numpy()[:-1])
    stream, ts = fixes["stream"].to_numpy(), fixes["ts"].to_numpy()
    found = []
    for name, here in inside.items():
        before = np.append(False, here[:-1])
        crossed = np.flatnonzero(same & (here != before))
        found += [(name, stream[at], int(ts[at]), "I" if here[at] else "O") for at in crossed]
    return sorted(found)


def by_engine(fixes: pd.DataFrame, regions: Mapping[str, object]) -> list[Crossing]:
    table = pa.table(
        {
            "stream_id": pa.array(fixes["stream"].astype(str)),
            **{name: fixes[name].to_numpy() for name in ("ts", "lng", "lat")},
        }
    )
    rules = [{"id": name, "region": region} for name, region in regions.items()]
    events = fp.evaluate(table, rules, ts_unit="us", position=("lng", "lat")).events
    ts = events["ts"].cast(pa.int64()).to_pylist()
    names = (events[name].to_pylist() for name in ("query_id", "stream_id"))
    return sorted(zip(*names, ts, events["type"].to_pylist(), strict=True))


def in_order(fixes: pd.DataFrame) -> pd.DataFrame:
    return fixes.sort_values(["stream", "ts"], kind="stable", ignore_index=True)


LONG = [needs_real_data, pytest.mark.slow]
REAL = [
    pytest.param(made_tracks, made_districts, None, id="made"),
    pytest.param(data.tracks, real_districts, 288, id="real", marks=LONG),
]


@pytest.mark.parametrize(("tracks", "districts", "crossed"), REAL)
def test_oracle_the_districts_that_tracks_cross(tracks, districts, crossed):
    fixes, zones = in_order(tracks()), districts()
    x, y = fixes["lng"].to_numpy(float), fixes["lat"].to_numpy(float)
    inside = {name: in_any(polygons, x, y) for name, polygons in zones.items()}
    assert np.sum(list(inside.values()), axis=0).max() == 1
    regions = {
        name: {"type": "MultiPolygon", "coordinates": polygons} for name, polygons in zones.items()
    }
    found = by_engine(fixes, regions)
    assert found == by_hand(fixes, inside)
    assert len(found) == crossed if crossed else len(found) > 100


@pytest.mark.parametrize(
    "tracks",
    [pytest.param(made_tracks, id="made"), pytest.param(data.tracks, id="real", marks=LONG)],
)
def test_oracle_the_circles_that_tracks_cross(tracks):
    fixes = in_order(tracks())
    x, y = fixes["lng"].to_numpy(float), fixes["lat"].to_numpy(float)
    rng = np.random.default_rng(17)
    centres = rng.integers(0, len(fixes), 200)
    radii = 50 * 40 ** rng.random(200)
    circles = {
        f"{k}": ((x[at] + 1e-5, y[at]), radius)
        for k, (at, radius) in enumerate(zip(centres, radii.tolist(), strict=True))
    }
    inside = {name: in_circle(*circle, x, y) for name, circle in circles.items()}
    found = by_engine(
        fixes,
        {
            name: {"circle": {"center": [*centre], "radius": radius}}
            for name, (centre, radius) in circles.items()
        },
    )
    assert found == by_hand(fixes, inside)
    assert len(found) > 1000
