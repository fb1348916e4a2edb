"""A lake whose ledgers and tables no longer agree is refused, and nothing is evaluated twice."""

import json
from pathlib import Path

import pytest

from fencepost.errors import LakeError
from pipelines.lake.layout import commit_path
from pipelines.lake.store import Store
from pipelines.project.settings import Settings, load
from pipelines.runs.run import run
from pipelines.spark.runner import HereRunner
from tests.faults.story import STORIES, copied, differing, do, land, make, rows_of
from tests.support.lakes.on_disk import on_disk


@pytest.fixture(scope="module", params=STORIES)
def told(request, tmp_path_factory) -> Path:
    project: Path = tmp_path_factory.mktemp("told") / "project"
    make(project, story=STORIES[request.param])
    for stage in ("registered", "taken-in"):
        do(project, stage)
    return project


@pytest.fixture
def project(told, tmp_path) -> Path:
    return copied(told, tmp_path / "project")


def store_of(settings: Settings) -> Store:
    return Store.open(settings.root, settings.tables)


@pytest.mark.fault(27)
@pytest.mark.parametrize("lost", ["all", "the last"])
def test_a_ledger_that_forgot_its_epochs_is_noticed_before_any_is_planned(project, lost) -> None:
    settings = load(project)
    delta = store_of(settings).delta("epochs")
    if lost == "all":
        delta.delete()
    else:
        highest = max(row["epoch"] for row in store_of(settings).rows("epochs").to_pylist())
        delta.delete(f"epoch >= {highest}")
    before = rows_of(project)
    land(project, "late")
    with pytest.raises(LakeError, match="the ledger 'epochs' knows nothing of them: it was empti"):
        run(settings, HereRunner())
    after = {name: rows for name, rows in rows_of(project).items() if name in FOUND}
    assert differing({name: before[name] for name in FOUND}, after) == []


FOUND = ("events", "transitions", "matches", "pairs", "band_changes")


@pytest.mark.fault(30)
@pytest.mark.parametrize("table", ["epochs", "quarantine", "stream_state"])
def test_a_table_restored_to_an_older_version_is_refused_until_that_is_undone(
    project, table
) -> None:
    settings = load(project)
    rows = rows_of(project)
    delta = store_of(settings).delta(table)
    delta.restore(delta.version() - 1)
    restored = commit_path(settings.root / table, delta.version())
    with pytest.raises(LakeError, match=f"'{table}' was restored to an older version") as refused:
        run(settings, HereRunner())
    assert str(restored) in str(refused.value)
    restored.unlink()
    run(settings, HereRunner())
    assert differing(rows, rows_of(project)) == []


@pytest.mark.fault(28, 29)
def test_commits_carry_plans_of_their_own_and_no_transaction_ids(project) -> None:
    settings = load(project)
    plans: dict[str, list[str]] = {}
    for name in settings.tables:
        for path in sorted(on_disk(settings.root / name / "_delta_log").glob("*.json")):
            actions = [json.loads(line) for line in path.read_text().splitlines()]
            assert not [each for each in actions if "txn" in each], path
        said = store_of(settings).evidence(name, 0)
        assert len({each.key for each in said}) == len(said)
        plans[name] = [each.plan for each in said if each.what == "evaluate"]
    known = {row["plan"] for row in store_of(settings).rows("epochs").to_pylist()}
    assert {plan for each in plans.values() for plan in each} <= known
    assert all(len(plan) == 32 for plan in known)
