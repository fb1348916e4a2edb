"""A full, failing or read-only disk is recognised in whatever words, and nothing else is."""

import errno
import io
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest

from fencepost.errors import Faults, InputError, LakeError, StorageError
from pipelines.cli.errors import exit_code_of
from pipelines.cli.exit_codes import Code
from pipelines.disk.errors import storage_error, stored
from pipelines.ingest.isolation import answered
from pipelines.ingest.task import ready
from pipelines.ingest.units import ReadUnit
from pipelines.lake import data_files
from pipelines.lake.append import append_once
from pipelines.lake.checksums import SummedFile
from pipelines.lake.data_files import GrowingFile
from pipelines.lake.evidence import Evidence
from pipelines.lake.store import Store
from pipelines.spark.runner import HereRunner, Work
from schemas import Table, all_tables, axes_only

TABLES = all_tables(axes_only({"ticks": ("price",)}))
FULL = "No space left on device"


def chained(first: Exception, later: Exception) -> Exception:
    """Give an exception that was raised while the first was handled."""
    later.__context__ = first
    return later


@pytest.mark.fault(17, 18, 19)
@pytest.mark.parametrize(
    ("fault", "file"),
    [
        (OSError(errno.ENOSPC, FULL, "/lake/events/x"), "/lake/events/x"),
        (
            OSError(
                "Generic LocalFileSystem error\n  ↳ Unable to open file /lake/t/_delta_log/2.json#1"
                "\n   ↳ Read-only file system (os error 30)\n"
            ),
            "/lake/t/_delta_log/2.json",
        ),
        (
            OSError(
                errno.EIO,
                "Failed to open local file '/lake/x'. Detail: [errno 5] Input/output error",
            ),
            "/somewhere",
        ),
        (pa.ArrowInvalid("IOError: [errno 28] Error writing '/lake/a/b'"), "/lake/a/b"),
        (
            RuntimeError(
                "An error occurred while calling o9.collect.\njava.io.IOException: "
                "No space left on device\n\tat java.base/sun.nio.ch.FileDispatcherImpl.write0"
            ),
            "/somewhere",
        ),
        (
            RuntimeError(
                "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
                '  File "/usr/lib/worker.py", line 1, in main\n'
                "OSError: [Errno 28] No space left on device: '/lake/ticks/part-1.parquet'\n"
            ),
            "/lake/ticks/part-1.parquet",
        ),
        (
            RuntimeError('IO Error: Could not write file "/out/z.csv": No space left on device'),
            "/out/z.csv",
        ),
        (chained(OSError(errno.EDQUOT, "x", "/lake/q"), ValueError("no metadata yet")), "/lake/q"),
        (chained(OSError(errno.EFBIG, "x", "/lake/q"), LakeError("lost")), "/lake/q"),
    ],
    ids=["python", "delta-rs", "arrow", "arrow text", "java", "worker", "duckdb", "under", "lake"],
)
def test_a_disk_that_refuses_is_recognised_in_whatever_words(fault: Exception, file: str) -> None:
    found = storage_error(fault, "/somewhere")
    assert str(found).startswith(f"{file}: ")
    assert "then give the same command again" in str(found)
    assert "\n" not in str(found)


@pytest.mark.parametrize(
    "fault",
    [
        FileNotFoundError(errno.ENOENT, "No such file or directory", "/x"),
        PermissionError(errno.EACCES, "Permission denied", "/x"),
        InputError("the query 'No space left on device' is unknown"),
        ValueError("5 os errors"),
    ],
)
def test_what_is_no_fault_of_a_disk_is_not_taken_for_one(fault: Exception) -> None:
    assert storage_error(fault) is None


def test_below_a_lake_a_file_that_this_user_may_not_write_is_a_storage_error() -> None:
    told = r"^/lake/x: Permission denied: give this user access"
    with pytest.raises(StorageError, match=told), stored("/lake"):
        raise PermissionError(errno.EACCES, "Permission denied", "/lake/x")


