"""The marts, whatever happens while they are refreshed."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from deltalake import DeltaTable

from pipelines.lake.append import Unknown
from pipelines.lake.crash_points import CRASH_AT, on_point
from pipelines.lake.create import make_table
from pipelines.lake.evidence import Evidence
from pipelines.lake.log import Log
from pipelines.serve.marts import folder_of, refresh, tidy
from schemas.marts import MARTS
from tests.support.lakes.ledger import AXES
from tests.support.lakes.mart_lake import NOW, TICKS, TOWN, Town, files_of, refreshed, write_town


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    root: Path = tmp_path_factory.mktemp("written") / "lake"
    write_town(root)
    return root


@pytest.fixture
def town(written, tmp_path) -> Town:
    shutil.copytree(written, tmp_path / "lake")
    return Town(tmp_path / "lake")


@contextmanager
def meanwhile(place: str, then: Callable[[], object]) -> Iterator[None]:
    """Let something happen once, when a refresh comes to a place for the first time."""
    left = [then]

    def hook(name: str) -> None:
        if name == place and left:
            left.pop()()

    off = on_point(hook)
    try:
        yield
    finally:
        off()


def test_a_refresh_that_was_overtaken_does_not_bring_older_rows_back(town):
    def overtake() -> None:
        town.enter("late", 500)
        assert all(report.changed for report in refresh(town.settings, TICKS, ["inside_now"]))

    with meanwhile("marts.inside_now.written", overtake):
        (report,) = refresh(town.settings, TICKS, ["inside_now"])
    assert (report.rows, report.changed) == (2, False)
    assert town.holds("inside_now", TICKS) == town.shows("inside_now", TICKS)
    assert len(files_of(town)) == 1


def test_refreshes_of_two_feeds_at_the_same_time_both_stand(town):
    with meanwhile("marts.visits.written", lambda: refreshed(town, TOWN)):
        refreshed(town, TICKS)
    assert town.agree()


def test_whoever_refreshes_side_by_side_the_marts_agree_with_the_views(town):
    with ThreadPoolExecutor(4) as pool:
        for k in range(2):
            town.enter(f"t{k}", 3000 + k)
            town.enter(f"c{k}", 3000 + k, feed=TOWN)
            list(pool.map(lambda feed: refresh(town.settings, feed), [TICKS, TOWN] * 2))
            assert town.agree()


def test_a_mart_may_be_made_by_two_at_once(town):
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda feed: refresh(town.settings, feed), AXES))
    assert town.agree()


@pytest.mark.parametrize("place", ["marts.visits.written", "marts.visits.committed"])
@pytest.mark.fault(5)
def test_a_refresh_killed_on_its_way_shows_all_of_the_old_or_all_of_the_new(town, place):
    refreshed(town)
    old = town.holds("visits", TICKS)
    town.enter("c", 100, 110)
    new = town.shows("visits", TICKS)
    code = (
        "from pathlib import Path\nfrom pipelines.serve.marts import refresh\n"
        "from pipelines.project.settings import Feed, Settings\n"
        f"feeds = {{'ticks': Feed('ticks', {AXES[TICKS]!r}, Path('landing'))}}\n"
        f"refresh(Settings(None, Path({str(town.settings.root)!r}), feeds), 'ticks')\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, CRASH_AT: f"{place}:1"},
        start_new_session=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert town.holds("visits", TICKS) == (old if place.endswith("written") else new)
    refreshed(town)
    assert town.agree()
    known = {
        uri.rpartition("/")[2]
        for mart in MARTS
        for uri in DeltaTable(str(folder_of(town.settings.root, mart))).file_uris()
    }
    assert {path.name for path in files_of(town)} > known
    tidy(town.settings.root, NOW)
    assert {path.name for path in files_of(town)} == known
    assert town.agree()


@pytest.mark.fault(11)
def test_a_commit_of_unknown_outcome_is_made_once(town):
    refreshed(town)
    town.enter("c", 100, 110)
    commit = Log.append
    made = []

    def comes_through_and_fails(log: Log, *given: Any) -> None:
        commit(log, *given)
        made.append(log)
        raise Unknown("the answer was lost")

    with mock.patch.object(Log, "append", comes_through_and_fails):
        (report,) = refresh(town.settings, TICKS, ["visits"])
    assert (len(made), report.rows, report.changed) == (1, 4, True)
    assert town.agree() is False  # the other marts were not asked for
    refreshed(town)
    assert town.agree()


@pytest.mark.fault(59)
def test_files_that_were_replaced_stay_for_their_readers_and_then_go(town):
    refreshed(town)
    town.enter("c", 100)
    refreshed(town)
    many = len(files_of(town))
    assert tidy(town.settings.root) == 0
    assert tidy(town.settings.root, NOW) == len(MARTS)
    assert len(files_of(town)) == many - len(MARTS)
    assert town.agree()


def test_a_mart_that_is_refreshed_often_stays_small(town):
    with (
        mock.patch("pipelines.serve.marts.refresh.SWEPT_EVERY", 4),
        mock.patch("pipelines.serve.marts.place.swept.__defaults__", (NOW,)),
    ):
        for k in range(7):
            town.enter(f"n{k}", 3000 + k)
            refresh(town.settings, TICKS, ["inside_now"])
    assert len(files_of(town)) < 5
    assert town.holds("inside_now", TICKS) == town.shows("inside_now", TICKS)


def test_a_mart_whose_making_was_cut_off_is_finished(town):
    make_table(folder_of(town.settings.root, "visits"), MARTS["visits"])
    refreshed(town)
    delta = DeltaTable(str(folder_of(town.settings.root, "visits")))
    assert delta.metadata().configuration["delta.logRetentionDuration"] == "interval 2 days"
    assert town.agree()


@pytest.mark.fault(16)
@pytest.mark.parametrize("does", ["lose", "cut", "flip"])
def test_a_mart_whose_file_is_lost_or_damaged_is_written_anew(town, does):
    refreshed(town)
    for path in files_of(town):
        content = bytearray(path.read_bytes())
        content[10] ^= 255
        path.unlink()
        if does != "lose":
            path.write_bytes(content[: -1 if does == "cut" else None])
    if does == "flip":  # found when the rows are read: where there are more
        town.enter("c", 100)
        town.enter("c", 100, feed=TOWN)
    reports = refreshed(town)
    assert all(report.how.startswith("all rows") for report in reports)
    assert town.agree()


def test_files_put_together_by_another_program_are_written_anew_once(town):
    refreshed(town)
    town.enter("c", 100, 110)
    refreshed(town)
    DeltaTable(str(folder_of(town.settings.root, "visits"))).optimize.compact()
    visits = refresh(town.settings, TICKS, ["visits"])[0]
    assert visits.how == "all rows: its files are not those of the last refresh"
    assert not any(report.changed for report in refreshed(town, TICKS))
    assert town.agree()


def test_a_commit_says_which_epoch_the_rows_are_of(town):
    (report,) = refresh(town.settings, TICKS, ["visits"])
    log = report.path / "_delta_log" / f"{report.version:020}.json"
    said = [json.loads(line).get("commitInfo") for line in log.read_text().splitlines()]
    evidence = Evidence.from_json(next(info for info in said if info)["userMetadata"])
    assert evidence is not None
    assert (evidence.lane, evidence.last, evidence.rows) == (TICKS, 1, 3)


def test_what_a_refresh_noted_outlives_the_files_that_are_deleted(town):
    refreshed(town)
    town.enter("c", 100)
    refreshed(town)
    assert tidy(town.settings.root, NOW) == len(MARTS)
    assert all(report.how == "nothing new" for report in refreshed(town))


def test_the_days_are_counted_by_the_visits_of_their_mart_where_it_holds_them(town):
    refreshed(town)
    town.enter("c", 100, 110)
    daily = refresh(town.settings, TICKS, ["daily_summary"])[0]
    assert (daily.changed, daily.how) == (True, "all rows")  # the other mart is behind
    town.enter("c", 90_000, 90_010)
    assert refreshed(town)[2].how == "all rows, with visits from their mart"
    assert town.agree()
