"""Lakes that older versions of Fencepost made: opened, finished, and gone on with.

They were made by those versions themselves (tests/golden/make.py), not by hand. In half of them
the last run was killed between two commits of an epoch, so today's code carries out a plan that
another version began, and must find the very rows that the other committed.
"""

import re
import tarfile
from pathlib import Path

import pyarrow as pa
import pytest

from pipelines.lake.layout import Note
from pipelines.project.settings import load
from pipelines.registry.changes import QueryChanges
from pipelines.registry.commit import register
from pipelines.registry.query_files import given_one
from pipelines.runs.run import run, writing
from pipelines.spark.runner import HereRunner
from schemas import FORMAT
from tests.faults.story import NOW, Tables, differing, rows_of
from tests.golden import story
from tests.support.commands.commands import REPOSITORY, fencepost

GOLDEN = REPOSITORY / "tests" / "golden"
NOT_COUNTED = re.compile(r"'(matched|paired|came_in|went_out|came_near|went_away)': None")
"""What an older version did not count, because there was none: 0."""
HASHED = re.compile(r"('kind': 'registry'.*)'content': '\w+'")
"""The hash of a registration is over all columns, and there were fewer."""
DETAIL = re.compile(r"('reason': '(?:late|duplicate|conflict)', 'detail': )('[^']*'|\"[^\"]*\")")
"""Words for people; they may be put better in a newer version."""
PLACE = re.compile(r"'((?:\w+_)?place|nth)': None")
"""Not written before format 6: each tuple was the only one of its instant, 0."""
SIDE = re.compile(r"'side': (None|'\w+')")
"""Not written before format 5; what it says, arrival and lane say too."""
FIRST = ('ties = "first"\n',)
"""Declared of each feed: as it was before it could be declared."""
DECLARED = re.compile(r"'declared': (None|'[^']*')")
"""Not recorded before format 6."""


def unpacked(folder: Path, number: int, end: str) -> Path:
    with tarfile.open(GOLDEN / f"format-{number}.tar.xz") as packed:
        packed.extractall(folder, filter="data")
    return folder / end


def give(*words: object) -> None:
    """Give a command, and expect it to end well."""
    said = fencepost(*words)
    assert said.code == 0, said.err


def go_on(folder: Path, number: int) -> None:
    """Today's part: finish what was begun, register rules of every kind, take late files."""
    settings, runner = load(folder), HereRunner()
    run(settings, runner)
    rules = {**story.rules_of(max(story.FORMATS)), **story.CHANGED}
    rows = [given_one({"id": name, **rule}, "test", settings.axes) for name, rule in rules.items()]
    changes = QueryChanges(pa.concat_tables(rows), pa.array(["high"], pa.string()))
    with writing(settings, "test", runner) as (lake, _):
        register(lake.store, settings, changes, NOW)
    story.land(folder, number, *story.LATER)
    run(settings, runner)
    give("maintain", "--config", folder)


def told_today(folder: Path, number: int) -> Path:
    """Tell the same story by today's code alone, uninterrupted."""
    story.lay_out(folder, number, *(FIRST if number < story.HAS_TIES else ()))
    give("init", folder)
    give("queries", "import", folder / "rules.jsonl", "--config", folder)
    for names in (story.BEFORE, (story.LAST,)):
        story.land(folder, number, *names)
        run(load(folder), HereRunner())
    return folder


def comparable(folder: Path) -> Tables:
    """Give all rows, without what older versions could not write."""

    def as_today(row: str) -> str:
        row = PLACE.sub(r"'\1': 0", DETAIL.sub(r"\1", row))
        row = DECLARED.sub("", row)
        return SIDE.sub("", HASHED.sub(r"\1", NOT_COUNTED.sub(r"'\1': 0", row)))

    return {name: sorted(map(as_today, rows)) for name, rows in rows_of(folder).items()}


# A lake takes 5 s. The oldest, cut off, stands in the short set for all of them.
LAKES = [
    pytest.param(number, end, marks=[] if (number, end) == (1, "cut-off") else pytest.mark.slow)
    for number in story.FORMATS
    for end in ("whole", "cut-off")
]


@pytest.mark.fault(31)
@pytest.mark.parametrize(("number", "end"), LAKES)
def test_a_lake_of_an_older_version_goes_on_as_if_made_today(number, end, tmp_path) -> None:
    golden = unpacked(tmp_path, number, end)
    assert Note.read(golden / "lake").format == number
    today = told_today(tmp_path / "today", number)
    for folder in (golden, today):
        go_on(folder, number)
    assert Note.read(golden / "lake").format == FORMAT
    rows = comparable(today)
    assert all(rows[name] for name in ("events", "transitions", "pairs", "quarantine"))
    assert differing(rows, comparable(golden)) == []


def test_the_golden_lakes_are_small() -> None:
    sizes = [path.stat().st_size for path in GOLDEN.glob("*.tar.xz")]
    assert len(sizes) == len(story.FORMATS)
    assert sum(sizes) < 450_000
