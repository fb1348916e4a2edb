"""What an operator sees of a delivery that could not be taken, until somebody answers it."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipelines.cli.exit_codes import Code
from pipelines.cli.run_output import report_json
from pipelines.project.settings import load
from pipelines.runs.run import RunReport
from pipelines.runs.watch import Watch
from pipelines.spark.runner import HereRunner
from tests.support.lakes.ledger import Ledger
from tests.support.lakes.queried_project import PROJECT, said

GOOD = "stream_id,ts,price,volume\na,2026-11-18T00:00:0{}Z,{},1\n"
BAD = "stream,ts\na,2026-11-18T00:00:00Z\n"
DAY = "2026-11-18"


def land(project: Path, name: str, text: str | bytes) -> None:
    """Put a file into the landing folder of ticks, left alone for long."""
    path = project / "landing" / "ticks" / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    os.utime(path, (1_700_000_000, 1_700_000_000))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty lake, a good delivery and two that cannot be read."""
    monkeypatch.setenv("FENCEPOST_RUNNER", "here")
    for feed in ("ticks", "locations"):
        (tmp_path / "landing" / feed).mkdir(parents=True)
    (tmp_path / "fencepost.toml").write_text(PROJECT)
    Ledger().written(tmp_path / "lake")
    land(tmp_path, "good.csv", GOOD.format(1, 1))
    land(tmp_path, "bad.csv", BAD)
    land(tmp_path, "junk.parquet", b"PAR1 and then junk PAR1")
    return tmp_path


def as_json(project: Path, *arguments: object) -> tuple[int, Any]:
    """Run a command with --json: its exit code, and its object."""
    told = said(project, *arguments, "--json")
    return told.code, json.loads(told.out)


@pytest.mark.fault(45, 46)
def test_every_run_ends_with_4_and_names_what_was_refused_until_it_is_answered(
    project: Path,
) -> None:
    code, first = as_json(project, "run")
    assert (code, [each["tuples"] for each in first["deliveries"]]) == (Code.UNANSWERED, [1])
    assert [each["path"] for each in first["refused"]] == ["bad.csv", "junk.parquet"]
    for _ in range(2):
        code, later = as_json(project, "run")
        assert (code, later["refused"]) == (Code.UNANSWERED, [])
        assert [each["path"] for each in later["unanswered"]] == ["bad.csv", "junk.parquet"]
    words = said(project, "run")
    assert "unanswered ticks/bad.csv: refused 20" in words.out
    assert "note: 2 refused deliveries unanswered: fix them and" in words.err
    assert "2 unanswered of 2 deliveries" in said(project, "status").out
    assert said(project, "sql", "select count(*) n from ticks", "-f", "csv").out == "n\n1\n"


def test_what_was_taken_beside_a_refusal_was_evaluated_all_the_same(project: Path) -> None:
    assert said(project, "run").code == Code.UNANSWERED
    assert as_json(project, "status")[1]["lanes"][0]["epoch"] == 1
    land(project, "more.csv", GOOD.format(2, 7))
    assert said(project, "run").code == Code.UNANSWERED
    assert as_json(project, "status")[1]["lanes"][0]["epoch"] == 2


def test_mended_or_dismissed_it_ends_with_0_again(project: Path) -> None:
    said(project, "run")
    land(project, "bad.csv", GOOD.format(3, 3))
    assert said(project, "quarantine", "retry").code == Code.UNANSWERED  # the other one
    code, now = as_json(project, "run")
    assert (code, [each["path"] for each in now["unanswered"]]) == (4, ["junk.parquet"])
    told = said(project, "quarantine", "dismiss", "ticks/junk.parquet", "--note", "a\ntest")
    assert (told.code, told.out) == (0, "dismissed  ticks/junk.parquet\n")
    assert said(project, "run").code == 0
    assert "deliveries, all answered" in said(project, "status").out
    sql = "select path, answer, note from refused_deliveries where answer <> 'refused again'"
    assert sorted(said(project, "sql", sql, "-f", "csv").out.splitlines()) == [
        "bad.csv,taken,",
        'junk.parquet,dismissed,"a',
        "path,answer,note",
        'test"',
    ]
    again = said(project, "quarantine", "dismiss", "ticks/junk.parquet")
    assert (again.code, again.out) == (0, "unchanged  ticks/junk.parquet: already dismissed\n")
    named = said(project, "quarantine", "retry", "ticks/junk.parquet")
    assert named.code == Code.UNANSWERED
    assert said(project, "run").code == Code.UNANSWERED


