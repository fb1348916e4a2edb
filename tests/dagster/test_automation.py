"""The marts, written anew when what they read is newer, and the report over all of it."""

from typing import Any

import dagster as dg
import pytest
from deltalake import DeltaTable

from tests.dagster.project import Project, at, hours

pytestmark = [
    pytest.mark.dagster,
    pytest.mark.filterwarnings(  # Dagster's own, in evaluate_automation_conditions
        "ignore:Parameter `include_sources` of function `AssetSelection.all`"
    ),
]

OF_TICKS = {"ticks/inside_now", "ticks/visits", "ticks/daily_summary"}


class Conditions:
    """The conditions of a project, asked again and again, as the daemon does."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.cursor: Any = None

    def ask(self) -> set[str]:
        """Name the assets that are to be materialised now."""
        found = dg.evaluate_automation_conditions(
            self.project.definitions, self.project.instance, cursor=self.cursor
        )
        self.cursor = found.cursor
        return {
            each.key.to_user_string() for each in found.results if not each.true_subset.is_empty
        }


def marts(project: Project, *names: str) -> dg.ExecuteInProcessResult:
    """Write marts of ticks."""
    return dg.materialize(
        [project.assets("marts_ticks")],
        selection=[dg.AssetKey(["ticks", name]) for name in names],
        instance=project.instance,
        resources={"lake": project.lake},
    )


def test_marts_are_asked_for_after_an_evaluation_and_not_twice(project: Project) -> None:
    conditions = Conditions(project)
    conditions.ask()
    assert conditions.ask() == set()
    project.land_all(hours(0, 1))
    project.make(*hours(0, 1))
    assert conditions.ask() == OF_TICKS
    assert conditions.ask() == set()
    marts(project, "inside_now", "visits", "daily_summary")
    assert conditions.ask() == set()
    project.land(at(2))
    project.make(at(2))
    assert conditions.ask() == OF_TICKS
    assert conditions.ask() == set()


def test_what_the_ledger_tells_asks_for_marts_too(project: Project) -> None:
    conditions = Conditions(project)
    conditions.ask()
    project.land_all(hours(0, 1))
    project.by_command()
    assert conditions.ask() == set()
    for event in project.tick("ledger").asset_events:
        project.instance.report_runless_asset_event(event)
    assert conditions.ask() == OF_TICKS


def test_a_mart_is_written_alone_or_with_the_others(project: Project) -> None:
    project.land_all(hours(0, 1))
    project.make(*hours(0, 1))
    marts(project, "visits")
    told = project.latest("ticks/visits")
    assert DeltaTable(told["path"]).to_pyarrow_table().num_rows == told["dagster/row_count"] > 0
    assert not project.instance.get_latest_materialization_event(
        dg.AssetKey(["ticks", "inside_now"])
    )


def test_a_summary_carries_its_pictures_as_text_that_holds_them(project: Project) -> None:
    project.land_all(hours(0, 1))
    project.make(*hours(0, 1))
    marts(project, "daily_summary")
    told = project.latest("ticks/daily_summary")
    for title in ("events by query and hour", "epochs", "quarantine", "partitions"):
        assert "data:image/png;base64," in told[title]
        assert len(told[title]) < 200_000


def test_the_report_is_one_file_that_is_told_where_it_is(project: Project) -> None:
    project.land_all(hours(0, 1))
    project.make(*hours(0, 1))
    dg.materialize(
        [project.assets("report")],
        instance=project.instance,
        resources={"lake": project.lake},
    )
    told = project.latest("report")
    page = project.folder / "reports" / "latest.html"
    assert told["path"] == str(page)
    assert told["open it"] == "http://127.0.0.1:3001/latest.html"
    assert told["bytes"] == page.stat().st_size > 0
