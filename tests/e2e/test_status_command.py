"""`fencepost status` and `quarantine` as a user types them."""

import os
from pathlib import Path

import pytest

from pipelines.lake.lock import hold
from tests.support.lakes.ledger import Ledger, at
from tests.support.lakes.queried_project import EVIL, PROJECT, SECONDS, made, said


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("project"))


def test_status_tells_how_the_lake_stands(project):
    told = said(project, "status")
    assert told.code == 0
    assert told.out == (
        "lake        ./lake   (local disk, one writer: free)\n"
        "feed        ticks      epoch 2 · watermark 2026-11-18 00:00:40Z · lag 1 delivery · "
        "1 stream · 1 epoch stale, to be re-evaluated\n"
        "feed        locations  epoch 0 · no watermark yet · lag 0 · 0 streams · "
        "1 delivery partly loaded\n"
        "queries     2 standing (2 crossing), registry version 1\n"
        "last run    ticks epoch 2 at 2026-11-18 00:01:00Z: 10 rows, 3 events, 1 transition, "
        "4 matches in 1.4 s  (plan 0.1 · prepare 0.02 · job 1.2; in tasks read 0.3 · write 0.9)\n"
        "quarantine  2 rows: late 1 · malformed 1      fencepost quarantine show\n"
        "refused     1 unanswered of 2 deliveries      "
        'fencepost sql "from refused_deliveries"\n'
        "            ticks/\\x1b[2Jred\\r\\nand a second line: changed: was taken · as delivery 2\n"
        "            fix them and fencepost quarantine retry, or fencepost quarantine dismiss\n"
    )


def test_status_as_json_is_one_object(project):
    told = said(project, "status", "--json").summary
    ticks, locations = told["lanes"]
    assert (ticks["epoch"], ticks["lag"], ticks["stale"], ticks["streams"]) == (2, 1, 1, 1)
    assert (locations["epoch"], locations["arriving"]) == (0, 1)
    assert told["standing"] == {"crossing": 2}
    assert told["quarantine"] == {"late": 1, "malformed": 1}
    assert told["last_run"]["seconds"] == SECONDS
    assert told["writer"] is None
    assert [each["path"] for each in told["unanswered"]] == [EVIL]
    assert told["refused"] == 2


def test_status_names_who_writes(project):
    with hold(project / "lake", "fencepost run"):
        told = said(project, "status").out.splitlines()[0]
        assert f"locked by `fencepost run` (process {os.getpid()}" in told
        assert said(project, "status", "--json").summary["writer"]["pid"] == os.getpid()


def test_an_empty_lake_has_a_status(tmp_path):
    Ledger().written(tmp_path / "lake")
    (tmp_path / "fencepost.toml").write_text(PROJECT)
    told = said(tmp_path, "status")
    assert told.code == 0
    assert "epoch 0 · no watermark yet · lag 0 · 0 streams" in told.out
    assert "none registered yet" in told.out
    assert told.out.endswith("quarantine  0 rows\n")
    assert "no rows" in said(tmp_path, "quarantine", "show").out
    assert said(tmp_path, "sql", "select * from visits").err == "0 rows\n"


def test_quarantine_shows_counts_and_rows(project):
    told = said(project, "quarantine", "show").out.splitlines()
    assert told[2].split() == ["ticks", "late", "1"]
    assert told[3].split() == ["ticks", "malformed", "1"]
    assert told[-2].startswith("      2  mon.csv     3  malformed  'abc' is no number  \\x1b[2Jred")
    assert told[-1].startswith("      3  tue.csv     3  late       ts is older")
    only = said(project, "quarantine", "show", "--reason", "malformed", "--json").summary
    assert only["counts"] == [{"feed": "ticks", "reason": "malformed", "rows": 1}]
    assert [row["raw"] for row in only["rows"]] == [EVIL]
    (late,) = said(project, "quarantine", "show", "--arrival", 3, "--json").summary["rows"]
    assert late["reason"] == "late"
    assert said(project, "quarantine", "show", "--feed", "locations", "--json").summary == {
        "counts": [],
        "rows": [],
    }
    cut = said(project, "quarantine", "show", "--limit", "1")
    assert "1 of 2 rows; --limit 0 shows all" in cut.err
    assert "no rows" in said(project, "quarantine", "show", "--feed", "locations").out
    wrong = said(project, "quarantine", "show", "--feed", "tick")
    assert wrong.code == 2
    assert "Did you mean 'ticks'?" in wrong.err
    assert said(project, "quarantine", "show", "--reason", "' or 1=1 --").code == 2


