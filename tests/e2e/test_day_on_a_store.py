"""A day on an object store gives the tables that it gives on a disk, to whoever reads them."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fencepost.row_hashes import content_hash
from pipelines.cli.app import app
from pipelines.lake.store import Store
from pipelines.places import Place
from pipelines.project.settings import load

OF_ITS_OWN = ("plan", "found_at", "planned_at", "done_at", "bases", "at", "mtimes", "seconds")
"""Columns that differ from one run to the next: random names, and what a clock says."""


def command(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def generated(folder: Path) -> None:
    command(
        *("generate", "ticks", "--market", "--streams", "20", "--queries", "80", "--within", "3m"),
        *("--out", str(folder / "day.csv"), "--queries-out", str(folder / "rules.jsonl")),
    )
    lines = (folder / "day.csv").read_text().splitlines(keepends=True)
    head, rest = lines[0], lines[1:]
    for n, part in enumerate((rest[:10_000], rest[10_000:], rest[7_000:7_200])):
        (folder / f"{n}.csv").write_text(head + "".join(part))


def live_through(project: Path, lake: Place | str, inputs: Path) -> None:
    command("init", str(project), "--lake", str(lake))
    config = ("--config", str(project))
    command("queries", "import", str(inputs / "rules.jsonl"), *config)
    for n in range(3):
        shutil.copy2(inputs / f"{n}.csv", project / "landing" / "ticks")
        command("run", *config)
    command("run", *config)
    command("maintain", *config)


def contents(project: Path) -> dict[str, tuple[int, int]]:
    settings = load(project)
    store = Store.to_read(settings.root, settings.tables)
    found = {}
    for name, table in settings.tables.items():
        rows = store.rows(name)
        kept = [column for column in rows.column_names if column not in OF_ITS_OWN]
        assert len(kept) > len(table.columns) // 2
        found[name] = rows.num_rows, content_hash(rows.select(kept))
    return found


@pytest.mark.slow
def test_a_day_on_a_store_is_the_day_on_a_disk(moto_s3, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("FENCEPOST_RUNNER", "here")
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    generated(inputs)
    live_through(tmp_path / "local", tmp_path / "local" / "lake", inputs)
    live_through(tmp_path / "stored", moto_s3.uri("deep/lake"), inputs)
    here, there = contents(tmp_path / "local"), contents(tmp_path / "stored")
    assert here["events"][0] > 50
    assert here["quarantine"][0] > 0
    assert there == here
    question = "select reason, count(*) n from quarantine group by all order by all"
    answers = [
        command("sql", question, "--config", str(tmp_path / project)).splitlines()
        for project in ("local", "stored")
    ]
    assert answers[0] == answers[1]
