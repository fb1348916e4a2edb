"""What a change of an old partition does to the later ones: they are stale, it shows, it is mended.

Stale is what the ledgers say is stale. Dagster's own word, a materialisation older than its
parent's, says less: an input that came late has no newer parent.
"""

import dagster as dg
import pytest

from assets.checks import checks
from assets.graph import MARTS
from assets.partitions import range_tags
from pipelines.runs.run import take_in
from pipelines.serve.status import status_of
from pipelines.serve.views.duckdb import from_duckdb
from tests.dagster.project import Project, at, hours, told
from tests.faults.story import rows_of

pytestmark = pytest.mark.dagster


SHOWS = (
    *("stream_state", "events", "transitions", "matches", "leaps", "pending"),
    "quarantine",
    *("inside_now", "visits", "daily_summary"),
)
"""The tables of a feed that are wrong where a partition is stale."""


def step_of(project: Project) -> dg.AssetChecksDefinition:
    """The step that says of all assets of ticks whether their partitions are stale."""
    (found,) = (
        each for each in checks(project.settings) if each.node_def.name == "check_ticks_staleness"
    )
    return found


def staleness_of(project: Project, *tables: str) -> dict[str, dg.AssetCheckEvaluation]:
    """What the check says of each table now; executed for some tables alone, or for all."""
    step = step_of(project)
    keys = [key for key in step.check_keys if not tables or key.asset_key.path[-1] in tables]
    result = dg.materialize(
        [*_alone(project), step],
        selection=dg.AssetSelection.checks(*keys),
        instance=project.instance,
        resources={"lake": project.lake},
    )
    return {each.asset_key.path[-1]: each for each in result.get_asset_check_evaluations()}


def passed(project: Project, *tables: str) -> bool:
    """Whether the check passes, of all tables alike."""
    (same,) = {each.passed for each in staleness_of(project, *tables).values()}
    return same


def _alone(project: Project) -> list[dg.AssetsDefinition]:
    return [project.assets("arrivals_of_ticks"), project.assets("crossings_of_ticks")]


def shown_check(project: Project, table: str = "stream_state") -> tuple[bool, str]:
    """What Dagster shows of the check on a table: whether it is green, and its words."""
    key = dg.AssetCheckKey(dg.AssetKey(["ticks", table]), "nothing_is_stale")
    records = project.instance.event_log_storage.get_asset_check_execution_history(key, limit=1)
    event = records[0].event
    assert event is not None
    assert event.dagster_event is not None
    data = event.dagster_event.event_specific_data
    assert isinstance(data, dg.AssetCheckEvaluation)
    return data.passed, str({name: value.value for name, value in data.metadata.items()})


@pytest.fixture
def stale(project: Project) -> Project:
    """Three hours evaluated, then a file more for the first, and that one evaluated anew."""
    project.land_all(hours(0, 2))
    project.make(*hours(0, 2))
    assert passed(project)
    project.land(at(0), "-late")
    project.make(at(0))
    return project


@pytest.mark.fault(26)
def test_every_asset_that_shows_partitions_names_those_that_are_stale(stale: Project) -> None:
    found = staleness_of(stale)
    assert set(found) == set(SHOWS)
    for each in found.values():
        assert not each.passed
        assert each.severity is dg.AssetCheckSeverity.ERROR
        said = str({name: value.value for name, value in each.metadata.items()})
        assert "2026-01-05T01" in said
        assert "2026-01-05T02" in said
        assert "2026-01-05T00" not in said
        assert each.description == (
            "2 partitions are stale (2026-01-05T01 … 2026-01-05T02): the job `reevaluate` "
            "evaluates them again."
        )


def partitions_in_sql(project: Project) -> dict[str, tuple[int, int, int]]:
    """What SQL says of each hour of ticks: deliveries that wait, epochs in force, stale ones."""
    statement = """SELECT p.partition_key, p.waiting, p.epochs, p.stale_epochs
        FROM partition_status p WHERE p.lane = 'ticks'"""
    with from_duckdb(project.settings, statement) as answer:
        rows = [tuple(row.values()) for batch in answer.batches for row in batch.to_pylist()]
    assert {key: stale > 0 for key, *_, stale in rows} == {
        key: account.stale for key, account in project.accounts().items()
    }
    return {key: (waiting, epochs, stale) for key, waiting, epochs, stale in rows}


