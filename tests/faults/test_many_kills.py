"""Hundreds of real kills at named points and random moments: no row is lost, doubled or changed.

Each kill ends a process group with SIGKILL. Then the stage is told again to its end, and all rows
of all tables are compared with the story that nobody interrupted. `make test-all` prints how many
kills there were. A few stand in the short set, by commands: test_kill.py.
"""

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.faults.story import (
    STAGES,
    STORIES,
    Tables,
    copied,
    differing,
    do,
    make,
    rows_of,
)
from tests.faults.victim import kills, seconds_of, told
from tests.support.crashes import watched

ROUNDS = 8
KILLS = 20
"""At least so many in each round of each of both stories: 320, and those by commands."""


@dataclass
class Uncut:
    """The project before each stage, the rows after it, its points, and its seconds."""

    folder: Path
    rows: dict[str, Tables] = field(default_factory=dict)
    points: dict[str, list[str]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


@pytest.fixture(scope="module", params=STORIES)
def uncut(request, tmp_path_factory) -> Uncut:
    uncut = Uncut(tmp_path_factory.mktemp("uncut"))
    project = uncut.folder / "project"
    make(project, story=STORIES[request.param])
    for stage in STAGES:
        before = copied(project, uncut.folder / stage)
        uncut.points[stage] = []
        with watched(uncut.points[stage]):
            do(project, stage)
        uncut.rows[stage] = rows_of(project)
        uncut.seconds[stage] = seconds_of(copied(before, uncut.folder / f"{stage}-timed"), stage)
    return uncut


def killed_often(uncut: Uncut, folder: Path, seed: int, least: int) -> int:
    """Kill stages until there were `least` kills, each run again and compared; give how many."""
    draw = random.Random(seed)  # noqa: S311  the same each time, but for the moments
    count = 0
    while count < least:
        stage = draw.choice(STAGES)
        project = copied(uncut.folder / stage, folder / f"project-{count}-{draw.random()}")
        at = list(kills(draw, project, stage, uncut.points[stage], uncut.seconds[stage]))
        assert told(project, stage) == 0
        assert differing(uncut.rows[stage], rows_of(project)) == [], (seed, stage, at)
        count += len(at)
    return count


@pytest.mark.slow
@pytest.mark.fault(1, 2, 3, 4, 5, 7)
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_hundreds_of_kills_change_no_row(uncut, tmp_path, seed, record_property) -> None:
    record_property("kills", killed_often(uncut, tmp_path, seed, KILLS))