def test_what_was_turned_away_is_taken_up_again_once_the_declaration_is_mended(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("FENCEPOST_RUNNER", "here")
    landing = tmp_path / "landing" / "ticks"
    landing.mkdir(parents=True)
    (landing / "a.csv").write_text(
        "stream_id,ts,price,volume\na,1763424000,1,2\na,2026-11-18T00:00:00Z,1,2\n"
    )
    os.utime(landing / "a.csv", (1_700_000_000, 1_700_000_000))
    (tmp_path / "landing" / "locations").mkdir()
    declared = tmp_path / "fencepost.toml"
    declared.write_text(PROJECT)
    Ledger().written(tmp_path / "lake")
    assert said(tmp_path, "run").code == 0
    (shown,) = said(tmp_path, "quarantine", "show", "--json").summary["rows"]
    assert (shown["reason"], shown["line"], shown["raw"]) == ("malformed", 2, "a,1763424000,1,2")
    declared.write_text(PROJECT.replace('"landing/ticks"', '"landing/ticks"\nts_unit = "s"', 1))
    told = said(tmp_path, "quarantine", "retry", "--json").summary
    assert [(each["rows"], each["tuples"]) for each in told["deliveries"]] == [(1, 1)]
    assert "nothing to retry" in said(tmp_path, "quarantine", "retry").out
    assert said(tmp_path, "sql", "select count(*) as n from ticks", "-f", "csv").out == "n\n2\n"
    wrong = said(tmp_path, "quarantine", "retry", "--reason", "late")
    assert wrong.code == 2
    assert "cannot be retried" in wrong.err


def test_a_pair_of_feeds_that_is_joined_has_a_line_of_its_own(tmp_path):
    lane = "ticks~locations"
    ledger = Ledger()
    ledger.register({"id": "b", "kind": "band_join", "feed": lane}, {"id": "q"})
    one, two, three = (ledger.arrive(feed) for feed in ("ticks", "locations", "ticks"))
    ledger.arrive("locations", "planned")
    ledger.epoch("ticks", 1, [one, three], watermark=at(9))
    ledger.epoch(lane, 1, [one], watermark=None)
    ledger.epoch(lane, 2, [two], generation=2, watermark=at(5), at=at(60), paired=7, came_in=2)
    row = {"lane": lane, "epoch": 2, "generation": 2}
    for feed, stream in (("ticks", "a"), ("locations", "a"), ("locations", "b")):
        ledger.add("set_members", **row, feed=feed, stream_id=stream, member=True)
    ledger.add("live_windows", **row, feed="ticks", stream_id="a", place=4)
    ledger.add("live_windows", **row, feed="ticks", stream_id="c")
    ledger.register({"id": "x", "kind": "band_join", "feed": "locations~ticks"}, state="planned")
    ledger.written(tmp_path / "lake")
    (tmp_path / "fencepost.toml").write_text(PROJECT)
    lines = said(tmp_path, "status").out.splitlines()
    (told,) = (line for line in lines if line.startswith("joins"))
    assert told == (
        "joins       ticks~locations  epoch 2 · watermark 2026-11-18 00:00:05Z · lag 1 delivery · "
        "3 streams · 1 tuple waiting · 1 delivery partly loaded"
    )
    assert "queries     2 standing (1 band_join · 1 crossing), registry version 1" in lines
    assert (
        "last run    ticks~locations epoch 2 at 2026-11-18 00:01:00Z: 0 rows, 7 pairs, "
        "2 band changes"
    ) in lines
