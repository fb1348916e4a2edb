"""Partitions materialised by Dagster: one, a range, once more, with changed input, after a failure.

Law: whatever failed on the way, the tables are those of a lake on which nothing did.
"""

from pathlib import Path

import dagster as dg
import pytest

from assets.resources import plain_failures
from fencepost.errors import InputError, LockedError, SparkError, StoreUnavailable
from pipelines.lake.lock import hold
from tests.dagster.project import DAY, Crash, Project, at, fault_at, hours, told, why_failed
from tests.faults.story import differing, rows_of
from tests.support.lakes.on_disk import on_disk

pytestmark = pytest.mark.dagster

MADE = ("ticks/ticks", "ticks/quarantine")
FOUND = (
    "ticks/stream_state",
    "ticks/events",
    "ticks/transitions",
    "ticks/matches",
    "ticks/leaps",
    "ticks/pending",
)


@pytest.fixture
def undisturbed(template: Path, tmp_path: Path) -> Project:
    """The same project, on which commands alone work."""
    return Project.copied(template, tmp_path / "undisturbed")


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that failed is repeated without waiting."""
    monkeypatch.setattr("assets.feeds.AGAIN", dg.RetryPolicy(max_retries=2))


def test_a_partition_is_told_asset_by_asset(project: Project) -> None:
    hour = at(7)
    project.land(hour)
    assert set(told(project.make(hour))) == {(asset, hour) for asset in (*MADE, *FOUND)}
    account = project.accounts()[hour]
    ticks = project.latest("ticks/ticks", hour)
    assert (ticks["rows read"], ticks["tuples"], ticks["quarantined"]) == (19, 18, 1)
    events = project.latest("ticks/events", hour)
    assert (events["I"], events["O"]) == (account.counts["entered"], account.counts["left"])
    assert events["dagster/partition_row_count"] == events["I"] + events["O"] > 0
    assert events["watermark"] * 1e6 == account.watermark
    matches = project.latest("ticks/matches", hour)
    assert matches["dagster/partition_row_count"] == account.counts["matched"] > 0


def test_what_a_partition_turned_away_is_told_when_it_is_known(project: Project) -> None:
    hour = at(0)
    project.land(hour)
    project.land(hour, "-once-more").write_text(project.land(hour).read_text() + "v,0,0,0\n")
    project.make(hour)
    quarantine = project.latest("ticks/quarantine", hour)
    assert quarantine["malformed"] == 3
    assert quarantine["late"] + quarantine["duplicate"] == 18
    assert quarantine["dagster/partition_row_count"] == 21
    why = quarantine["why"].replace("\\", "")
    assert f"| ticks/{hour}-once-more.csv | 1 | 20 | '0' is an integer, and no unit is " in why
    assert '| declare ts_unit = "…" in [feeds.ticks] |' in why
    assert "| late, as in '" in why


def test_a_range_is_one_run_that_tells_each_of_its_partitions_once(project: Project) -> None:
    keys = hours(0, 4)
    project.land_all(k for k in keys if not k.endswith("02"))  # nothing lands for one of them
    result = project.make(*keys)
    for asset in (MADE[0], *FOUND):
        assert [hour for name, hour in told(result) if name == asset] == keys
        assert project.shown(asset) == keys
    assert project.latest("ticks/events", keys[2])["dagster/partition_row_count"] == 0


@pytest.mark.fault(25, 26)
def test_one_by_one_backwards_or_at_once_gives_the_same_tables(
    project: Project, template: Path, tmp_path: Path
) -> None:
    one_by_one = Project.copied(template, tmp_path / "one-by-one")
    keys = hours(0, 3)
    for each in (project, one_by_one):
        each.land_all(keys)
    project.make(*keys)
    for key in (keys[3], keys[1]):
        one_by_one.make(key)
    assert _published(one_by_one, "events") == _published(project, "events") != []
    assert one_by_one.shown("ticks/events") == keys  # those before were told, though not asked for


@pytest.mark.fault(6, 26)
def test_a_partition_once_more_changes_no_row(project: Project) -> None:
    keys = hours(0, 1)
    project.land_all(keys)
    project.make(*keys)
    before = rows_of(project.folder)
    for again in (False, True):
        project.make(keys[0], again=again)
        assert rows_of(project.folder) == before


@pytest.mark.fault(26)
def test_changed_input_is_evaluated_anew_and_the_partition_says_so(project: Project) -> None:
    hour = at(0)
    project.land(hour)
    project.make(hour)
    assert project.latest("ticks/events", hour)["generation"] == 1
    project.land(hour, "-late")
    project.make(hour)
    assert project.latest("ticks/ticks", hour)["deliveries"] == 2
    assert project.latest("ticks/events", hour)["tuples"] > 15


def test_a_days_partition_is_a_day(project: Project) -> None:
    project.land(DAY, feed="locations")
    project.make(DAY, feed="locations")
    assert project.shown("locations/events") == [DAY]
    assert project.latest("locations/events", DAY)["I"] > 0


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("place", ["epochs.planned", "epochs.events", "epochs.done"])
@pytest.mark.fault(6, 26)
def test_a_step_that_failed_and_is_repeated_leaves_what_an_undisturbed_one_leaves(
    project: Project, undisturbed: Project, place: str
) -> None:
    keys = hours(0, 3)
    for each in (project, undisturbed):
        each.land_all(keys)
    undisturbed.by_command()
    with fault_at(place) as passed:
        result = project.make(*keys)
    assert place in passed
    assert any(e.is_step_up_for_retry for e in result.all_events)
    assert differing(rows_of(project.folder), rows_of(undisturbed.folder)) == []
    assert project.shown("ticks/events") == keys


def test_a_range_that_fails_in_the_middle_tells_what_was_done_and_no_more(
    project: Project, undisturbed: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assets.feeds.AGAIN", dg.RetryPolicy(max_retries=0))
    keys = hours(0, 5)
    for each in (project, undisturbed):
        each.land_all(keys)
    undisturbed.by_command()
    with fault_at("epochs.evaluated", 3):  # two partitions a group
        result = project.make(*keys, fails=True)
    found = [hour for name, hour in told(result) if name == "ticks/events"]
    done = [hour for hour, account in project.accounts().items() if account.epochs]
    assert done == keys[:4]
    assert found == done[: len(found)]
    assert len(found) >= 3
    project.tick("ledger")  # what was committed and not told, is told by the sensor
    assert project.make(*keys[4:]).success
    assert differing(rows_of(project.folder), rows_of(undisturbed.folder)) == []


@pytest.mark.usefixtures("at_once")
@pytest.mark.fault(20)
def test_who_finds_the_lake_locked_says_by_whom_and_tries_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assets.resources.PATIENCE", 0.05)
    hour = at(0)
    project.land(hour)
    with hold(project.settings.root, "somebody's command", 1):
        result = project.make(hour, fails=True)
    tries = [e for e in result.all_events if e.is_step_restarted]
    assert len(tries) == 2
    why = why_failed(result, "arrivals_of_ticks")
    assert "somebody's command" in why
    assert "run it again when the lake is free" in why
    assert project.shown("ticks/ticks") == []


@pytest.mark.usefixtures("at_once")
def test_what_is_wrong_with_the_input_is_not_tried_again(project: Project) -> None:
    hour = at(0)
    project.land(hour)
    on_disk(project.settings.root / "_fencepost.json").write_text("{}")  # a lake of no version
    result = project.make(hour, fails=True)
    assert not any(e.is_step_up_for_retry for e in result.all_events)
    why = why_failed(result, "arrivals_of_ticks")
    assert "_fencepost.json" in why
    assert "Fix the cause and run again" in why


@pytest.mark.parametrize(
    ("error", "again"),
    [(LockedError, True), (SparkError, True), (StoreUnavailable, True), (InputError, False)],
)
def test_an_error_of_ours_fails_in_its_own_words(error: type[Exception], again: bool) -> None:
    with pytest.raises(dg.Failure) as failure, plain_failures():
        raise error("said plainly")
    assert failure.value.allow_retries is again
    assert str(failure.value.description).startswith("said plainly\n")


@pytest.mark.parametrize("error", [dg.DagsterExecutionInterruptedError, KeyboardInterrupt])
def test_what_was_cancelled_is_not_begun_again(error: type[BaseException]) -> None:
    with pytest.raises(dg.Failure) as failure, plain_failures():
        raise error
    assert failure.value.allow_retries is False
    assert str(failure.value.description).startswith("Cancelled.")


def test_an_error_that_nobody_foresaw_keeps_its_traceback() -> None:
    with pytest.raises(Crash), plain_failures():
        raise Crash


def _published(project: Project, table: str) -> list[str]:
    rows = project.lake.store().rows(table).drop_columns(["epoch", "arrival"]).to_pylist()
    return sorted(map(repr, rows))
