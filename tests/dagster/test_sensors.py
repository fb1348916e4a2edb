"""Sensors and schedules, ticked by hand: what they ask for, once, and what they tell, once.

No test waits: how long ago something was asked for stands in the cursor.
"""

import json
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test

from assets import ledger
from assets.automation import TRIES, TRY_AGAIN
from assets.partitions import RANGE
from tests.dagster.project import DAY, Project, at, hours

pytestmark = pytest.mark.dagster


def asked(ticked: Any) -> list[dg.RunRequest]:
    """What a tick asks for."""
    return list(ticked.run_requests or [])


def partitions_of(request: dg.RunRequest) -> tuple[str, str]:
    """The first and the last partition of a request."""
    if request.partition_key is not None:
        return request.partition_key, request.partition_key
    first, last = (request.tags[name] for name in RANGE)
    return first, last


def launched(project: Project, request: dg.RunRequest, status: dg.DagsterRunStatus) -> None:
    """Leave a run in the history, as if the request had been granted."""
    create_run_for_test(
        project.instance,
        job_name="evaluate_ticks",
        status=status,
        tags={"dagster/run_key": str(request.run_key)},
    )


def long_ago(cursor: str) -> str:
    """Put a cursor back by the time after which a failed run is asked for again."""
    said = json.loads(cursor)
    return json.dumps({**said, "at": said["at"] - TRY_AGAIN.total_seconds() - 1})


class TestLanding:
    """`landing_F`."""

    def test_where_nothing_has_landed_nothing_is_asked_for(self, project: Project) -> None:
        ticked = project.tick("landing_ticks")
        assert asked(ticked) == []
        assert ticked.skip_message == "nothing new has landed"

    def test_files_that_have_landed_are_asked_for_once(self, project: Project) -> None:
        project.land_all(hours(2, 4))
        ticked = project.tick("landing_ticks")
        (request,) = asked(ticked)
        assert partitions_of(request) == (f"{DAY}T02", f"{DAY}T04")
        after = project.tick("landing_ticks", ticked.cursor)
        assert asked(after) == []
        assert "already requested" in after.skip_message

    @pytest.mark.fault(26)
    def test_a_restart_that_forgot_all_asks_under_the_same_run_key(self, project: Project) -> None:
        project.land_all(hours(2, 4))
        keys = {asked(project.tick("landing_ticks"))[0].run_key for _ in range(3)}
        assert len(keys) == 1

    def test_what_was_taken_in_is_no_news(self, project: Project) -> None:
        project.land_all(hours(2, 4))
        ticked = project.tick("landing_ticks")
        project.make(*partitions_of(asked(ticked)[0]))
        assert project.tick("landing_ticks", ticked.cursor).skip_message == "nothing new has landed"
        project.land(at(5))
        (request,) = asked(project.tick("landing_ticks", ticked.cursor))
        assert partitions_of(request) == (f"{DAY}T05", f"{DAY}T05")

    def test_a_request_runs(self, project: Project) -> None:
        project.land_all(hours(2, 4))
        (request,) = asked(project.tick("landing_ticks"))
        job = project.definitions.resolve_job_def("evaluate_ticks")
        assert job.execute_in_process(
            instance=project.instance, tags=dict(request.tags), op_selection=["*crossings_of_ticks"]
        ).success
        assert project.shown("ticks/events") == hours(2, 4)

    def test_files_that_grow_are_not_asked_for(self, project: Project) -> None:
        text = (project.folder / "fencepost.toml").read_text()
        (project.folder / "fencepost.toml").write_text(text.replace('"0s"', '"30s"'))
        path = project.land(at(2))
        os.utime(path)
        assert asked(project.tick("landing_ticks")) == []
        os.utime(path, (0, time.time() - 31))
        assert len(asked(project.tick("landing_ticks"))) == 1

    def test_a_run_that_failed_is_asked_for_again_ten_minutes_later_and_three_times_in_all(
        self, project: Project
    ) -> None:
        project.land(at(2))
        ticked, keys = project.tick("landing_ticks"), set()
        for _ in range(TRIES):
            (request,) = asked(ticked)
            keys.add(request.run_key)
            launched(project, request, dg.DagsterRunStatus.FAILURE)
            assert asked(project.tick("landing_ticks", ticked.cursor)) == []  # not at once
            ticked = project.tick("landing_ticks", long_ago(ticked.cursor))
        assert len(keys) == TRIES == 3
        assert asked(ticked) == []
        project.land(at(3))  # something else has landed: it begins anew
        assert len(asked(project.tick("landing_ticks", ticked.cursor))) == 1

    @pytest.mark.parametrize("status", ["NOT_STARTED", "STARTED", "SUCCESS", "CANCELED"])
    def test_a_run_that_has_not_failed_is_not_asked_for_again(
        self, project: Project, status: str
    ) -> None:
        project.land(at(2))
        ticked = project.tick("landing_ticks")
        launched(project, asked(ticked)[0], dg.DagsterRunStatus[status])
        assert asked(project.tick("landing_ticks", long_ago(ticked.cursor))) == []

    def test_a_partition_that_dagster_does_not_show_is_said_to_be_so(
        self, project: Project
    ) -> None:
        project.land("2025-12-31T23")
        ticked = project.tick("landing_ticks")
        assert asked(ticked) == []
        assert "2025-12-31T23" in ticked.skip_message
        assert "partitions_from" in ticked.skip_message

    def test_a_file_that_names_no_partition_is_said_to_be_so(self, project: Project) -> None:
        project.land(at(2)).rename(Path(str(project.settings.feeds["ticks"].source), "odd.csv"))
        ticked = project.tick("landing_ticks")
        assert asked(ticked) == []
        assert "has no hour in it" in ticked.skip_message

    def test_partitions_far_apart_are_asked_for_by_the_last_of_them_alone(
        self, project: Project
    ) -> None:
        project.land_all([at(0), "2026-10-01T07", "2026-10-01T08"])
        (request,) = asked(project.tick("landing_ticks"))
        assert partitions_of(request) == ("2026-10-01T07", "2026-10-01T08")
        project.make(*partitions_of(request))
        assert project.shown("ticks/events") == [at(0), "2026-10-01T07", "2026-10-01T08"]

    def test_each_feed_has_a_sensor_of_its_own(self, project: Project) -> None:
        project.land(DAY, feed="locations")
        assert asked(project.tick("landing_ticks")) == []
        (request,) = asked(project.tick("landing_locations"))
        assert partitions_of(request) == (DAY, DAY)


