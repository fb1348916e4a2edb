"""Cut off at any named point and begun again, a lake holds the rows of a run that was not."""

import random
import shutil
from collections.abc import Sequence
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
FOUND = ("events", "transitions", "matches", "leaps", "pending")
JOINED = ("pairs", "band_changes", "near_changes", "set_members", "live_windows")
PAIRS, MANY_PAIRS = 2, 12


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


def crashed_and_begun_again(uncut: Uncut, folder: Path, stage: str, k: int) -> None:
    """Crash at the k-th point that a stage passes, do it again, and compare the rows."""
    project = uncut.before(stage, folder / "project")
    passed: list[str] = []
    with watched(passed, k), pytest.raises(Killed):
        do(project, stage)
    assert passed == uncut.points[stage][:k]
    do(project, stage)
    assert differing(rows_of(project), uncut.rows[stage]) == [], passed[-1]


def once_each(points: Sequence[str], *, last: bool) -> list[int]:
    """Say when each named point is passed: for the first time, or for the last; from 1."""
    numbered = list(enumerate(points, 1))
    times = {name: k for k, name in (numbered if last else reversed(numbered))}
    return sorted(times.values())


def its_own(uncut: Uncut, stage: str) -> list[int]:
    """Say when a stage passes each point that no stage after it passes."""
    later = {name for after in STAGES[STAGES.index(stage) + 1 :] for name in uncut.points[after]}
    points = uncut.points[stage]
    return [k for k in once_each(points, last=stage == "late") if points[k - 1] not in later]


@pytest.mark.parametrize("stage", STAGES[2:])
@pytest.mark.fault(1, 2, 4, 5)
def test_a_crash_at_any_point_changes_no_row(uncut, tmp_path, stage, record_property) -> None:
    tried = {uncut.points[each][k - 1] for each in STAGES[2:] for k in its_own(uncut, each)}
    assert tried == {name for points in uncut.points.values() for name in points}
    times = its_own(uncut, stage)
    for k in times:
        crashed_and_begun_again(uncut, tmp_path, stage, k)
    record_property("crashes", len(times))


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.fault(1, 2, 4, 5)
def test_a_crash_whenever_a_point_is_passed_changes_no_row(
    uncut, tmp_path, stage, record_property
) -> None:
    for k in range(1, len(uncut.points[stage]) + 1):
        crashed_and_begun_again(uncut, tmp_path, stage, k)
    record_property("crashes", len(uncut.points[stage]))


@pytest.mark.parametrize("stage", STAGES[:4])
@pytest.mark.fault(7)
def test_a_crash_in_the_recovery_of_a_crash_changes_no_row(uncut, tmp_path, stage) -> None:
    crash_in_recovery(uncut, tmp_path, stage, PAIRS)


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES[:4])
@pytest.mark.fault(7)
def test_many_crashes_in_the_recovery_of_a_crash_change_no_row(uncut, tmp_path, stage) -> None:
    crash_in_recovery(uncut, tmp_path, stage, MANY_PAIRS)


def crash_in_recovery(uncut: Uncut, tmp_path: Path, stage: str, pairs: int) -> None:
    """Crash, crash twice more on the way back, and compare the rows in the end."""
    draw = random.Random(stage)  # noqa: S311  the same pairs each time
    crashes = 0
    for _ in range(pairs):
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
    assert crashes > pairs


@pytest.mark.fault(7)
def test_whoever_goes_on_after_a_crash_ends_where_nobody_crashed(uncut, tmp_path) -> None:
    draw = random.Random(0)  # noqa: S311
    project = uncut.before(STAGES[0], tmp_path / "project")
    for stage in STAGES:
        with watched([], draw.randint(1, len(uncut.points[stage]))), pytest.raises(Killed):
            do(project, stage)
        do(project, stage)
    assert differing(rows_of(project), uncut.rows[STAGES[-1]]) == []
