"""A lake and a landing folder on a store that loses answers, refuses for now, or stops answering.

Law: what ends, ends with the rows of a run on a disk; what does not end says so, with exit code 6,
and the same command goes on from there.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from fencepost.errors import LakeError, LockedError
from fencepost.row_hashes import content_hash
from pipelines import places
from pipelines.cli.errors import exit_code_of
from pipelines.cli.exit_codes import Code
from pipelines.lake.lease import FOLDER, TERM
from pipelines.lake.store import Store
from pipelines.places import Place, connection
from pipelines.project.settings import Settings, load
from pipelines.registry.commit import put
from pipelines.registry.query_files import given_line
from pipelines.runs.run import run
from pipelines.spark.runner import HereRunner
from tests.support.commands.commands import REPOSITORY
from tests.support.crashes import hooked
from tests.support.stores.proxy import Proxy
from tests.support.stores.servers import S3, SECRET

DECLARED = """
[lake]
path = "{lake}"
buckets = 2

[feeds.ticks]
axes = ["price"]
source = "{landing}"
"""
RULE = '{"feed": "ticks", "id": "r", "where": "price > 10"}'
TABLES = ("arrivals", "queries", "ticks", "events", "transitions", "stream_state", "quarantine")
OF_THE_MOMENT = {"plan", "found_at", "bases", "mtimes", "hashes", "content"}


def project(folder: Path, lake: str, landing: str) -> Settings:
    folder.mkdir()
    config = folder / "fencepost.toml"
    config.write_text(DECLARED.format(lake=lake, landing=landing))
    settings = load(config)
    Store.create(settings.root, settings.tables, buckets=settings.buckets)
    return settings


def land(settings: Settings, day: int) -> None:
    rows = "".join(
        f"2026-11-{day:02}T{hour:02}:00:00Z,{stream},{(hour * 7 + day) % 21}\n"
        for hour in range(24)
        for stream in "abc"
    )
    source: Place = settings.feeds["ticks"].source
    source.mkdir(parents=True, exist_ok=True)
    places.replace(source / f"{day:02}.csv", f"ts,stream_id,price\n{rows}bad\n".encode())


def work(settings: Settings) -> None:
    run(settings, HereRunner())


def registered(settings: Settings) -> None:
    axes = {name: feed.axes for name, feed in settings.feeds.items()}
    put(settings, "fencepost queries add", given_line(RULE, "rule", axes))


def content(settings: Settings) -> dict[str, tuple[int, int]]:
    """Count and hash what a lake holds, but for what is of the moment."""
    store = Store.to_read(settings.root, settings.tables)
    found = {}
    for name in TABLES:
        rows = store.rows(name)
        kept = rows.select([each for each in rows.column_names if each not in OF_THE_MOMENT])
        found[name] = kept.num_rows, content_hash(kept)
    return found


@pytest.fixture
def expected(tmp_path: Path) -> dict[str, tuple[int, int]]:
    """Of the same days on a disk."""
    here = project(tmp_path / "here", "./lake", "./landing")
    registered(here)
    for day in (1, 2):
        land(here, day)
        work(here)
    return content(here)


@pytest.mark.slow
def test_a_store_that_loses_a_third_of_its_answers_costs_no_row(
    watched_s3: tuple[S3, Proxy], tmp_path: Path, expected
):
    bucket, proxy = watched_s3
    there = project(tmp_path / "there", bucket.uri("lake"), bucket.uri("landing"))
    proxy.lost, proxy.refused = 0.3, 0.1
    registered(there)
    for day in (1, 2):
        land(there, day)
        work(there)
    proxy.lost = proxy.refused = 0.0
    assert proxy.faults > 20
    assert content(there) == expected


@pytest.mark.slow
def test_a_store_that_stops_answering_ends_a_run_with_its_own_code_and_the_next_goes_on(
    watched_s3: tuple[S3, Proxy], tmp_path: Path, expected, monkeypatch, capsys
):
    monkeypatch.setattr(connection, "PATIENCE", 1.0)
    bucket, proxy = watched_s3
    there = project(tmp_path / "there", bucket.uri("lake"), bucket.uri("landing"))
    registered(there)
    for day, point in ((1, "ingest.planned"), (2, "epochs.evaluated")):
        land(there, day)
        with hooked(partial(_dead_at, point, proxy)):
            assert exit_code_of(lambda: work(there), debug=False) == Code.UNAVAILABLE
        assert "s3://" in (said := capsys.readouterr().err)
        assert "give the same command again" in said
        assert SECRET not in said
        proxy.refused = 0.0
        work(there)
    assert content(there) == expected


def _dead_at(point: str, proxy: Proxy, passed: str) -> None:
    if passed == point:
        proxy.refused = 1.0


@pytest.mark.parametrize(
    "point", ["ingest.planned", pytest.param("epochs.planned", marks=pytest.mark.slow)]
)
def test_one_who_wakes_after_another_took_over_changes_no_row(
    moto_s3: S3, tmp_path: Path, expected, point: str
):
    there = project(tmp_path / "there", moto_s3.uri("lake"), moto_s3.uri("landing"))
    registered(there)
    for day in (1, 2):
        land(there, day)
        left = [None]

        def sleep(passed: str, left: list[None] = left) -> None:
            if passed == point and left:
                left.pop()
                _lapse(there)
                work(there)

        with hooked(sleep), suppress(LockedError, LakeError):
            work(there)
        assert not left
    assert content(there) == expected


SLEEPS = """
import os, signal, sys
from pathlib import Path
from pipelines.project.settings import load
from pipelines.runs.run import run
from pipelines.spark.runner import HereRunner
from tests.support.crashes import hooked

def sleep(passed):
    if passed == "epochs.planned":
        os.kill(os.getpid(), signal.SIGSTOP)

with hooked(sleep):
    run(load(Path(sys.argv[1])), HereRunner())
"""


@pytest.mark.slow
def test_a_driver_that_is_stopped_for_longer_than_its_lease_changes_no_row(
    moto_s3: S3, tmp_path: Path, expected
):
    there = project(tmp_path / "there", moto_s3.uri("lake"), moto_s3.uri("landing"))
    registered(there)
    land(there, 1)
    command = [sys.executable, "-c", SLEEPS, str(there.file)]
    with subprocess.Popen(command, cwd=REPOSITORY, stderr=subprocess.PIPE, text=True) as sleeper:
        assert os.WIFSTOPPED(os.waitpid(sleeper.pid, os.WUNTRACED)[1])
        begun = time.monotonic()
        run(there, HereRunner(), timeout=4 * TERM)
        assert time.monotonic() - begun > TERM / 2
        land(there, 2)
        work(there)
        sleeper.send_signal(signal.SIGCONT)
        _, said = sleeper.communicate(timeout=120)
    assert sleeper.returncode
    assert "another" in said
    assert content(there) == expected


def _lapse(settings: Settings) -> None:
    """Let the newest lease be free, though its holder believes to have it."""
    newest = max(entry.path for entry in places.listed(settings.root / FOLDER))
    places.replace(settings.root / FOLDER / newest, b"")
