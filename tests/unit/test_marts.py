"""The marts: what they hold, whatever happens while they are refreshed."""

# ruff: noqa: S608  SQL is what is tested

import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl
import pyarrow as pa
import pytest
import typer
from deltalake import DeltaTable
from typer.testing import CliRunner

from fencepost.errors import InputError, LakeError
from pipelines.lake.evidence import Evidence
from pipelines.lake.making import make_table
from pipelines.lake.points import CRASH_AT, on_point
from pipelines.lake.store import Store
from pipelines.marts import MartReport, folder_of, refresh, tidy
from pipelines.marts_command import marts as command
from pipelines.settings import Feed, Settings
from pipelines.views import views
from pipelines.views.duckdb_session import duckdb_session
from schemas.marts import MARTS
from tests.hand_made_lakes import AXES, Ledger, at

NOW = timedelta(0)
TICKS, TOWN = "ticks", "locations"


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    """A lake with events of two feeds; each test has its own copy."""
    ledger = Ledger()
    ledger.register({"id": "q"}, {"id": "zone", "feed": TOWN})
    for feed in AXES:
        ledger.epoch(feed, 1, [ledger.arrive(feed)], watermark=at(200_000))
    for feed, query, stream, entered, left in (
        (TICKS, "q", "ünï", 1, 20),
        (TICKS, "q", "a", 2, None),
        (TICKS, "q", "b", 90_000, 90_001.5),
        (TOWN, "zone", "car", 3, 86_400),
        (TOWN, "zone", "van", 4, None),
    ):
        ledger.event("I", query, stream, entered, feed=feed)
        if left is not None:
            ledger.event("O", query, stream, left, feed=feed)
    root: Path = tmp_path_factory.mktemp("written") / "lake"
    ledger.written(root)
    return root


class Town:
    """A lake with events of two feeds, in which more happens when it is told to."""

    def __init__(self, root: Path) -> None:
        feeds = {name: Feed(name, axes, root / "landing") for name, axes in AXES.items()}
        self.settings = Settings(None, root, feeds)
        self.store = Store.open(root, self.settings.tables)

    def enter(self, stream: str, ts: float, left: float | None = None, feed: str = TICKS) -> None:
        """A stream enters its feed's query, and leaves it again."""
        more = Ledger()
        query = "q" if feed == TICKS else "zone"
        more.event("I", query, stream, ts, feed=feed)
        if left is not None:
            more.event("O", query, stream, left, feed=feed)
        self.happen("events", more)

    def happen(self, table: str, more: Ledger) -> None:
        """Rows come to a table."""
        told = Evidence("by hand", uuid.uuid4().hex, "", 1, 1, 1, 1, 0)
        files = self.store.write(table, more.arrow(table))
        self.store.append(table, self.store.version(table), files, told)

    def shows(self, view: str, feed: str) -> list[str]:
        """The rows of a view, as text, to the last digit."""
        return self.all_shown((view, feed))[0]

    def all_shown(self, *pairs: tuple[str, str]) -> list[list[str]]:
        """The rows of several views and feeds, of one moment."""
        session = duckdb_session(self.settings.root, self.settings.tables)
        try:
            asked = [f"SELECT * FROM {view} v WHERE v.feed = '{feed}'" for view, feed in pairs]
            return [in_order(session.execute(sql).to_arrow_table()) for sql in asked]
        finally:
            session.close()

    def holds(self, mart: str, feed: str) -> list[str]:
        """The rows of a mart, as delta-rs reads them."""
        table = DeltaTable(str(folder_of(self.settings.root, mart))).to_pyarrow_table()
        return in_order(table.filter(pa.compute.equal(table["feed"], feed)), MARTS[mart].arrow)

    def agree(self) -> bool:
        """Whether every mart holds what its view shows."""
        pairs = [(mart, feed) for mart in MARTS for feed in AXES]
        return [self.holds(*pair) for pair in pairs] == self.all_shown(*pairs)


@pytest.fixture
def town(written, tmp_path) -> Town:
    shutil.copytree(written, tmp_path / "lake")
    return Town(tmp_path / "lake")


def in_order(rows: Any, schema: pa.Schema | None = None) -> list[str]:
    """Rows as text, in an order of their own."""
    table = rows if schema is None else rows.select(schema.names).cast(schema)
    return sorted(repr(tuple(row.values())) for row in table.to_pylist())


def refreshed(town: Town, *feeds: str) -> list[MartReport]:
    return [report for feed in feeds or AXES for report in refresh(town.settings, feed)]


def files_of(town: Town) -> list[Path]:
    return sorted((town.settings.root / "marts").rglob("*.parquet"))


def test_a_mart_holds_what_its_view_shows_and_reports_it(town):
    reports = refreshed(town)
    assert town.agree()
    assert [(r.name, r.feed, r.rows, r.changed) for r in reports] == [
        ("inside_now", TICKS, 1, True),
        ("visits", TICKS, 3, True),
        ("daily_summary", TICKS, 2, True),
        ("inside_now", TOWN, 1, True),
        ("visits", TOWN, 2, True),
        ("daily_summary", TOWN, 2, True),
    ]
    for report in reports:
        assert report.path == town.settings.root / "marts" / report.name