def test_a_file_s_words_stand_on_their_lines_whatever_it_is_called(project: Path) -> None:
    land(project, "red é.csv", "stream\x1b[2J,ts\n1,2\n")
    out = said(project, "run").out
    assert all(line.isprintable() for line in out.splitlines())
    assert "\n               the columns are: stream, ts." in out
    assert "\\n" not in said(project, "status").out


def test_partitions_end_with_4_for_their_own_feed_alone(project: Path) -> None:
    said(project, "run")
    (key,) = (each["key"] for each in as_json(project, "partitions", "ticks")[1]["partitions"])
    code, told = as_json(project, "partitions", "ticks", key)
    assert (code, len(told["unanswered"])) == (Code.UNANSWERED, 2)
    code, told = as_json(project, "partitions", "locations", key)
    assert (code, told["unanswered"]) == (0, [])


def test_check_fails_while_a_refused_delivery_is_unanswered(project: Path) -> None:
    said(project, "run")
    told = said(project, "check", "ticks", "--no-contracts")
    assert told.code == Code.FAILED
    assert "deliveries_were_readable" in told.out
    assert "ticks/bad.csv: unreadable: bad.csv:1: no column 'stream_id'" in told.out
    for name in ("ticks/bad.csv", "ticks/junk.parquet"):
        assert said(project, "quarantine", "dismiss", name).code == 0
    assert said(project, "check", "ticks", "--no-contracts").code == 0


def test_each_run_of_a_watch_says_what_is_unanswered(project: Path) -> None:
    said(project, "run")
    settings = load(project)
    found: list[list[str]] = []

    def tell(report: RunReport) -> None:
        found.append([each["path"] for each in report_json(report)["unanswered"]])
        if len(found) == 2:
            watch.stop_requested.set()

    watch = Watch(settings, HereRunner(), 0.01, tell)
    watch.until_stopped()
    assert found == [["bad.csv", "junk.parquet"]] * 2


def test_a_wrong_name_dismisses_nothing_and_says_what_is_near(project: Path) -> None:
    said(project, "run")
    told = said(project, "quarantine", "dismiss", "ticks/bad.csv", "ticks/junk.parqet")
    assert told.code == Code.REFUSED
    assert "Did you mean 'ticks/junk.parquet'?" in told.err
    assert len(as_json(project, "status")[1]["unanswered"]) == 2


def test_a_late_file_of_a_day_is_taken_in_before_the_day_is_evaluated(project: Path) -> None:
    declared = PROJECT.replace('"landing/ticks"', '"landing/ticks"\npartition_in_path = true', 1)
    (project / "fencepost.toml").write_text(declared)
    for path in (project / "landing" / "ticks").iterdir():
        path.unlink()
    land(project, f"{DAY}.csv", GOOD.format(1, 1))
    land(project, "2026-11-19.csv", GOOD.format(9, 9))
    assert said(project, "run").code == 0
    land(project, f"{DAY}-late.csv", GOOD.format(5, 5))
    code, told = as_json(project, "partitions", "ticks", DAY)
    assert (code, [each["path"] for each in told["deliveries"]]) == (0, [f"{DAY}-late.csv"])
    (day,) = told["partitions"]
    assert (day["changed"], day["counts"]["accepted"]) == (True, 2)
    listed = as_json(project, "partitions", "ticks")[1]["partitions"]
    assert listed == [{"key": DAY, "stale": False}, {"key": "2026-11-19", "stale": True}]


def test_a_bad_partition_is_refused_before_anything_is_taken_in(project: Path) -> None:
    told = said(project, "partitions", "ticks", "yesterday")
    assert told.code == Code.REFUSED
    assert as_json(project, "status")[1]["refused"] == 0


def test_a_run_says_what_its_deliveries_lost_and_what_would_take_it_in(project: Path) -> None:
    numbers = "".join(f"a,{1_700_000_000 + k},1,1\n" for k in range(199))
    land(project, "numbers.csv", "stream_id,ts,price,volume\n" + numbers)
    land(project, "older.csv", GOOD.format(0, 1))
    told = said(project, "run")
    assert (
        "\nlost       ticks/numbers.csv: 199 of 199 rows: '1700000000' is an integer, and no unit "
        'is declared; declare ts_unit = "…" in [feeds.ticks]\n'
    ) in told.out
    assert "lost       ticks/older.csv: 1 of 1 row: late, as in " in told.out
    assert "; raise allowed_lateness in [feeds.ticks]\n" in told.out
    assert "lost" not in said(project, "run").out, "it is said by the run that loads them"
    land(project, "more.csv", "stream_id,ts,price,volume\na,1,1,1\n")
    _, shown = as_json(project, "partitions", "ticks", f"{datetime.now(UTC):%Y-%m-%d}")
    assert [(loss["source"], loss["lost"]) for loss in shown["losses"]] == [("ticks/more.csv", 1)]
