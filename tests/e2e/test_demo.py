"""`make demo`, small: it tells what is so, again the same, and leaves alone what is not its own."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from examples.demo.day import DATE
from pipelines.project.settings import load
from tests.support.commands.commands import REPOSITORY, fencepost

pytestmark = [
    pytest.mark.dagster,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("demo"),
]

SCALE = "0.002"
HERE = {
    **os.environ,
    "FENCEPOST_RUNNER": "here",
    "FENCEPOST_DEMO_SCALE": SCALE,
    "PYTHONPATH": str(REPOSITORY),
}


def started(folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "examples.demo", str(folder)],
        cwd=REPOSITORY,
        env=HERE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def demo(folder: Path) -> tuple[int, str, str]:
    with started(folder) as process:
        out, err = process.communicate(timeout=600)
    return process.returncode, out, err


def steps(out: str) -> dict[str, str]:
    """What stands behind each mark, the seconds left out."""
    plain = re.sub(r" +[\d.]+ s$", "", out, flags=re.MULTILINE)
    told = re.findall(r"^  ([✓✗]) (.{13}) (.*(?:\n {18}.*)*)", plain, re.MULTILINE)
    return {name.strip(): f"{mark} {facts}" for mark, name, facts in told}


def asked(folder: Path, statement: str) -> list[dict[str, object]]:
    said = fencepost("sql", "--config", folder, "--format", "json", statement)
    assert said.code == 0, said.err
    return [json.loads(line) for line in said.out.splitlines()]


def ended_by(how: signal.Signals, folder: Path, commits: int) -> tuple[int, str]:
    """Play until the ledger of epochs has so many commits, and end it.

    It has three when it is made; then each feed adds its plan, and the word that it is done.
    """
    with started(folder) as process:
        try:
            epochs = folder / "lake" / "epochs" / "_delta_log"
            until = time.monotonic() + 300
            while len(list(epochs.glob("*.json"))) < commits:
                assert time.monotonic() < until
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(how)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    return process.returncode, err


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A demo that is killed while it evaluates, asked to end, and then played to its end."""
    folder = tmp_path_factory.mktemp("demo") / "project"
    assert ended_by(signal.SIGKILL, folder, 4)[0] == -signal.SIGKILL
    code, err = ended_by(signal.SIGTERM, folder, 6)
    assert code == 143
    assert "terminated by SIGTERM" in err
    code, out, err = demo(folder)
    assert (code, err) == (0, ""), out
    return folder, out


@pytest.mark.fault(7)
def test_what_demos_left_that_were_ended_is_played_to_its_end_and_every_row_is_accounted_for(
    played,
):
    folder, out = played
    made = json.loads((folder / "landing" / ".demo.json").read_text())
    rows = asked(folder, "select feed, reason, count(*) n from quarantine group by all")
    found = {(row["feed"], row["reason"]): row["n"] for row in rows}
    expected = {
        (name, why): count
        for name, feed in made["feeds"].items()
        for why, count in feed["dirt"].items()
        if count
    }
    assert found == expected
    for name, feed in made["feeds"].items():
        accepted = feed["rows"] - sum(feed["dirt"].values())
        told = f"{feed['rows']:,} rows read = {accepted:,} accepted + "
        assert steps(out)[name].startswith(f"✓ {told}")
    balanced = asked(folder, "select bool_and(balanced) b, count(*) n from epoch_accounting")
    assert balanced == [{"b": True, "n": 32}]


def test_the_crossings_told_are_those_of_the_lake(played):
    folder, out = played
    rows = asked(folder, "select feed, type, count(*) n from events group by all")
    count = {(row["feed"], row["type"]): int(str(row["n"])) for row in rows}
    for feed in ("ticks", "locations"):
        entered, left = count[feed, "I"], count[feed, "O"]
        told = f"crossings {entered + left:,} (I {entered:,} · O {left:,})"
        assert told in steps(out)[feed]


def test_every_check_passes_and_the_report_is_there(played):
    folder, out = played
    assert re.fullmatch(r"✓ \d+ passed · 0 failed", steps(out)["checks"])
    assert (folder / "reports" / "latest.html").stat().st_size > 10_000


def test_the_statements_to_try_are_answered(played):
    folder, out = played
    tried = re.findall(r'^  fencepost sql --config \S+ "(.*)"$', out, re.MULTILINE)
    assert len(tried) == 3
    for statement in tried:
        asked(folder, statement)


def test_again_it_does_nothing_tells_the_same_and_keeps_one_history(played):
    folder, out = played
    lake = folder / "lake"
    before = {path for path in lake.rglob("*") if path.is_file()}
    code, again, err = demo(folder)
    assert (code, err) == (0, "")
    assert steps(again) == steps(out)
    assert {path for path in lake.rglob("*") if path.is_file()} == before
    assert not re.search(r"\d s$", "\n".join(again.splitlines()[:12]), re.MULTILINE)


def test_the_history_shows_every_hour_and_no_run_that_never_ended(played):
    import dagster as dg

    from examples.demo.runs import TAG, Runs

    folder, _ = played
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        instance = Runs(load(folder), folder).instance
        runs = instance.get_runs(dg.RunsFilter(tags={TAG: "yes"}))
        states = [run.status for run in runs]
        hours = {f"{DATE}T{hour:02}" for hour in range(24)}
        assert instance.get_materialized_partitions(dg.AssetKey(["locations", "events"])) == hours
        instance.dispose()
    finished = {dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE}
    assert set(states) == finished  # those that were ended have failed


def test_a_delivery_that_is_not_the_demos_stops_it_before_anything_changes(played):
    folder, _ = played
    mine = folder / "landing" / "ticks" / "mine.csv"
    mine.write_text("stream_id,ts,price,volume\n")
    try:
        before = {path: path.stat().st_mtime_ns for path in (folder / "lake").rglob("*")}
        code, _, err = demo(folder)
        assert code == 2
        assert "deliveries that are not the demo's: ticks/mine.csv" in err
        assert {path: path.stat().st_mtime_ns for path in before} == before
    finally:
        mine.unlink()


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    code, _, err = demo(tmp_path)
    assert code == 2
    assert "has other files and no fencepost.toml" in err
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
