"""Who else may change a lake, and what is done about it at the start."""

from pathlib import Path

import pytest

from fencepost.errors import LakeError
from pipelines.cli.commands.doctor import lake_lines
from pipelines.lake.evidence import Evidence
from pipelines.lake.store import Store
from pipelines.spark.environment.diagnosis import Mark
from schemas import all_tables, axes_only

TABLES = all_tables(axes_only({"ticks": ("price",)}))
ROW = {"feed": "ticks", "arrival": 1, "file": 0, "path": "a.csv", "line": 2, "reason": "malformed"}
ROW |= {"detail": "", "raw": ""}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    Store.create(tmp_path / "lake", TABLES, buckets=2)
    return tmp_path / "lake"


@pytest.mark.fault(70)
@pytest.mark.parametrize("place", ["", "events", "events/_delta_log"])
def test_the_doctor_minds_a_lake_that_every_user_may_write_to(root: Path, place: str) -> None:
    assert [line.mark for line in lake_lines(root)] == [Mark.OK]
    (root / place).chmod(0o777)
    _, minded = lake_lines(root)
    assert (minded.mark, minded.do) == (Mark.MIND, f"chmod -R o-w {root}")
    assert str(root / place) in minded.found


@pytest.mark.fault(70)
def test_a_link_in_the_place_of_a_log_is_refused_by_who_reads_and_who_writes(
    root: Path, tmp_path: Path
) -> None:
    log = root / "events" / "_delta_log"
    log.rename(tmp_path / "elsewhere")
    log.symlink_to(tmp_path / "elsewhere")
    for opened in (Store.open, Store.to_read):
        with pytest.raises(LakeError, match=r"events/_delta_log is a link, where a folder was"):
            opened(root, TABLES)
    assert [line.mark for line in lake_lines(root)] == [Mark.STOP]


@pytest.mark.fault(15)
@pytest.mark.parametrize("cleaned", [False, True], ids=["commits there", "commits cleaned"])
@pytest.mark.parametrize("how", ["missing", "empty", "torn"])
def test_a_checkpoint_that_is_gone_or_torn_never_means_fewer_rows(
    root: Path, how: str, *, cleaned: bool
) -> None:
    """The commits before it tell the same; where they are gone too, it is said by name."""
    store = Store.open(root, TABLES)
    for number in range(3):
        evidence = Evidence("test", f"{number}", "ticks", 1, 1, 0, 1, 0)
        files = store.write_rows("quarantine", [ROW])
        store.append("quarantine", store.version("quarantine"), files, evidence)
    store.delta("quarantine").create_checkpoint()
    log = root / "quarantine" / "_delta_log"
    (checkpoint,) = log.glob("*.checkpoint.parquet")
    content = checkpoint.read_bytes()
    if how == "missing":
        checkpoint.unlink()
    else:
        checkpoint.write_bytes(content[: len(content) // 2] if how == "torn" else b"")
    for commit in sorted(log.glob("*.json"))[:-1] if cleaned else ():
        commit.unlink()
    assert rows_in(root) in ({None} if cleaned else {None, 3})


def rows_in(root: Path) -> int | None:
    """Count what a reader finds; None where it is refused by the table's name."""
    try:
        return int(Store.to_read(root, TABLES).rows("quarantine").num_rows)
    except LakeError as why:
        return None if "quarantine" in str(why) else -1