def test_until_it_is_evaluated_again_sql_shows_what_stood_and_says_that_it_is_stale(
    project: Project,
) -> None:
    hour_0, hour_1, hour_2 = hours(0, 2)
    project.land_all(hours(0, 2))
    project.make(*hours(0, 2))
    assert partitions_in_sql(project) == dict.fromkeys(hours(0, 2), (0, 1, 0))
    project.land(hour_1, "-late")
    with project.lake.writing("test") as lake:
        take_in(lake.store, lake.settings, lake.runner)
    late = {hour_0: (0, 1, 0), hour_1: (1, 1, 0), hour_2: (0, 1, 1)}
    assert partitions_in_sql(project) == late
    assert not passed(project, "events")
    project.make(hour_0)
    assert partitions_in_sql(project) == late  # nothing up to hour 0 was to be evaluated again
    project.make(hour_1)
    assert partitions_in_sql(project) == {
        hour_0: (0, 1, 0),
        hour_1: (0, 2, 0),
        hour_2: (1, 0, 1),  # it is replaced, and not done again
    }
    (ticks, *_) = status_of(project.settings).lanes
    assert ticks.stale == 1
    project.job("reevaluate")
    assert {stale for *_, stale in partitions_in_sql(project).values()} == {0}


def test_the_check_can_be_executed_for_one_asset_alone(stale: Project) -> None:
    assert list(staleness_of(stale, "events")) == ["events"]
    assert list(staleness_of(stale, "visits")) == ["visits"]


def test_every_check_can_be_executed_alone(project: Project) -> None:
    for each in checks(project.settings):
        assert each.can_subset, each.node_def.name


def test_a_run_over_partitions_leaves_no_check_planned_for_good(project: Project) -> None:
    project.land_all(hours(0, 2))
    step = step_of(project)
    for hours_of in ({"partition_key": at(0)}, {"tags": range_tags(at(1), at(2))}):
        result = dg.materialize(
            [*_alone(project), step],
            instance=project.instance,
            resources={"lake": project.lake},
            **hours_of,
        )
        assert result.success
    for key in step.check_keys:
        if key.asset_key.path[-1] in MARTS:
            continue  # not of these runs
        history = project.instance.event_log_storage.get_asset_check_execution_history(key, 50)
        assert [(each.status.value, each.partition) for each in history] == [
            ("SUCCEEDED", None)
        ] * 2


def test_reevaluate_brings_them_up_to_date_and_the_check_is_green(stale: Project) -> None:
    before = stale.latest("ticks/events", "2026-01-05T02")
    result = stale.job("reevaluate")
    made = [hour for asset, hour in told(result) if asset == "ticks/events"]
    assert made == hours(1, 2)
    assert stale.latest("ticks/events", "2026-01-05T02")["generation"] > before["generation"]
    assert passed(stale)
    assert all(shown_check(stale, table)[0] for table in SHOWS)


def test_reevaluate_with_nothing_stale_changes_nothing(project: Project) -> None:
    project.land_all(hours(0, 1))
    project.make(*hours(0, 1))
    before = rows_of(project.folder)
    assert told(project.job("reevaluate")) == []
    assert rows_of(project.folder) == before


def test_what_a_command_made_stale_the_ledger_shows(project: Project) -> None:
    project.land_all(hours(0, 2))
    project.make(*hours(0, 2))
    project.land(at(0), "-late")
    project.make(at(0))
    for event in project.tick("ledger").asset_events:
        project.instance.report_runless_asset_event(event)
    for table in SHOWS:
        green, said = shown_check(project, table)
        assert not green
        assert "2026-01-05T02" in said
    project.by_command()
    for event in project.tick("ledger").asset_events:
        project.instance.report_runless_asset_event(event)
    assert all(shown_check(project, table)[0] for table in SHOWS)


def test_run_now_evaluates_whatever_has_arrived_and_tells_it(project: Project) -> None:
    project.land_all(hours(0, 1))
    project.land("2026-01-05", feed="locations")
    made = {each for each in told(project.job("run_now")) if each[0].endswith("/events")}
    assert made == {
        *(("ticks/events", hour) for hour in hours(0, 1)),
        ("locations/events", "2026-01-05"),
    }
    assert told(project.job("run_now")) == []


def test_maintain_leaves_what_is_shown_as_it_is(project: Project) -> None:
    project.land_all(hours(0, 2))
    project.make(*hours(0, 2))
    shown = {hour: project.latest("ticks/events", hour) for hour in hours(0, 2)}
    project.job("maintain")
    project.make(*hours(0, 2))
    assert {hour: project.latest("ticks/events", hour) for hour in hours(0, 2)} == shown