def events_of(ticked: Any) -> list[tuple[str, str]]:
    """What a tick tells of partitions: asset and partition."""
    told = [each for each in ticked.asset_events if isinstance(each, dg.AssetMaterialization)]
    return [(each.asset_key.to_user_string(), each.partition) for each in told if each.partition]


def rules_in(ticked: Any) -> list[Any]:
    """What a tick tells of the registry."""
    told = [each for each in ticked.asset_events if isinstance(each, dg.AssetMaterialization)]
    return [each.metadata["registry version"].value for each in told if not each.partition]


def keep(project: Project, ticked: Any) -> None:
    """Put what a tick tells into the history, as the daemon does."""
    for each in ticked.asset_events:
        project.instance.report_runless_asset_event(each)


class TestLedger:
    """`ledger`."""

    def test_what_a_command_did_is_shown_once_and_not_after_a_restart(
        self, project: Project
    ) -> None:
        project.land_all(hours(0, 2))
        project.by_command()
        ticked = project.tick("ledger")
        keep(project, ticked)
        assert len(events_of(ticked)) == len(set(events_of(ticked))) == 3 * 8
        assert project.shown("ticks/events") == hours(0, 2)
        assert project.tick("ledger", ticked.cursor).skip_message == "the ledgers have not changed"
        assert events_of(project.tick("ledger", None)) == []

    def test_rules_that_a_command_registered_are_told_once(self, project: Project) -> None:
        ticked = project.tick("ledger")
        assert rules_in(ticked) == [1]
        keep(project, ticked)
        assert rules_in(project.tick("ledger", None)) == []

    def test_what_a_run_of_dagsters_told_is_not_told_again(self, project: Project) -> None:
        project.land_all([*hours(0, 3), "2025-12-31T23"])
        project.land(DAY, feed="locations")
        project.make(*hours(2, 3))
        project.make(DAY, feed="locations")
        assert events_of(project.tick("ledger")) == []

    def test_only_what_has_changed_is_shown(self, project: Project) -> None:
        project.land_all(hours(0, 1))
        project.make(*hours(0, 1))
        cursor = project.tick("ledger").cursor
        project.land(at(2))
        project.by_command()
        ticked = project.tick("ledger", cursor)
        assert {hour for _, hour in events_of(ticked)} == set(hours(2, 2))
        assert ticked.cursor != cursor

    def test_a_command_tells_what_dagster_would_have_told(
        self, project: Project, template: Any, tmp_path: Any
    ) -> None:
        other = Project.copied(template, tmp_path / "other")
        for each in (project, other):
            each.land_all(hours(0, 1))
        project.make(*hours(0, 1))
        other.by_command()
        keep(other, other.tick("ledger"))
        for asset in ("ticks/ticks", "ticks/quarantine", "ticks/stream_state", "ticks/events"):
            for hour in hours(0, 1):
                assert other.latest(asset, hour) == project.latest(asset, hour)

    def test_it_waits_for_runs_under_way(self, project: Project) -> None:
        create_run_for_test(project.instance, status=dg.DagsterRunStatus.STARTED)
        assert "in progress" in project.tick("ledger").skip_message

    def test_many_days_are_told_in_several_ticks_the_newest_first(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project.land_all([at(0), "2026-01-06T00", "2026-01-06T01", "2026-01-07T00"])
        project.by_command()
        monkeypatch.setattr(ledger, "MOST", 1)
        cursor, told = None, []
        for _ in range(3):
            ticked = project.tick("ledger", cursor)
            keep(project, ticked)
            told.append(sorted({hour for _, hour in events_of(ticked)}))
            cursor = ticked.cursor
        assert told == [["2026-01-07T00"], ["2026-01-06T00", "2026-01-06T01"], [at(0)]]
        assert project.tick("ledger", cursor).skip_message == "the ledgers have not changed"

    def test_a_tick_looks_up_the_days_that_have_changed_and_no_others(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project.land_all([*hours(0, 3), "2026-01-06T00"])
        project.make(at(0), "2026-01-06T00")
        cursor = project.tick("ledger").cursor
        project.land("2026-01-06T01")
        project.by_command()
        looked: list[str] = []
        is_shown = ledger._is_shown

        def noted(instance: dg.DagsterInstance, told: dg.AssetMaterialization) -> bool:
            looked.append(str(told.partition))
            return is_shown(instance, told)

        monkeypatch.setattr(ledger, "_is_shown", noted)
        project.tick("ledger", cursor)
        assert set(looked) == {"2026-01-06T00", "2026-01-06T01"}

    @pytest.mark.fault(26)
    def test_a_run_that_was_killed_long_ago_does_not_silence_it(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        create_run_for_test(project.instance, status=dg.DagsterRunStatus.STARTED)
        monkeypatch.setattr(ledger, "RUN_LIMIT", -ledger.RUN_LIMIT)  # an hour later
        project.land(at(0))
        project.by_command()
        assert events_of(project.tick("ledger")) != []

    def test_before_there_is_a_lake_it_says_what_makes_one(self, project: Project) -> None:
        (project.folder / "lake").rename(project.folder / "elsewhere")
        assert "fencepost init" in project.tick("ledger").skip_message


@pytest.fixture
def on_disk(project: Project) -> Iterator[Project]:
    """A project whose history is in files: schedules ask for no other."""
    folder = project.folder.parent / "history"
    folder.mkdir()
    with dg.instance_for_test(temp_dir=str(folder)) as instance:
        project.instance = instance
        yield project


def scheduled(project: Project, name: str, at: datetime) -> Any:
    """Let a schedule tick at a time."""
    schedule = project.definitions.resolve_schedule_def(name)
    context = dg.build_schedule_context(
        project.instance, scheduled_execution_time=at, repository_def=_repository(project)
    )
    return schedule.evaluate_tick(context)


def _repository(project: Project) -> dg.RepositoryDefinition:
    return project.definitions.get_repository_def()


class TestSchedules:
    """`partitions_F`, `every_minute`, `nightly`."""

    @pytest.mark.parametrize(
        ("feed", "at", "partition"),
        [
            ("ticks", datetime(2026, 1, 5, 10, 5, tzinfo=UTC), f"{DAY}T09"),
            ("ticks", datetime(2026, 1, 6, 0, 5, tzinfo=UTC), f"{DAY}T23"),
            ("locations", datetime(2026, 1, 6, 0, 5, tzinfo=UTC), DAY),
        ],
    )
    def test_a_partition_is_asked_for_when_it_has_ended(
        self, project: Project, feed: str, at: datetime, partition: str
    ) -> None:
        (request,) = asked(scheduled(project, f"partitions_{feed}", at))
        assert (request.partition_key, request.run_key) == (partition, partition)

    def test_none_is_asked_for_before_the_first(self, project: Project) -> None:
        ticked = scheduled(project, "partitions_ticks", datetime(2026, 1, 5, 0, 5, tzinfo=UTC))
        assert asked(ticked) == []
        assert "no partition 2026-01-04T23" in ticked.skip_message

    @pytest.mark.parametrize("status", ["NOT_STARTED", "STARTED"])
    @pytest.mark.fault(20)
    def test_every_minute_skips_while_it_is_still_at_it(
        self, on_disk: Project, status: str
    ) -> None:
        project, now = on_disk, datetime.now(UTC)
        assert len(asked(scheduled(project, "every_minute", now))) == 1
        create_run_for_test(
            project.instance, job_name="run_now", status=dg.DagsterRunStatus[status]
        )
        ticked = scheduled(project, "every_minute", now)
        assert asked(ticked) == []
        assert "still in progress" in ticked.skip_message

    def test_what_evaluates_waits_to_be_switched_on(self, project: Project) -> None:
        repository = _repository(project)
        on = {
            **{each.name: each.default_status.value for each in repository.schedule_defs},
            **{each.name: each.default_status.value for each in repository.sensor_defs},
        }
        assert on == {
            "partitions_ticks": "STOPPED",
            "partitions_locations": "STOPPED",
            "every_minute": "STOPPED",
            "nightly": "STOPPED",
            "landing_ticks": "STOPPED",
            "landing_locations": "STOPPED",
            "ledger": "RUNNING",
            "marts": "RUNNING",
            "checks": "RUNNING",
        }
