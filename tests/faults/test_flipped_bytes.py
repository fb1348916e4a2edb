"""No flipped bit in a lake's files ever gives wrong rows in silence."""

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fencepost.errors import FencepostError
from pipelines.checks.whole import files_are_whole
from pipelines.cli.exit_codes import Code
from pipelines.lake.checksums import OURS, Damaged
from pipelines.lake.data_files import open_verified
from pipelines.lake.layout import read_commit
from pipelines.lake.store import Store
from pipelines.project.settings import load
from tests.faults import flips, story
from tests.faults.flips import Flip
from tests.support.commands.commands import fencepost

EVERY_KIND = (".parquet", ".json", ".arrow", "_fencepost.json", "_last_checkpoint")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake in which everything has happened: files of ours and of delta-rs, checkpoints, sets."""
    folder = tmp_path_factory.mktemp("flips") / "told"
    story.make(folder)
    for stage in story.STAGES:
        story.do(folder, stage)
    return folder


@pytest.fixture(scope="module")
def landed(told: Path) -> Path:
    """The same before its last stages, with files that have landed."""
    folder = told.with_name("landed")
    story.make(folder)
    for stage in ("registered", "taken-in"):
        story.do(folder, stage)
    story.land(folder, "late")
    return folder


def check_flips(project: Path, drawn: Sequence[Flip]) -> Counter[str]:
    wanted = flips.read(project)
    active = flips.active_data(load(project))
    found: Counter[str] = Counter()
    for flip in drawn:
        came = flips.outcome(project, flip, wanted)
        assert came != "wrong", flip
        if flip.path in active:
            assert came == "named", flip
        found[came] += 1
    return found


@pytest.mark.fault(14, 15, 16)
def test_who_reads_past_a_flipped_bit_gets_the_rows_or_an_error(told: Path) -> None:
    drawn = [flip for ending in EVERY_KIND for flip in flips.drawn(told, 8, 1, ending)]
    found = check_flips(told, drawn)
    assert min(found["named"], found["equal"]) > 5


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.fault(14, 15, 16)
@pytest.mark.parametrize("seed", range(5))
def test_of_very_many_flipped_bits_none_gives_wrong_rows(told: Path, seed: int) -> None:
    check_flips(told, flips.drawn(told, 500, seed))


@pytest.mark.fault(16)
@pytest.mark.parametrize("name", ["ticks", "stream_state", "events", "pending"])
def test_every_byte_of_a_data_file_is_covered(told: Path, name: str) -> None:
    """Also those that Parquet's own checksums leave out: page headers and the footer."""
    settings = load(told)
    store = Store.to_read(settings.root, settings.tables)
    (file, *_) = store.files(name)
    content = (store.folder(name) / file.path).read_bytes()
    step = max(1, len(content) // 300)
    for at in range(0, len(content), step):
        with (
            Flip(f"lake/{name}/{file.path}", at, at % 8).done(told),
            pytest.raises(Damaged, match=r"and [0-9a-f]{8} was written"),
        ):
            open_verified(store.folder(name), file.path)


@pytest.mark.fault(16)
def test_without_a_checksum_of_all_bytes_flips_in_the_footer_give_wrong_rows(told: Path) -> None:
    """Why page checksums are not enough; if this fails, Parquet has become better."""
    settings = load(told)
    store = Store.to_read(settings.root, settings.tables)
    folder, (file, *_) = store.folder("ticks"), store.files("ticks")
    content = (folder / file.path).read_bytes()
    wanted = pq.ParquetFile(folder / file.path).read()
    wrong = 0
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for at in range(footer, len(content)):
        damaged = bytearray(content)
        damaged[at] ^= 1
        wrong += is_wrong(pa.BufferReader(bytes(damaged)), wanted)
    assert wrong


def is_wrong(source: pa.BufferReader, wanted: pa.Table) -> bool:
    try:
        rows = pq.ParquetFile(source, page_checksum_verification=True).read()
        if rows.column_names != wanted.column_names:  # which reads as a column that came later
            return True
        return not rows.cast(wanted.schema).equals(wanted)
    except (OSError, pa.ArrowException, UnicodeDecodeError, ValueError, MemoryError):
        return False


@pytest.mark.fault(16)
def test_files_that_maintenance_wrote_anew_have_a_checksum_too(told: Path) -> None:
    settings = load(told)
    store = Store.to_read(settings.root, settings.tables)
    commits = [
        action
        for version in range(store.version("events") + 1)
        for action in read_commit(store.folder("events"), version) or ()
    ]
    operations = {action["commitInfo"]["operation"] for action in commits if "commitInfo" in action}
    assert "OPTIMIZE" in operations, "the story has a table that was put together"
    for name in store.tables:
        assert all(OURS.fullmatch(Path(file.path).name) for file in store.files(name))


@pytest.mark.fault(16)
def test_what_is_damaged_is_not_put_together_with_what_is_not(landed: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(landed, project)
    path = min(flips.active_data(load(project)))
    with Flip(path, 40, 1).done(project), pytest.raises(FencepostError, match="missing or damaged"):
        story.do(project, "maintained")


@pytest.mark.fault(16)
def test_a_deep_check_finds_the_damaged_file_and_says_which(told: Path) -> None:
    settings = load(told)
    assert files_are_whole(settings, deep=True).passed
    for path in sorted(flips.active_data(settings)):
        with Flip(path, (told / path).stat().st_size // 2, 3).done(told):
            for deep in (True, False):
                found = files_are_whole(settings, deep=deep)
                assert found.samples[0].startswith(path.removeprefix("lake/")[:40])
                assert found.failed


@pytest.mark.fault(16)
def test_the_command_stops_at_files_that_are_not_whole(told: Path) -> None:
    path = next(p for p in sorted(flips.active_data(load(told))) if p.startswith("lake/matches"))
    with Flip(path, 50, 2).done(told):
        done = fencepost("check", "--deep", "--no-contracts", "--json", "--config", told)
    assert done.code == Code.FAILED
    (check,) = json.loads(done.out)["checks"]
    assert (check["name"], check["passed"]) == ("files_are_whole", False)


def after_a_run(project: Path, wanted: Mapping[str, Any]) -> str:
    try:
        story.do(project, "late")
        return "equal" if story.rows_of(project) == wanted else "wrong"
    except FencepostError:
        return "named"


def check_runs(landed: Path, tmp_path: Path, drawn: Sequence[Flip]) -> None:
    undisturbed = tmp_path / "undisturbed"
    shutil.copytree(landed, undisturbed)
    story.do(undisturbed, "late")
    wanted = story.rows_of(undisturbed)
    for number, flip in enumerate(drawn):
        project = tmp_path / f"{number}"
        shutil.copytree(landed, project)
        with flip.done(project):
            assert after_a_run(project, wanted) != "wrong", flip
        shutil.rmtree(project)


@pytest.mark.fault(16, 57)
def test_a_run_on_a_lake_with_a_flipped_bit_is_right_or_says_what_is_damaged(
    landed: Path, tmp_path: Path
) -> None:
    check_runs(landed, tmp_path, flips.drawn(landed, 3, 2) + flips.drawn(landed, 2, 3, ".arrow"))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.fault(16, 57)
def test_very_many_runs_on_lakes_with_a_flipped_bit_are_right_or_say_so(
    landed: Path, tmp_path: Path
) -> None:
    check_runs(landed, tmp_path, flips.drawn(landed, 400, 4))