@pytest.mark.fault(17, 18)
@pytest.mark.parametrize(
    "fault",
    [
        OSError(errno.ENOSPC, FULL, "/lake/x"),
        chained(OSError(errno.ENOSPC, FULL, "/lake/x"), Faults([])),
        chained(OSError(errno.ENOSPC, FULL, "/lake/x"), AssertionError("writer")),
        StorageError(f"/lake/x: {FULL}: make room"),
    ],
)
def test_a_command_says_the_file_in_one_sentence_and_ends_with_a_code_of_its_own(
    fault: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    def command() -> None:
        raise fault

    assert exit_code_of(command, debug=False) == Code.STORAGE
    told = capsys.readouterr().err
    assert told.startswith(f"/lake/x: {FULL}: make room")
    assert told.count("\n") == 1


class Full:
    """A runner whose workers find the disk full; they are well otherwise."""

    slots = 1

    def __init__(self) -> None:
        self.asked = 0

    def run(self, work: Work, tasks: Sequence[str]) -> list[str]:
        self.asked += 1
        if work is ready:
            return list(tasks)
        return HereRunner().run(raises_full, tasks)


def raises_full(task: str) -> str:
    raise OSError(errno.ENOSPC, FULL, f"/lake/{task[:0]}x")


@pytest.mark.fault(17)
def test_a_delivery_read_while_the_disk_was_full_is_not_refused_as_deadly() -> None:
    runner = Full()
    unit = ReadUnit.__new__(ReadUnit)
    object.__setattr__(unit, "to_json", lambda: "{}")
    with pytest.raises(StorageError, match=FULL):
        answered(runner, [unit])
    assert runner.asked == 1, "nobody tries again, delivery by delivery"


@pytest.mark.fault(18)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_a_commit_that_the_disk_refuses_is_tried_once_and_the_cause_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    store = Store.create(tmp_path / "lake", TABLES, buckets=2)
    tried = []

    def refuse(*_: object) -> None:
        tried.append(1)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("os.link", refuse)
    evidence = Evidence("test", "p", "ticks", 1, 1, 0, 0, 0)
    with pytest.raises(
        StorageError, match=rf"epochs/_delta_log/0+\d+\.json: {os.strerror(number)}"
    ):
        append_once(store, "epochs", evidence, list, 0)
    assert tried == [1]


class Failing:
    """A file whose k-th write fails, or what follows the last."""

    def __init__(self, file: object, after: int, number: int) -> None:
        self.file, self.left, self.number = file, after, number

    def __getattr__(self, name: str) -> Callable[..., object]:
        real: Callable[..., object] = getattr(self.file, name)
        if name not in {"write", "flush"}:
            return real

        def counted(*given: object) -> object:
            if self.left == 0:
                raise OSError(self.number, os.strerror(self.number))
            self.left -= 1
            return real(*given)

        return counted


@pytest.mark.fault(3, 17, 18)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_whichever_write_of_a_data_file_fails_the_first_cause_is_kept_and_no_file_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Not "file metadata is only available after writer close"."""
    table = TABLES["ticks"]
    ids = pa.array(["a", "b"]).dictionary_encode()
    zeros = {field.name: pa.array([0, 0]).cast(field.type) for field in table.in_files.remove(0)}
    rows = pa.table({table.in_files[0].name: ids, **zeros})
    failed = 0
    for after in range(500):

        def failing(path: Path, after: int = after) -> SummedFile:
            file = SummedFile(path)
            file._file = cast("io.BufferedWriter", Failing(file._file, after, number))
            return file

        monkeypatch.setattr(data_files, "SummedFile", failing)
        fault = fault_of(tmp_path, table, rows)
        if fault is None:
            break
        assert (fault.errno, Path(str(fault.filename)).parent) == (number, tmp_path)
        assert list(tmp_path.iterdir()) == []
        failed += 1
    assert failed > len(table.arrow.names), "each column's page is a write at least"
    assert len(list(tmp_path.iterdir())) == 1


def fault_of(folder: Path, table: Table, rows: pa.Table) -> OSError | None:
    """Write a data file; give what went wrong."""
    try:
        with GrowingFile(folder, table, {}) as file:
            file.add(rows)
    except OSError as fault:
        return fault
    return None
