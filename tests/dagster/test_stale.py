"""What a change of an old partition does to the later ones: they are stale, it shows, it is mended.

Stale is what the ledgers say is stale. Dagster's own word, a materialisation older than its
parent's, says less: an input that came late has no newer parent.
"""

import dagster as dg
import pytest

from tests.dagster.project import Project, at, hours, told
from tests.faults.story import rows_of

pytestmark = pytest.mark.dagster


def staleness_of(project: Project) -> dg.AssetCheckEvaluation:
    """What the check says now, called as a function."""
    (definition,) = (
        each
        for each in project.definitions.asset_checks or ()
        if isinstance(each, dg.AssetChecksDefinition)
        and any(key.name == "nothing_is_stale" for key in each.check_keys)
        and "ticks" in each.node_def.name
    )
    result = dg.materialize(
        [*_alone(project), definition],
        selection=dg.AssetSelection.checks(definition),
        instance=project.instance,
        resources={"lake": project.lake},
    )
    (found,) = (
        each
        for each in result.get_asset_check_evaluations()
        if each.check_name == "nothing_is_stale"
    )
    return found


def _alone(project: Project) -> list[dg.AssetsDefinition]:
    return [project.assets("arrivals_of_ticks"), project.assets("crossings_of_ticks")]


def shown_check(project: Project) -> tuple[bool, str]:
    """What Dagster shows of the check: whether it is green, and its words."""
    key = dg.AssetCheckKey(dg.AssetKey(["ticks", "stream_state"]), "nothing_is_stale")
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
    assert staleness_of(project).passed
    project.land(at(0), "-late")
    project.make(at(0))
    return project


@pytest.mark.fault(26)
def test_the_check_names_the_partitions_that_are_stale(stale: Project) -> None:
    found = staleness_of(stale)
    assert not found.passed
    assert found.severity is dg.AssetCheckSeverity.ERROR
    said = str({name: value.value for name, value in found.metadata.items()})
    assert "2026-01-05T01" in said
    assert "2026-01-05T02" in said
    assert "2026-01-05T00" not in said


def test_reevaluate_brings_them_up_to_date_and_the_check_is_green(stale: Project) -> None:
    before = stale.latest("ticks/events", "2026-01-05T02")
    result = stale.job("reevaluate")
    made = [hour for asset, hour in told(result) if asset == "ticks/events"]
    assert made == hours(1, 2)
    assert stale.latest("ticks/events", "2026-01-05T02")["generation"] > before["generation"]
    assert staleness_of(stale).passed
    passed, _ = shown_check(stale)
    assert passed


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
    passed, said = shown_check(project)
    assert not passed
    assert "2026-01-05T02" in said
    project.by_command()
    for event in project.tick("ledger").asset_events:
        project.instance.report_runless_asset_event(event)
    assert shown_check(project)[0]


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
