"""Joins of two feeds in Dagster: a group for each declared pair, behind both of its feeds."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster import BackfillPolicy

from assets.checks import checks
from assets.lanes import BETWEEN
from assets.partitions import range_tags
from pipelines.checks import OF_JOINS
from pipelines.epochs.accounts import accounts
from schemas.expectations import contracts
from tests.dagster.project import (
    JOINED,
    JOINED_TOML,
    Project,
    at,
    hours,
    told,
    with_rules,
)
from tests.faults.story import rows_of

pytestmark = pytest.mark.dagster

LANE, GROUP = "bids~asks", "bids_X_asks"
STEP = f"joins_of_{GROUP}"


def asset(table: str) -> str:
    """Name an asset of the pair."""
    return f"{GROUP}/{table}"


def evaluated(project: Project, job: str, first: int, last: int) -> dg.ExecuteInProcessResult:
    """Execute a job for hours, its checks aside."""
    names = [node.name for node in project.definitions.resolve_job_def(job).all_node_defs]
    steps = [name for name in names if "_of_" in name]
    return project.job(job, tags=range_tags(at(first), at(last)), op_selection=steps)


def known(project: Project) -> Any:
    """What the ledgers tell of the pair, partition by partition."""
    return accounts(project.lake.store(), LANE)


def land_both(project: Project, first: int, last: int) -> None:
    """Let a file land for each hour of either feed."""
    for feed in ("bids", "asks"):
        project.land_all(hours(first, last), feed=feed)


def keep(project: Project, ticked: Any) -> None:
    """Put what a tick tells into the history, as the daemon does."""
    for each in ticked.asset_events:
        project.instance.report_runless_asset_event(each)


def test_a_declared_pair_is_a_group_of_five_assets_behind_both_feeds(unjoined: Project) -> None:
    graph = unjoined.definitions.resolve_asset_graph()
    mine = {key for key in graph.get_all_asset_keys() if key.path[0] == GROUP}
    assert {key.path[-1] for key in mine} == set(JOINED)
    feeds = {"bids/bids", "asks/asks"}
    for key in mine:
        node = graph.get(key)
        parents = {parent.to_user_string() for parent in node.parent_keys}
        is_log = key.path[-1] in ("set_members", "live_windows")
        assert parents == feeds | {key.to_user_string() if is_log else "queries"}
        assert node.group_name == GROUP
        assert node.partitions_def == graph.get(dg.AssetKey(["asks", "asks"])).partitions_def
        assert set(node.owners) == {"team:bids", "team:asks"}
    before = dg.TimeWindowPartitionMapping(start_offset=-1, end_offset=-1)
    members = dg.AssetKey([GROUP, "set_members"])
    assert graph.get(members).partition_mappings[members] == before


def test_a_pair_tells_of_which_columns_its_columns_are_made(unjoined: Project) -> None:
    graph = unjoined.definitions.resolve_asset_graph()
    pairs = graph.get(dg.AssetKey([GROUP, "pairs"])).metadata["dagster/column_lineage"]
    made = {
        name: {(dep.asset_key.to_user_string(), dep.column_name) for dep in deps}
        for name, deps in pairs.deps_by_column.items()
    }
    assert made["left_price"] == {("bids/bids", "price")}
    assert made["right_volume"] == {("asks/asks", "volume")}
    assert made["right_ts"] == {("asks/asks", "ts")}
    assert made["query_id"] == {("queries", "id")}
    assert "left_volume" not in made


def test_no_feed_can_be_called_like_a_pair(unjoined: Project) -> None:
    more = '\n[feeds.bids_asks]\naxes = ["x"]\nsource = "other"\npartition = "hour"\n'
    more += 'partitions_from = "2026-01-05"\n'
    text = JOINED_TOML.format(runner="here") + more
    text = text.replace('"bids~asks"', '"bids~asks", "asks~bids", "bids_asks~bids"')
    (unjoined.folder / "fencepost.toml").write_text(text)
    other = Project(unjoined.folder)
    dg.Definitions.validate_loadable(other.definitions)
    graph = other.definitions.resolve_asset_graph()
    groups = {graph.get(key).group_name for key in graph.get_all_asset_keys()}
    assert {"bids_asks", GROUP, "asks_X_bids", "bids_asks_X_bids"} <= groups
    assert BETWEEN.lower() != BETWEEN  # and a feed's name has no capital letter


def test_the_step_of_a_pair_writes_alone_is_tried_again_and_takes_a_range_at_once(
    unjoined: Project,
) -> None:
    step = unjoined.assets(STEP)
    assert step.backfill_policy == BackfillPolicy.single_run()
    op = step.node_def
    assert isinstance(op, dg.OpDefinition)
    assert op.pool == "lake"
    assert op.retry_policy is not None
    assert op.retry_policy.max_retries == 2


def test_a_feeds_job_evaluates_its_joins_last_and_each_partition_is_told(joined: Project) -> None:
    land_both(joined, 0, 2)
    evaluated(joined, "evaluate_asks", 0, 2)
    result = evaluated(joined, "evaluate_bids", 0, 2)
    assert result.success
    steps = [e.step_key for e in result.all_events if e.event_type_value == "STEP_START"]
    assert steps == ["arrivals_of_bids", "crossings_of_bids", STEP]
    for table in JOINED:
        assert joined.shown(asset(table)) == hours(0, 2)
    for hour, account in known(joined).items():
        assert not account.missing
        pairs = joined.latest(asset("pairs"), hour)
        assert pairs["dagster/partition_row_count"] == account.counts["paired"] > 0
        changes = joined.latest(asset("band_changes"), hour)
        assert (changes["+1"], changes["-1"]) == (
            account.counts["came_in"],
            account.counts["went_out"],
        )
        assert changes["dagster/partition_row_count"] == changes["+1"] + changes["-1"] > 0
        members = joined.latest(asset("set_members"), hour)
        assert members["tuples"] == account.counts["accepted"] == 36
        assert members["watermark"] * 1e6 == account.watermark


def test_whichever_feed_comes_last_brings_the_joins_up_to_date(joined: Project) -> None:
    land_both(joined, 0, 0)
    evaluated(joined, "evaluate_bids", 0, 0)
    assert joined.latest(asset("pairs"), at(0))["dagster/partition_row_count"] == 0
    evaluated(joined, "evaluate_asks", 0, 0)
    assert joined.latest(asset("pairs"), at(0))["dagster/partition_row_count"] > 0


def test_the_job_of_a_pair_evaluates_both_feeds_and_their_joins(joined: Project) -> None:
    land_both(joined, 0, 1)
    assert evaluated(joined, f"evaluate_{GROUP}", 0, 1).success
    for name in ("bids/events", "asks/events", asset("pairs"), asset("live_windows")):
        assert joined.shown(name) == hours(0, 1)


def test_while_no_query_joins_the_feeds_nothing_is_evaluated(unjoined: Project) -> None:
    land_both(unjoined, 0, 0)
    assert evaluated(unjoined, f"evaluate_{GROUP}", 0, 0).success
    assert unjoined.latest(asset("pairs"), at(0))["epochs"] == 0
    assert [len(account.epochs) for account in known(unjoined).values()] == [0]
    with_rules(unjoined.folder)
    unjoined.by_command()
    keep(unjoined, unjoined.tick("ledger"))
    assert unjoined.latest(asset("pairs"), at(0))["epochs"] > 0


@pytest.mark.fault(6, 26)
def test_a_pair_once_more_changes_no_row(joined: Project) -> None:
    land_both(joined, 0, 1)
    evaluated(joined, f"evaluate_{GROUP}", 0, 1)
    before = rows_of(joined.folder)
    again = {"ops": {STEP: {"config": {"again": True}}}}
    names = ("bids", "asks")
    needed = [joined.assets(f"arrivals_of_{feed}") for feed in names]
    assert dg.materialize(
        [*needed, joined.assets(STEP)],
        selection=[dg.AssetKey([GROUP, table]) for table in JOINED],
        partition_key=at(0),
        run_config=again,
        instance=joined.instance,
        resources={"lake": joined.lake},
    ).success
    assert rows_of(joined.folder) == before


def test_what_a_command_did_to_joins_is_told_once(joined: Project, tmp_path: Path) -> None:
    other = Project.copied(joined.folder, tmp_path / "other")
    for each in (joined, other):
        land_both(each, 0, 1)
    evaluated(other, f"evaluate_{GROUP}", 0, 1)
    joined.by_command()
    ticked = joined.tick("ledger")
    keep(joined, ticked)
    for table in JOINED:
        assert joined.shown(asset(table)) == hours(0, 1)
        for hour in hours(0, 1):
            mine, others = joined.latest(asset(table), hour), other.latest(asset(table), hour)
            assert {**mine, "fencepost/stands": ""} == {**others, "fencepost/stands": ""}
    assert joined.tick("ledger", ticked.cursor).skip_message == "the ledgers have not changed"
    told_again = [e for e in joined.tick("ledger", None).asset_events if getattr(e, "partition", 0)]
    assert told_again == []


def test_run_now_tells_the_partitions_of_joins(joined: Project) -> None:
    land_both(joined, 0, 1)
    made = {each for each in told(joined.job("run_now")) if each[0] == asset("pairs")}
    assert made == {(asset("pairs"), hour) for hour in hours(0, 1)}
    assert told(joined.job("run_now")) == []


def test_stale_partitions_of_joins_are_named_and_evaluated_anew(joined: Project) -> None:
    land_both(joined, 0, 2)
    evaluated(joined, f"evaluate_{GROUP}", 0, 2)
    joined.land(at(0), "-late", feed="asks")
    evaluated(joined, "evaluate_asks", 0, 0)
    keep(joined, joined.tick("ledger"))
    passed, said = _shown_check(joined)
    assert not passed
    assert at(1) in said
    assert at(2) in said
    made = [hour for name, hour in told(joined.job("reevaluate")) if name == asset("pairs")]
    assert made == hours(1, 2)
    assert _shown_check(joined)[0]
    assert told(joined.job("reevaluate")) == []


def test_joins_that_dagster_does_not_show_are_evaluated_anew_too(joined: Project) -> None:
    text = JOINED_TOML.format(runner="here").replace('joins = ["bids~asks"]\n', "")
    (joined.folder / "fencepost.toml").write_text(text)
    hidden = Project(joined.folder)
    land_both(hidden, 0, 1)
    hidden.by_command()
    hidden.land(at(0), "-late", feed="asks")
    evaluated(hidden, "evaluate_asks", 0, 0)
    assert any(account.missing for account in known(hidden).values())
    hidden.by_command()
    assert not any(account.missing or account.stale for account in known(hidden).values())
    graph = hidden.definitions.resolve_asset_graph()
    assert not [key for key in graph.get_all_asset_keys() if key.path[0] == GROUP]


def test_a_pair_has_its_own_checks_and_contracts(unjoined: Project) -> None:
    declared = unjoined.settings
    specs = {
        (spec.asset_key.path[-1], spec.name): spec.blocking
        for definition in checks(declared)
        for spec in definition.check_specs
        if spec.asset_key.path[0] == GROUP
    }
    own = {(check.table, check.name): check.blocking for check in OF_JOINS}
    promised: dict[tuple[str | None, str], bool] = {
        (table, each.name): False
        for table, contract in contracts(LANE, declared.axes).items()
        for each in contract.expectations
    }
    stale: dict[tuple[str | None, str], bool] = {
        (table, "nothing_is_stale"): False for table in JOINED
    }
    assert specs == {**own, **promised, **stale}


@pytest.mark.slow
def test_a_job_makes_the_checks_of_its_joins_and_they_pass(joined: Project) -> None:
    land_both(joined, 0, 1)
    result = joined.job(f"evaluate_{GROUP}", tags=range_tags(at(0), at(1)))
    assert result.success
    made = result.get_asset_check_evaluations()
    mine = {
        (each.asset_key.path[-1], each.check_name)
        for each in made
        if each.asset_key.path[0] == GROUP
    }
    assert {(check.table, check.name) for check in OF_JOINS} <= mine
    assert [each.check_name for each in made if not each.passed] == []


def _shown_check(project: Project) -> tuple[bool, str]:
    key = dg.AssetCheckKey(dg.AssetKey([GROUP, "set_members"]), "nothing_is_stale")
    records = project.instance.event_log_storage.get_asset_check_execution_history(key, limit=1)
    event = records[0].event
    assert event is not None
    assert event.dagster_event is not None
    data = event.dagster_event.event_specific_data
    assert isinstance(data, dg.AssetCheckEvaluation)
    return data.passed, str({name: value.value for name, value in data.metadata.items()})
