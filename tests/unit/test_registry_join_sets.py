"""What joins stand lies in the cache as columns; without its feeds no join is evaluated."""

import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fencepost.errors import Faults, LakeError
from fencepost.queries.joins.on import parse_join
from pipelines.project.settings import Feed, Settings
from pipelines.registry.cache import compiled_joins, joins_fingerprint, load_joins
from pipelines.registry.joins import join_sets, joins_of
from pipelines.registry.listing import QueryFilter, list_queries
from pipelines.registry.queries import standing
from pipelines.registry.query_files import read_given
from pipelines.registry.text import json_lines
from tests.support.commands.files import written
from tests.support.lakes.join_rules import (
    FEEDS,
    LANE,
    TURNED,
    band,
    sets,
    window,
    without_none,
)
from tests.support.lakes.on_disk import on_disk
from tests.support.lakes.registry_lake import AXES, Lake, query, said


@pytest.fixture
def lake(tmp_path) -> Lake:
    return Lake.new(tmp_path)


# ── files for workers ─────────────────────────────────────────────────────────────────────────────


def test_a_cached_file_holds_the_sets_and_is_made_once(lake):
    on = "left.price > right.x OR left.price = right.x + 1 AND left.volume < right.y"
    lake.put(window("w", on=on), window("ü", window=9), band("b"), query("q"))
    lake.put(window("v", where="right.speed >= 0"))
    path = on_disk(compiled_joins(lake.store, lake.settings, LANE, 2))
    for opened, expected in zip(load_joins(path), sets(lake, 2), strict=True):
        same(opened, expected)
    stamp = path.stat().st_mtime_ns
    assert compiled_joins(lake.store, lake.settings, LANE, 2) == path
    assert path.stat().st_mtime_ns == stamp
    windows, bands, _ = load_joins(compiled_joins(lake.store, lake.settings, TURNED, 2))
    assert (len(windows), len(bands), windows.lo.shape) == (0, 0, (5, 0))
    assert (windows.left, windows.axes) == ("locations", (AXES["locations"], AXES["ticks"]))


def test_a_fingerprint_names_what_stands_and_nothing_else(lake):
    lake.put(window("w"), band("b"))
    lake.put(query("q"))
    lake.put(window("w", window="6m"))
    one, same_again, other = (
        joins_fingerprint(compiled_joins(lake.store, lake.settings, LANE, version))
        for version in (1, 2, 3)
    )
    assert one == same_again
    assert one != other
    turned = joins_fingerprint(compiled_joins(lake.store, lake.settings, TURNED, 1))
    nothing = joins_fingerprint(compiled_joins(lake.store, lake.settings, LANE, 0))
    assert len({one, other, turned, nothing}) >= 3


@pytest.mark.fault(57)
def test_a_cached_file_of_joins_that_is_missing_torn_or_wrong_is_made_anew(lake):
    lake.put(*(window(f"w{k}", where=f"left.price > {k}.123456789") for k in range(20)), band("b"))
    lake.put(band("c"))
    path = on_disk(compiled_joins(lake.store, lake.settings, LANE, 2))
    right = path.read_bytes()
    older = compiled_joins(lake.store, lake.settings, LANE, 1).read_bytes()
    at = right.index(np.float64(-0.5).tobytes())
    one_bit_off = right[: at + 3] + bytes([right[at + 3] ^ 1]) + right[at + 4 :]
    all_wrong = (b"", right[:-1], right[: len(right) // 2], b"junk" * 999, older, one_bit_off)
    for place, wrong in enumerate(all_wrong):
        path.write_bytes(wrong)
        os.utime(path, ns=(place, place))  # the clock of a file system ticks every few ms
        compiled_joins(lake.store, lake.settings, LANE, 2)
        assert path.read_bytes() == right
    path.unlink()
    compiled_joins(lake.store, lake.settings, LANE, 2)
    assert path.read_bytes() == right


def same(one: object, other: object) -> None:
    mine, its = vars(one), vars(other)
    assert mine.keys() == its.keys()
    for name, value in mine.items():
        if name == "regions":
            assert all((each.shape == -1).all() for each in (*value, *its[name]))
        elif isinstance(value, np.ndarray):
            assert (value.dtype, value.shape) == (its[name].dtype, its[name].shape), name
            assert np.array_equal(value, its[name]), name
        else:
            assert value == its[name], name


# ── what is refused ───────────────────────────────────────────────────────────────────────────────


def settings_with(lake: Lake, **axes: tuple[str, ...]) -> Settings:
    feeds = {name: Feed(name, own, lake.root / name) for name, own in axes.items()}
    return Settings(None, lake.root, feeds)


def test_joins_of_feeds_that_are_gone_or_have_other_axes_are_refused_in_words(lake):
    lake.put(window("w"), band("b"))
    with pytest.raises(LakeError, match="'ticks~locations' are not both declared"):
        join_sets(lake.store, settings_with(lake, ticks=AXES["ticks"]), LANE)
    other = settings_with(lake, ticks=AXES["ticks"], locations=("long", "lat"))
    with pytest.raises(LakeError, match=r"the query 'b' joins ticks .*registered for other axes"):
        join_sets(lake.store, other, LANE)
    lake.put(gone=("w",))
    with pytest.raises(LakeError, match=r"the query 'b' joins .*'x' is none of long, lat"):
        join_sets(lake.store, other, LANE)


def test_joins_of_a_feed_that_is_gone_can_still_be_listed_exported_and_removed(lake):
    lake.put(window("w"), band("b"))
    left = {"ticks": AXES["ticks"]}
    assert len(list(json_lines(standing(lake.store), left))) == 2
    assert len(list_queries(lake.store, QueryFilter(), left, 0, in_json=False)) == 3
    lake.settings = settings_with(lake, **left)
    assert said(lake.put(gone=("w", "b"))) == {"removed": 2}


def test_a_join_in_a_table_is_refused_with_its_row(tmp_path):
    table = pa.table({"id": ["a", "b"], "kind": ["crossing", "window_join"]})
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(Faults, match=r"t\.parquet:2: `kind`: 'window_join' was given") as why:
        read_given([str(tmp_path / "t.parquet")], AXES, "ticks")
    assert "a join is given as JSON" in str(why.value)


def test_every_fault_of_every_line_is_told(tmp_path):
    rows = [window("w", on="left.prize > right.x"), band("w", between=[1, 0]), query("w")]
    text = "".join(json.dumps(without_none({"feed": "ticks"} | row)) + "\n" for row in rows)
    file = written(tmp_path, "q.jsonl", text)
    with pytest.raises(Faults) as why:
        read_given([str(file)], AXES, None)
    assert [(fault.line, fault.column) for fault in why.value.faults] == [
        (1, 6),
        (2, None),
        (2, None),
        (3, None),
    ]


def test_conjuncts_are_read_from_the_texts_and_need_no_column(lake):
    lake.put(window("w", where="left.price > 5"))
    (row,) = lake.standing()
    assert (row["feed"], row["lo"], row["hi"], row["tests"]) == (LANE, [], [], None)
    (read,) = joins_of(standing(lake.store), AXES)
    axes = (AXES["ticks"], AXES["locations"])
    assert read.conjuncts == parse_join(row["joined_on"], row["where"], FEEDS, axes)
