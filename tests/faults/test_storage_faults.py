"""A disk that is full, fails or cannot be written to, under runs of the command itself.

Whatever the disk refuses: one sentence on stderr that names a file, the exit code that is storage's
own, no traceback; and the next run gives the tables that it would have given.
"""

import os
import random
import re
import resource
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pipelines.cli.exit_codes import Code
from tests.faults import injected, story
from tests.faults.injected import Ended
from tests.faults.small_disks import small_disk
from tests.support.commands.commands import fencepost

SENTENCE = re.compile(
    r"(?P<file>/[^:]+): (No space left on device|Input/output error|Read-only file system"
    r"|Disk quota exceeded|File too large|Permission denied): .*: nothing is lost"
)
AT_ONCE = 6
ROUGHLY_NEEDED = 80
"""Pages that the run needs, on a disk of its own."""


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a past, and files that have landed."""
    folder = tmp_path_factory.mktemp("storage") / "landed"
    story.make(folder)
    for stage in ("registered", "taken-in"):
        story.do(folder, stage)
    story.land(folder, "late")
    return folder


@pytest.fixture(scope="module")
def wanted(landed: Path) -> Mapping[str, Sequence[str]]:
    """The tables of a run that nothing disturbs."""
    undisturbed = landed.with_name("undisturbed")
    shutil.copytree(landed, undisturbed)
    story.do(undisturbed, "late")
    return story.rows_of(undisturbed)


def check_end(ended: Ended, folder: Path) -> None:
    """A run that a disk disturbed: it was not, or it says so as it should."""
    assert "Traceback" not in ended.stderr, ended
    if ended.code == Code.WELL:
        return
    told = SENTENCE.fullmatch(ended.stderr.strip())
    assert ended.code == Code.STORAGE, ended
    assert told is not None, ended
    assert told["file"].startswith(str(folder)), ended


def run_on(folder: Path, limit: int | None = None) -> Ended:
    """Run the command on a project; `limit` is the largest file that it may write."""

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    ended = subprocess.run(
        injected.command(folder, "run"),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "FENCEPOST_RUNNER": "here"},
        cwd=Path(__file__).parents[2],
        preexec_fn=limited,
    )
    return Ended(ended.returncode, ended.stderr, ())


@pytest.mark.fault(17)
@pytest.mark.parametrize("pages", [7, 52])
def test_a_full_disk_is_told_and_with_room_the_next_run_goes_on(
    landed: Path, wanted: Mapping[str, Sequence[str]], tmp_path: Path, pages: int
) -> None:
    with small_disk(tmp_path / "disk") as disk:
        folder = disk.root / "project"
        shutil.copytree(landed, folder)
        disk.leave(pages)
        ended = run_on(folder)
        assert ended.code == Code.STORAGE
        check_end(ended, folder)
        disk.make_room()
        story.do(folder, "late")
        assert story.rows_of(folder) == wanted


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.fault(17)
def test_a_disk_that_is_full_at_any_page_is_told_and_changes_no_row(
    landed: Path, wanted: Mapping[str, Sequence[str]], tmp_path: Path
) -> None:
    for pages in range(10 * ROUGHLY_NEEDED):
        with small_disk(tmp_path / f"{pages}") as disk:
            folder = disk.root / "project"
            shutil.copytree(landed, folder)
            disk.leave(pages)
            ended = run_on(folder)
            check_end(ended, folder)
            disk.make_room()
            story.do(folder, "late")
            assert story.rows_of(folder) == wanted, pages
        if ended.code == Code.WELL:
            break
    assert pages > ROUGHLY_NEEDED // 2


@pytest.mark.fault(19)
def test_a_lake_on_a_read_only_disk_is_refused_before_anything_is_read(
    landed: Path, wanted: Mapping[str, Sequence[str]], tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk") as disk:
        folder = disk.root / "project"
        shutil.copytree(landed, folder)
        disk.close_to_writers()
        ended = run_on(folder)
        assert ended.code == Code.STORAGE
        check_end(ended, folder)
        assert "/lake/_lock: Read-only file system" in ended.stderr
        disk.make_room()
        story.do(folder, "late")
        assert story.rows_of(folder) == wanted


@pytest.mark.fault(17)
@pytest.mark.parametrize("limit", [1500])
def test_a_limit_on_the_size_of_files_is_told(
    landed: Path, wanted: Mapping[str, Sequence[str]], tmp_path: Path, limit: int
) -> None:
    folder = tmp_path / "project"
    shutil.copytree(landed, folder)
    ended = run_on(folder, limit)
    assert ended.code == Code.STORAGE
    check_end(ended, folder)
    assert "File too large: raise the limit of a file's size (ulimit -f)" in ended.stderr
    story.do(folder, "late")
    assert story.rows_of(folder) == wanted


@pytest.mark.fault(17)
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_results_that_do_not_fit_are_told_and_leave_nothing(tmp_path: Path, form: str) -> None:
    rules = tmp_path / "rules.jsonl"
    rule = '{{"id": "q{}", "feed": "ticks", "where": "price >= {}"}}'
    rules.write_text("\n".join(rule.format(k, k) for k in range(60)))
    ticks = tmp_path / "ticks.csv"
    moves = (f"s,2026-01-01T00:{k // 60:02}:{k % 60:02}Z,{k % 2 * 70}" for k in range(600))
    ticks.write_text("\n".join(["stream_id,ts,price", *moves]))
    with small_disk(tmp_path / "disk") as disk:
        disk.leave(2)
        out = disk.root / "out"
        arguments = ["eval", "-q", rules, "-t", f"ticks={ticks}", "--axes", "ticks=price"]
        said = fencepost(*arguments, "--out", out, "--format", form)
        assert said.code == Code.STORAGE
        assert said.err.splitlines()[-1].startswith(f"{out}/")
        assert ": No space left on device: make room there" in said.err
        assert list(disk.root.iterdir()) == []


def sweep(
    landed: Path, wanted: Mapping[str, Sequence[str]], tmp_path: Path, calls: str, most: int | None
) -> int:
    """Have calls fail, one in each run: all of them, or some drawn with a fixed seed."""
    shutil.copytree(landed, tmp_path / "counted")
    faults = injected.faults(tmp_path / "counted", calls, "run")
    if most is not None:
        draw = random.Random(calls)  # noqa: S311  the same each time
        faults = draw.sample(faults, min(most, len(faults)))
    hit = 0
    for number, fault in enumerate(faults):
        folder = tmp_path / f"{number}"
        shutil.copytree(landed, folder)
        ended = injected.with_fault(folder, fault, "run")
        if ended is not None:
            hit += 1
            check_end(ended, folder)
            story.do(folder, "late")
            assert story.rows_of(folder) == wanted, (str(fault), ended)
        shutil.rmtree(folder)
    return hit


@pytest.mark.fault(18)
def test_a_call_that_fails_is_told_and_changes_no_row(
    landed: Path, wanted: Mapping[str, Sequence[str]], tmp_path: Path
) -> None:
    injected.require()
    assert sweep(landed, wanted, tmp_path, "rename", 2)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.fault(18)
@pytest.mark.parametrize("calls", injected.CALLS)
def test_whichever_call_fails_is_told_and_changes_no_row(
    landed: Path, wanted: Mapping[str, Sequence[str]], tmp_path: Path, calls: str
) -> None:
    injected.require()
    assert sweep(landed, wanted, tmp_path, calls, None) > AT_ONCE
