"""With `[lake] fsync` what a commit names is on the disk before the commit is there."""

import os
from pathlib import Path

import pytest

from pipelines.lake.evidence import Evidence
from pipelines.lake.store import Store
from pipelines.project.settings import load
from schemas import all_tables, axes_only
from tests.faults import story

TABLES = all_tables(axes_only({"ticks": ("price",)}))
EVIDENCE = Evidence("test", "p", "ticks", 1, 1, 0, 1, 0)
ROW = {
    "feed": "ticks",
    "arrival": 1,
    "file": 0,
    "path": "a.csv",
    "line": 2,
    "reason": "malformed",
    "detail": "",
    "raw": "",
}


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is flushed and linked, in order."""
    done: list[str] = []
    sync, link = os.fsync, os.link

    def flush(descriptor: int) -> None:
        done.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        sync(descriptor)

    def linked(source: Path, target: Path) -> None:
        done.append(f"linked {target}")
        link(source, target)

    monkeypatch.setattr("os.fsync", flush)
    monkeypatch.setattr("os.link", linked)
    return done


def committed(root: Path, *, fsync: bool) -> str:
    Store.create(root, TABLES, buckets=2)
    store = Store.open(root, TABLES, fsync=fsync)
    files = store.write_rows("quarantine", [ROW])
    store.append("quarantine", store.version("quarantine"), files, EVIDENCE)
    return files[0].path


@pytest.mark.fault(13, 14)
def test_files_folders_and_the_commit_are_flushed_before_it_counts_and_its_name_after(
    tmp_path: Path, done: list[str]
) -> None:
    table = tmp_path / "lake" / "quarantine"
    path = committed(tmp_path / "lake", fsync=True)
    while done[0].startswith("linked"):  # how the tables were made, which is not flushed
        done.pop(0)
    (linked,) = [place for place, each in enumerate(done) if each.startswith("linked")]
    assert done[:3] == [str(table / path), str((table / path).parent), str(table)]
    assert [Path(each).name[:8] for each in done[3:linked]] == ["_commit_"]
    assert done[linked + 1 :] == [str(table / "_delta_log")]


def test_without_it_nothing_is_flushed(tmp_path: Path, done: list[str]) -> None:
    committed(tmp_path / "lake", fsync=False)
    assert [each for each in done if not each.startswith("linked")] == []


def test_a_run_of_a_lake_that_asks_for_it_flushes_every_commit(
    tmp_path: Path, done: list[str]
) -> None:
    folder = tmp_path / "project"
    story.make(folder)
    file = folder / "fencepost.toml"
    file.write_text(file.read_text().replace("[lake]\n", "[lake]\nfsync = true\n"))
    assert load(folder).fsync
    done.clear()  # how the tables were made, which is not flushed
    story.do(folder, "registered")
    story.do(folder, "taken-in")
    linked = [place for place, each in enumerate(done) if each.startswith("linked")]
    assert len(linked) > 10
    for place in linked:
        assert done[place + 1] == str(Path(done[place].removeprefix("linked ")).parent)
        assert Path(done[place - 1]).name.startswith("_commit_")
