"""The Delta tables are true at rest: any reader sees in them what `fencepost sql` shows.

After a re-evaluation, a crash at any point of it, files put together by the way, and maintenance.
"""

from pathlib import Path

import pyarrow.compute as pc
import pytest

from pipelines.lake.obsolete import HAVE_EPOCHS
from pipelines.lake.store import Store
from pipelines.project.settings import load
from pipelines.runs.run import run
from pipelines.runs.tidy import tidy
from pipelines.spark.runner import HereRunner
from tests.faults.story import STORIES, copied, do, make
from tests.support.crashes import Killed, killed_at, watched
from tests.support.lakes.readers import assert_true, by_delta_rs

AT_EVERY = 12
"""Of the points of a stage each so-manieth is a place to crash at; the long set takes all."""
FEW = {"delta-rs": by_delta_rs}


@pytest.fixture(scope="module", params=STORIES)
def before_late(request, tmp_path_factory) -> Path:
    """Give a project whose next stage evaluates an old partition again."""
    folder: Path = tmp_path_factory.mktemp("true") / "project"
    make(folder, story=STORIES[request.param])
    for stage in ("registered", "taken-in", "registered-again"):
        do(folder, stage)
    return folder


def is_crossed(folder: Path) -> bool:
    return [*load(folder).feeds] == [*STORIES["crossed"].feeds]


def test_every_reader_sees_what_sql_shows_after_each_stage(before_late, tmp_path, monkeypatch):
    folder = copied(before_late, tmp_path / "project")
    settings = load(folder)
    first = assert_true(settings, FEW)
    found = ("events", "transitions", "matches") if is_crossed(folder) else ("pairs",)
    assert all(first[name] for name in (*found, "quarantine"))
    do(folder, "late")
    store = Store.to_read(settings.root, settings.tables)
    ran = store.rows("epochs")["generation"].to_pylist()
    assert max(ran) > 1
    monkeypatch.setattr("pipelines.runs.tidy.FAN", 2)
    tidy(Store.open(settings.root, settings.tables), 0)
    assert_true(settings)
    do(folder, "maintained")
    assert assert_true(settings)["quarantine"]
    store = Store.to_read(settings.root, settings.tables)
    for name in (table.name for table in store.tables.values() if table.role in HAVE_EPOCHS):
        for file in store.files(name):
            assert file.least("generation") == file.most("generation"), name
            assert file.least("lane") == file.most("lane"), name


@pytest.mark.parametrize("story", STORIES)
def test_what_was_put_aside_of_a_file_that_vanished_is_taken_back(story, tmp_path):
    folder = tmp_path / "project"
    make(folder, story=STORIES[story])
    do(folder, "registered")
    with killed_at("ingest.quarantine"), pytest.raises(Killed):
        do(folder, "taken-in")
    gone, *_ = STORIES[story].landings["taken-in"]
    settings = load(folder)
    aside = Store.to_read(settings.root, settings.tables).rows("quarantine").num_rows
    (folder / "landing" / gone).unlink()
    run(settings, HereRunner())
    store = Store.to_read(settings.root, settings.tables)
    assert "vanished" in store.rows("arrivals")["reason"].to_pylist()
    assert 0 < store.rows("quarantine").filter(pc.field("epoch").is_null()).num_rows < aside
    assert_true(settings, FEW)


@pytest.mark.parametrize(
    "offset", [pytest.param(k, marks=[pytest.mark.slow] if k else []) for k in range(AT_EVERY)]
)
def test_crashed_anywhere_and_begun_again_the_tables_are_true(before_late, tmp_path, offset):
    passed: list[str] = []
    with watched(passed):
        do(copied(before_late, tmp_path / "uncut"), "late")
    points = range(1 + offset, len(passed) + 1, AT_EVERY)
    for k in points:
        folder = copied(before_late, tmp_path / str(k))
        with watched([], k), pytest.raises(Killed):
            do(folder, "late")
        do(folder, "late")
        assert_true(load(folder), FEW)