def test_duckdb_and_polars_read_a_mart_without_us(town):
    refreshed(town)
    session = duckdb_session(town.settings.root, town.settings.tables)
    for mart, table in MARTS.items():
        folder = folder_of(town.settings.root, mart)
        expected = sorted(town.shows(mart, TICKS) + town.shows(mart, TOWN))
        found = session.execute(f"SELECT * FROM delta_scan('{folder}')").to_arrow_table()
        assert in_order(found, table.arrow) == expected, mart
        assert in_order(pl.read_delta(str(folder)).to_arrow(), table.arrow) == expected, mart
    session.close()


def test_a_mart_is_declared_as_its_view_is(town):
    refreshed(town, TICKS)
    for view in (view for view in views(town.settings.tables) if view.name in MARTS):
        delta = DeltaTable(str(folder_of(town.settings.root, view.name)))
        fields = delta.schema().fields
        assert [(f.name, f.metadata["comment"], f.nullable) for f in fields] == [
            (c.name, c.comment, c.nullable) for c in view.columns
        ]
        assert delta.metadata().description == view.comment
        assert delta.protocol().min_reader_version == 1


def test_a_refresh_that_finds_nothing_new_leaves_no_trace(town):
    refreshed(town)
    before = {path: path.stat().st_mtime_ns for path in town.settings.root.rglob("*")}
    assert not any(report.changed for report in refreshed(town))
    after = {path: path.stat().st_mtime_ns for path in town.settings.root.rglob("*")}
    assert {path: at for path, at in after.items() if path.is_file()} == {
        path: at for path, at in before.items() if path.is_file()
    }


def test_only_what_has_changed_is_written(town):
    refreshed(town)
    town.enter("c", 100, 110)
    changed = {(r.name, r.feed) for r in refreshed(town) if r.changed}
    assert changed == {("visits", TICKS), ("daily_summary", TICKS)}
    assert town.agree()


def test_as_many_other_rows_are_a_change(town):
    refreshed(town, TICKS)
    more = Ledger()
    more.event("O", "q", "a", 50)
    town.happen("events", more)
    town.enter("z", 60)
    (report,) = refresh(town.settings, TICKS, ["inside_now"])
    assert (report.rows, report.changed) == (1, True)
    assert town.holds("inside_now", TICKS) == town.shows("inside_now", TICKS)


def test_rows_that_a_view_shows_no_longer_go_and_no_file_is_left_in_force(town):
    refreshed(town)
    more = Ledger()
    more.event("O", "q", "a", 50)
    town.happen("events", more)
    (report,) = refresh(town.settings, TICKS, ["inside_now"])
    assert (report.rows, report.changed) == (0, True)
    assert town.holds("inside_now", TICKS) == []
    assert len(town.holds("inside_now", TOWN)) == 1
    assert not refresh(town.settings, TICKS, ["inside_now"])[0].changed


def test_a_lake_in_which_nothing_happened_has_empty_marts(tmp_path):
    ledger = Ledger()
    ledger.written(tmp_path / "lake")
    settings = Settings(None, tmp_path / "lake", {TICKS: Feed(TICKS, AXES[TICKS], tmp_path / "l")})
    assert [(r.rows, r.changed) for r in refresh(settings, TICKS)] == [(0, False)] * len(MARTS)
    assert DeltaTable(str(folder_of(settings.root, "visits"))).to_pyarrow_table().num_rows == 0


