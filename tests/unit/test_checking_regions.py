"""The audits of crossings and matches judge regions exactly, not by the boxes around them."""

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest

from fencepost.position import Position
from fencepost.queries import QuerySet, parted, read_queries_jsonl
from pipelines.checks import own_checks
from pipelines.checks.audits import crossings
from pipelines.checks.audits.regions import in_regions
from pipelines.project.settings import Settings, load
from tests.support.commands.commands import fencepost
from tests.support.commands.reported import VANS
from tests.support.lakes.sound_feed import failed

LEFT = [[0, 0], [3, 0], [5, 4], [0, 4], [0, 0]]
RIGHT = [[3, 0], [8, 0], [8, 4], [5, 4], [3, 0]]
"""Two that share a slanting edge."""

REGIONS = {
    "left": {"type": "Polygon", "coordinates": [LEFT]},
    "right": {"type": "Polygon", "coordinates": [RIGHT]},
    "round": {"circle": {"center": [4, 2], "radius": 2}},
    "lane": {"corridor": {"line": [[0, 0], [8, 4]], "width": 1}},
}
AUDITED = ("crossings_are_those_of_the_queries", "matches_are_those_of_the_queries")


def rules() -> list[bytes]:
    kinds = ("crossing", "match")
    return [
        json.dumps({"id": f"{kind}-{id_}", "feed": "vans", "kind": kind, "region": at}).encode()
        for id_, at in REGIONS.items()
        for kind in kinds
    ]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A van on a coarse grid, where it is on vertices and edges all the time."""
    folder = tmp_path_factory.mktemp("audited")
    (folder / "fencepost.toml").write_text(VANS)
    (folder / "rules.jsonl").write_bytes(b"\n".join(rules()))
    draws = np.random.default_rng(5).integers(0, 9, (400, 2)).tolist()
    with contextlib.chdir(folder):
        assert fencepost("init").code == 0
        assert fencepost("queries", "import", "rules.jsonl").code == 0
        rows = (
            f"van,2026-11-18T00:{k // 60:02}:{k % 60:02}Z,{x},{y / 2}"
            for k, (x, y) in enumerate(draws)
        )
        Path("landing/vans/a.csv").write_text("\n".join(["stream_id,ts,x,y", *rows]))
        assert fencepost("run").code == 0
    return load(folder / "fencepost.toml")


def test_what_the_engine_made_of_regions_passes(lake):
    made = own_checks(lake, "vans")
    assert failed(made) == []
    looked = {check.name: check.counts["rows"] for check in made}
    assert min(looked[name] for name in AUDITED) == 400


def test_boxes_in_place_of_regions_would_be_found(lake, monkeypatch):
    monkeypatch.setattr(crossings, "in_regions", lambda *given: given[-1])
    (check,) = own_checks(lake, "vans", names=[AUDITED[0]])
    assert not check.passed
    assert any("crossing-" in said for said in check.samples)


def test_of_two_that_share_an_edge_each_point_is_in_one():
    axes = {"vans": ("x", "y")}
    positions = {"vans": Position((0, 1), earth=False)}
    given, _ = parted(read_queries_jsonl(rules(), "rules.jsonl", axes, positions))
    queries = QuerySet.from_queries("vans", axes["vans"], [q for q in given if q.id[:2] == "cr"])
    ids = queries.ids.to_pylist()
    on_it = ((3.0, 0.0), (4.0, 2.0), (3.5, 1.0), (4.5, 3.0), (4.999, 3.998))
    points = np.array([*on_it, (5.0, 4.0)]).T
    holding = in_regions(queries, points, np.ones((len(on_it) + 1, len(ids)), np.bool_))
    left, right = (holding[:, ids.index(f"crossing-{side}")] for side in ("left", "right"))
    assert (left != right)[: len(on_it)].all()
    assert not right[-1]
