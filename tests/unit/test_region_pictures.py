"""The picture of regions: what it shows, as text, and that a circle on the earth is round."""

import json
from io import BytesIO
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from pipelines.serve.pictures.canvas import BLUE, DPI, FINE, OCHRE, TEAL, VIOLET
from pipelines.serve.pictures.picture import Picture
from pipelines.serve.pictures.regions import of_regions

INFINITE = float("inf")
CIRCLE = {"circle": {"center": [2.5, 54.7], "radius": 1000}}
TRIANGLE = {
    "type": "Polygon",
    "coordinates": [[[2.4, 54.6], [2.5, 54.6], [2.4, 54.7], [2.4, 54.6]]],
}
CORRIDOR = {"corridor": {"line": [[2.4, 54.6], [2.6, 54.6]], "width": 500}}


def drawn(*given: Any, counts: dict[str, int], earth: bool = True) -> Picture:
    """Draw regions, or boxes as (west, south, east, north)."""
    rows = []
    for each in given:
        is_box = isinstance(each, tuple)
        sides = zip(("west", "south", "east", "north"), each if is_box else [None] * 4, strict=True)
        row = {side: None if at is None else [at] for side, at in sides}
        rows.append({"region": None if is_box else json.dumps(each), **row})
    kinds = {side: pa.list_(pa.float64()) for side in ("west", "south", "east", "north")}
    schema = pa.schema({"region": pa.string(), **kinds})
    return of_regions("vans", pa.Table.from_pylist(rows, schema), counts, earth=earth)


def extent(picture: Picture, colour: str, below: float = 60) -> tuple[int, int]:
    """How wide and how high what has a colour is, without the legend."""
    pixels = np.asarray(Image.open(BytesIO(picture.png)).convert("RGBA")).astype(int)
    rgb = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    near = (np.abs(pixels[..., :3] - rgb).max(axis=2) < 24) & (pixels[..., 3] > 20)
    near[: int(below * FINE * DPI / 100)] = False
    y, x = np.nonzero(near)
    return int(np.ptp(x)), int(np.ptp(y))


def test_a_circle_on_the_earth_is_round():
    wide, high = extent(drawn(CIRCLE, counts={"circle": 1}), BLUE)
    assert high > 300
    assert wide == pytest.approx(high, rel=0.01)


def test_a_square_of_degrees_is_as_narrow_as_it_is_there():
    wide, high = extent(drawn((2.4, 54.6, 2.5, 54.7), counts={"box": 1}), VIOLET)
    assert wide / high == pytest.approx(np.cos(np.radians(54.65)), rel=0.02)
    wide, high = extent(drawn((2.4, 54.6, 2.5, 54.7), counts={"box": 1}, earth=False), VIOLET)
    assert wide == pytest.approx(high, rel=0.01)


def test_the_forms_are_told_apart_and_counted():
    counts = {"polygon": 1, "circle": 1, "corridor": 1, "box": 2}
    box = (2.45, 54.65, 2.47, 54.66)
    picture = drawn(CIRCLE, TRIANGLE, CORRIDOR, box, (2.5, 54.6, INFINITE, INFINITE), counts=counts)
    assert picture.alt == "vans: regions: 2 boxes, 1 polygon, 1 circle, 1 corridor."
    for colour in (BLUE, TEAL, OCHRE, VIOLET):
        assert min(extent(picture, colour)) > 5
    again = drawn(CIRCLE, TRIANGLE, CORRIDOR, box, (2.5, 54.6, INFINITE, INFINITE), counts=counts)
    assert again == picture


def test_what_cannot_be_drawn_is_said():
    assert drawn(counts={}).alt == "vans: regions: no standing query yet."
    everywhere = (-INFINITE, -INFINITE, INFINITE, INFINITE)
    picture = drawn(everywhere, counts={"box": 7})
    assert picture.alt == "vans: regions: 7 boxes; the first 1 by name."
    assert Image.open(BytesIO(picture.png)).height < 200


def test_one_far_away_is_cut_off_and_does_not_shrink_the_others():
    near = [(k / 100, 0.0, (k + 1) / 100, 0.01) for k in range(600)]
    counts = {"box": 601}
    wide, _ = extent(drawn(*near, (1e6, 1e6, 2e6, 2e6), counts=counts, earth=False), VIOLET)
    assert wide > 900