def test_many_rows_lie_in_several_files_and_are_the_same_rows(town):
    for k in range(40):
        town.enter(f"s{k}", 1000 + k, 2000 + k)
    with (
        mock.patch("pipelines.marts.laying.FILE_ROWS", 10),
        mock.patch("pipelines.marts.refreshing.BATCH", 4),
    ):
        refreshed(town)
        assert town.agree()
        assert not any(report.changed for report in refreshed(town))
    visits = DeltaTable(str(folder_of(town.settings.root, "visits")))
    assert len(visits.file_uris()) > 3
    assert not any(report.changed for report in refreshed(town))


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
def test_a_refresh_killed_on_its_way_shows_all_of_the_old_or_all_of_the_new(town, place):
    refreshed(town)
    old = town.holds("visits", TICKS)
    town.enter("c", 100, 110)
    new = town.shows("visits", TICKS)
    code = (
        "from pathlib import Path\nfrom pipelines.marts import refresh\n"
        "from pipelines.settings import Feed, Settings\n"
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


def test_a_commit_of_unknown_outcome_is_made_once(town):
    refreshed(town)
    town.enter("c", 100, 110)
    commit = DeltaTable.create_write_transaction
    made = []

    def comes_through_and_fails(delta: DeltaTable, *given: Any, **more: Any) -> None:
        commit(delta, *given, **more)
        made.append(delta)
        raise OSError("the answer was lost")

    with mock.patch.object(DeltaTable, "create_write_transaction", comes_through_and_fails):
        (report,) = refresh(town.settings, TICKS, ["visits"])
    assert (len(made), report.rows, report.changed) == (1, 4, True)
    assert town.agree() is False  # the other marts were not asked for
    refreshed(town)
    assert town.agree()


def test_files_that_were_replaced_stay_for_their_readers_and_then_go(town):
    refreshed(town)
    town.enter("c", 100, 110)
    refreshed(town)
    many = len(files_of(town))
    assert tidy(town.settings.root) == 0
    assert tidy(town.settings.root, NOW) == 2
    assert len(files_of(town)) == many - 2
    assert town.agree()


def test_a_mart_that_is_refreshed_often_stays_small(town):
    with (
        mock.patch("pipelines.marts.refreshing.SWEPT_EVERY", 4),
        mock.patch("pipelines.marts.place.swept.__defaults__", (NOW,)),
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


def test_a_mart_whose_file_is_lost_or_damaged_is_written_anew(town):
    refreshed(town)
    for place, path in enumerate(files_of(town)):
        content = bytearray(path.read_bytes())
        content[10] ^= 255
        path.unlink()
        if place % 2:
            path.write_bytes(content)
    assert all(report.changed for report in refreshed(town))
    assert town.agree()


def test_files_put_together_by_another_program_are_the_same_rows(town):
    with (
        mock.patch("pipelines.marts.laying.FILE_ROWS", 1),
        mock.patch("pipelines.marts.refreshing.BATCH", 1),
    ):
        refreshed(town)
    for mart in MARTS:
        DeltaTable(str(folder_of(town.settings.root, mart))).optimize.compact()
    assert not any(report.changed for report in refreshed(town))


def test_a_commit_says_which_epoch_the_rows_are_of(town):
    (report,) = refresh(town.settings, TICKS, ["visits"])
    log = report.path / "_delta_log" / f"{report.version:020}.json"
    said = [json.loads(line).get("commitInfo") for line in log.read_text().splitlines()]
    evidence = Evidence.from_json(next(info for info in said if info)["userMetadata"])
    assert evidence is not None
    assert (evidence.lane, evidence.last, evidence.rows) == (TICKS, 1, 3)


def test_what_is_not_there_is_refused_in_words_and_nothing_is_made(town, tmp_path):
    with pytest.raises(InputError, match=r"no feed 'tick'.*ticks, locations.*Did you mean 'ticks'"):
        refresh(town.settings, "tick")
    with pytest.raises(InputError, match=r"no mart 'visit'.*Did you mean 'visits'"):
        refresh(town.settings, TICKS, ["visit"])
    nowhere = Settings(None, tmp_path / "nowhere", town.settings.feeds)
    with pytest.raises(LakeError, match="there is no lake"):
        refresh(nowhere, TICKS)
    assert not nowhere.root.exists()


def test_a_folder_that_is_somebody_else_s_is_left_alone(town):
    visits = folder_of(town.settings.root, "visits")
    other = pa.table({"feed": ["ticks"], "n": [1]})
    pl.from_arrow(other).write_delta(str(visits))  # type: ignore[union-attr]
    make_table(town.settings.root / "marts" / "x", MARTS["visits"])  # and no mart of ours
    with pytest.raises(LakeError, match=r"has the columns feed, n, and feed, query_id.* expected"):
        refresh(town.settings, TICKS, ["visits"])
    assert DeltaTable(str(visits)).to_pyarrow_table().num_rows == 1
    make_table(town.settings.root / "marts", MARTS["visits"])
    with pytest.raises(LakeError, match="has a feed 'marts'"):
        refresh(town.settings, TICKS, ["inside_now"])


@pytest.mark.usefixtures("town")
def test_the_command_says_what_became_of_each_mart(tmp_path):
    (tmp_path / "fencepost.toml").write_text(
        '[feeds.ticks]\naxes = ["price", "volume"]\nsource = "landing/ticks"\n'
        '[feeds.locations]\naxes = ["x", "y", "speed"]\nsource = "landing/town"\n'
    )
    app = typer.Typer()
    app.command()(command)
    first = CliRunner().invoke(app, ["--config", str(tmp_path)])
    assert first.exit_code == 0, first.output
    assert len(first.stdout.splitlines()) == 6
    assert "visits" in first.stdout
    assert "3 rows" in first.stdout
    again = CliRunner().invoke(app, ["ticks", "--config", str(tmp_path)])
    assert [line.split()[-3:-1] for line in again.stdout.splitlines()] == [["it", "was"]] * 3
    told = CliRunner().invoke(app, ["ticks", "--json", "--config", str(tmp_path)])
    assert [row["rows"] for row in json.loads(told.stdout)["marts"]] == [1, 3, 2]
