"""A project whose lake is on an object store, by the commands a user types: as on a disk.

The same rules and files go through both; every table shows the same rows.
"""

import contextlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

import fencepost as fp
from tests.support.commands.commands import REPOSITORY, Said, fencepost
from tests.support.stores.proxy import Proxy
from tests.support.stores.servers import S3

FILES = REPOSITORY / "examples" / "joins"
TOML = """
[lake]
path = "{lake}"
buckets = 2

[run]
runner = "here"

[feeds.bids]
axes = ["price"]
source = "landing/bids"
settle = "0s"

[feeds.asks]
axes = ["price"]
source = "landing/asks"
settle = "0s"
"""
RULES = (
    {"id": "band", "feed": "bids", "where": "price >= 101.02 AND price < 101.04", "within": "1m"},
    {"id": "high", "feed": "asks", "kind": "match", "where": "price >= 101.02"},
)
BAND_JOIN = {
    "id": "crossed",
    "kind": "band_join",
    "left": "bids.price",
    "right": "asks.price",
    "between": [0, None],
}
IDLE, TINY, SQL = 40, 120, 60
"""Requests at most: of a run with nothing to do, with one small delivery, of a statement."""

LOCAL_TIME = ("at", "found_at", "ingested_at", "seconds", "plan", "bases", "choice", "code", "n")


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FENCEPOST_RUNNER", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def project(folder: Path, lake: str, rules: Sequence[Mapping[str, object]]) -> Path:
    """Declare a project, make its lake and register its rules."""
    folder.mkdir()
    (folder / "fencepost.toml").write_text(TOML.format(lake=lake))
    (folder / "rules.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in rules))
    said(folder, "init", ".")
    said(folder, "queries", "import", "rules.jsonl")
    return folder


def said(folder: Path, *arguments: object) -> Said:
    with contextlib.chdir(folder):
        answer = fencepost(*arguments)
    assert answer.code == 0, answer.err
    return answer


def land(folder: Path, name: str, feed: str) -> None:
    shutil.copy2(FILES / name, folder / "landing" / feed / name)


def played(folder: Path) -> Path:
    """Let two runs load and evaluate three files."""
    land(folder, "bids.csv", "bids")
    land(folder, "asks.csv", "asks")
    said(folder, "run")
    land(folder, "asks-later.csv", "asks")
    said(folder, "run")
    return folder


def tables(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Give the rows of every view, without what depends on the clock or on chance."""
    with fp.open_lake(folder) as lake:
        for name in lake.views:
            rows = lake.view(name).to_arrow_table()
            kept = [column for column in rows.column_names if column not in LOCAL_TIME]
            yield name, sorted(map(repr, rows.select(kept).to_pylist()))


def test_a_lake_on_a_store_is_what_it_would_be_on_a_disk(tmp_path: Path, moto_s3: S3) -> None:
    rules = (*RULES, BAND_JOIN)
    there = played(project(tmp_path / "there", moto_s3.uri("lake"), rules))
    here = played(project(tmp_path / "here", "lake", rules))
    shown = dict(tables(there))
    for name, rows in tables(here):
        assert (name, shown[name]) == (name, rows)
    assert len(shown["events"]) == 2
    assert shown["band_changes"]


@pytest.mark.slow
def test_commands_that_show_a_lake_show_one_on_a_store(tmp_path: Path, gateway_s3: S3) -> None:
    there = played(project(tmp_path / "there", gateway_s3.uri("lake"), RULES))
    assert "object store, one writer: free" in said(there, "status").out
    assert "s3://" in said(there, "marts").out
    assert "unchanged" in said(there, "marts").out
    report = said(there, "report").out
    assert report.startswith(gateway_s3.uri("lake/_reports/"))
    assert "0 failed" in said(there, "check").out
    said(there, "check", "--deep", "--no-contracts")
    said(there, "maintain")
    assert "0 failed" in said(there, "check", "--again").out
    said(there, "partitions", "bids")
    said(there, "explain", "bids")
    said(there, "quarantine", "show")
    assert "2" in said(there, "sql", "select count(*) from events").out


def test_runs_and_statements_make_few_requests(
    tmp_path: Path, watched_s3: tuple[S3, Proxy]
) -> None:
    bucket, proxy = watched_s3
    there = project(tmp_path / "there", bucket.uri("lake"), RULES)
    land(there, "bids.csv", "bids")
    land(there, "asks.csv", "asks")
    said(there, "run")
    with proxy.counted() as requests:
        said(there, "run")
    assert len(requests) <= IDLE, proxy.counts()
    land(there, "asks-later.csv", "asks")
    with proxy.counted() as requests:
        assert "1 delivery" in said(there, "run").out
    assert len(requests) <= TINY, proxy.counts()
    with proxy.counted() as requests:
        said(there, "run")
    assert len(requests) <= IDLE, proxy.counts()
    for statement in ("select * from inside_now", "select * from transitions"):
        with proxy.counted() as requests:
            said(there, "sql", statement)
        assert len(requests) <= SQL, proxy.counts()
