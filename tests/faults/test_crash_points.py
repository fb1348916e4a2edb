"""Cut off at any named point and begun again, a lake holds the rows of a run that was not."""

import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.faults.story import (
    STAGES,
    STORIES,
    copied,
    differing,
    do,
    make,
    rows_of,
)
from tests.support.crashes import Killed, watched

LEAST = 40
FOUND = ("events", "transitions", "matches", "pending")
JOINED = ("pairs", "band_changes", "set_members", "live_windows")
PAIRS = 4


@dataclass
class Uncut:
    """The story as it goes uncut: the project before each stage, its rows after, and the points."""

    folder: Path
    rows: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    points: dict[str, list[str]] = field(default_factory=dict)

    def before(self, stage: str, target: Path) -> Path:
        shutil.rmtree(target, ignore_errors=True)
        return copied(self.folder / stage, target)


@pytest.fixture(scope="module", params=STORIES)
def uncut(request, tmp_path_factory) -> Uncut:
    uncut = Uncut(tmp_path_factory.mktemp("uncut"))
    project = uncut.folder / "project"
    make(project, story=STORIES[request.param])
    for stage in STAGES:
        copied(project, uncut.folder / stage)
        uncut.points[stage] = []
        with watched(uncut.points[stage]):
            do(project, stage)
        uncut.rows[stage] = rows_of(project)
    return uncut


def test_the_story_passes_every_point_and_leaves_rows_in_every_table(uncut) -> None:
    points = [name for passed in uncut.points.values() for name in passed]
    rows = uncut.rows["late"]
    are_joined = "bids" in rows
    committed = JOINED if are_joined else FOUND
    assert len(points) >= LEAST
    assert {name.split(".")[0] for name in points} == {"registry", "ingest", "epochs", "maintain"}
    assert {f"epochs.{name}" for name in (*committed, "stream_state", "reorder")} <= {*points}
    nothing = {name for name in rows if not rows[name]}
    assert nothing == {*(FOUND if are_joined else JOINED), "dismissals"}
    logged = "live_windows" if are_joined else "stream_state"
    assert "'generation': 2" in "".join(rows[committed[0]])
    assert "'snapshot': True" in "".join(rows[logged])
    for reason in ("malformed", "future", "late", "duplicate", "conflict"):
        assert f"'{reason}'" in "".join(rows["quarantine"])


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.fault(1, 2, 4, 5)
def test_a_crash_at_any_point_changes_no_row(uncut, tmp_path, stage, record_property) -> None:
    for k in range(1, len(uncut.points[stage]) + 1):
        project = uncut.before(stage, tmp_path / "project")
        passed: list[str] = []
        with watched(passed, k), pytest.raises(Killed):
            do(project, stage)
        assert passed == uncut.points[stage][:k]
        do(project, stage)
        assert differing(rows_of(project), uncut.rows[stage]) == [], passed[-1]
    record_property("crashes", len(uncut.points[stage]))


@pytest.mark.parametrize("stage", STAGES[:4])
@pytest.mark.fault(7)
def test_a_crash_in_the_recovery_of_a_crash_changes_no_row(uncut, tmp_path, stage) -> None:
    draw = random.Random(stage)  # noqa: S311  the same pairs each time
    crashes = 0
    for _ in range(PAIRS):
        project = uncut.before(stage, tmp_path / "project")
        first = draw.randint(1, len(uncut.points[stage]) - 1)
        for k in (first, draw.randint(1, min(first + 1, 4)), 1):
            try:
                with watched([], k):
                    do(project, stage)
            except Killed:
                crashes += 1
        do(project, stage)
        assert differing(rows_of(project), uncut.rows[stage]) == []
    assert crashes > PAIRS


@pytest.mark.fault(7)
def test_whoever_goes_on_after_a_crash_ends_where_nobody_crashed(uncut, tmp_path) -> None:
    draw = random.Random(0)  # noqa: S311
    project = uncut.before(STAGES[0], tmp_path / "project")
    for stage in STAGES:
        with watched([], draw.randint(1, len(uncut.points[stage]))), pytest.raises(Killed):
            do(project, stage)
        do(project, stage)
    assert differing(rows_of(project), uncut.rows[STAGES[-1]]) == []
