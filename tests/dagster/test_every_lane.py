"""Whatever goes over the lanes of a lake goes over all of them: those of feeds, and of joins."""

import json
from collections import Counter

import pytest
from dagster import AssetKey

from pipelines.lake.store import Store
from tests.dagster.project import JOINED, Project, hours
from tests.dagster.test_joins import GROUP, LANE, asset, keep, land_both
from tests.support.commands.commands import fencepost

pytestmark = pytest.mark.dagster

LANES = ["bids", "asks", LANE]
REMEMBERED = {"bids": "stream_state", "asks": "stream_state", LANE: "live_windows"}


@pytest.fixture
def aged(joined: Project) -> Project:
    """Three hours of both feeds, evaluated anew since a file came late into the first."""
    land_both(joined, 0, 2)
    joined.by_command()
    for feed in ("bids", "asks"):
        joined.land(hours(0, 0)[0], name="-late", feed=feed)
    assert sorted({group.lane.name for group in joined.by_command().groups}) == sorted(LANES)
    return joined


def scattered(project: Project) -> set[str]:
    """Name the lanes whose state is in several files that may be put together."""
    store = Store.to_read(project.settings.root, project.settings.tables)
    many = Counter(
        (lane, file.least("generation"))
        for lane, table in REMEMBERED.items()
        for file in store.files(table)
        if lane in (file.partition.get(store.tables[table].lane_column or ""), file.least("lane"))
    )
    return {lane for (lane, _), files in many.items() if files > 1}


def test_maintain_goes_over_every_lane_when_dagster_does_it(aged: Project) -> None:
    for hour in (3, 4):
        land_both(aged, hour, hour)
        aged.by_command()
    assert scattered(aged) == set(LANES)
    assert aged.job("maintain").success
    assert scattered(aged) == set()


def test_every_command_goes_over_every_lane(aged: Project) -> None:
    where = ("--config", aged.folder / "fencepost.toml", "--json")
    assert list(fencepost("maintain", *where).summary["horizons"]) == LANES
    assert [lane["lane"] for lane in fencepost("status", *where).summary["lanes"]] == LANES
    land_both(aged, 3, 3)
    groups = fencepost("run", *where).summary["groups"]
    assert list(dict.fromkeys(group["lane"] for group in groups)) == LANES
    checked = json.dumps(json.loads(fencepost("check", "--no-contracts", *where).out))
    assert [lane for lane in LANES if f'"{lane}"' in checked] == LANES


def test_partitions_doctor_and_the_report_know_every_lane(aged: Project) -> None:
    where = ("--config", aged.folder / "fencepost.toml", "--json")
    for lane in LANES:
        listed = fencepost("partitions", lane, *where).summary
        assert [each["key"] for each in listed["partitions"]] == hours(0, 2), lane
        again = fencepost("partitions", lane, hours(1, 1)[0], "--again", *where).summary
        assert (again["lane"], [each["key"] for each in again["partitions"]]) == (lane, hours(1, 1))
    page = aged.folder / "page.html"
    assert fencepost("report", "--out", page, *where).code == 0
    shown = page.read_text()
    assert [lane for lane in LANES if f'"{lane}"' in shown] == LANES
    assert fencepost("doctor", *where).code == 0


def test_dagster_goes_over_every_lane(aged: Project) -> None:
    land_both(aged, 3, 3)
    assert aged.job("run_now").success
    keep(aged, aged.tick("ledger"))
    shown = {"bids/events", "asks/events", *map(asset, JOINED)}
    assert {name: aged.shown(name) for name in shown} == dict.fromkeys(shown, hours(0, 3))
    checks = aged.definitions.resolve_asset_graph().asset_check_keys
    assert {AssetKey(name.split("/")) for name in shown} <= {each.asset_key for each in checks}
    nightly = aged.definitions.resolve_schedule_def("nightly")
    assert nightly.job_name == "maintain"
    behind = aged.definitions.resolve_job_def("evaluate_bids").asset_layer.selected_asset_keys
    assert AssetKey([GROUP, "pairs"]) in behind
