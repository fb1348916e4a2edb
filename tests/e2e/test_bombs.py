"""Files that unpack to more than memory holds are read under a limit of memory, row by row."""

import gzip
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.support.commands.commands import REPOSITORY

LIMIT = 2_500_000_000
"""Bytes of address space; a command that reads ten rows takes half of it for its libraries."""
SIZE, TIMES = 1 << 24, 32
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
from pipelines.cli.app import main
sys.argv = ["fencepost", *{arguments!r}]
try:
    main()
finally:
    # Not getrusage's: that begins with what the process that started this one held.
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    print("peak", status["VmHWM"].split()[0], file=sys.stderr)
"""
GOOD = b'{"stream_id": "a", "ts": "2026-11-18T14:02:11Z", "price": 1}'
CSV = b"stream_id,ts,price\na,2026-11-18T14:02:11Z,1"
TOML = '[feeds.ticks]\naxes = ["price"]\nsource = "landing"\nsettle = "0s"\n'


def limited(folder, *arguments: object, limit: int = LIMIT) -> subprocess.CompletedProcess[str]:
    """Run a command that may have no more memory than that."""
    code = LIMITED.format(limit=limit, arguments=[str(each) for each in arguments])
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={"PYTHONPATH": str(REPOSITORY), "FENCEPOST_RUNNER": "here", "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


def bomb(first: bytes, filling: bytes, last: bytes) -> bytes:
    """Pack half a gigabyte of the same byte into half a megabyte."""
    parts = [first + b"\n", filling * SIZE, b"\n" + last + b"\n"]
    head, middle, tail = (gzip.compress(part, 9) for part in parts)
    return head + middle * TIMES + tail


BOMBS = {
    "zeros.jsonl": bomb(GOOD, b"\0", GOOD.replace(b"11Z", b"12Z")),
    "zeros.csv": bomb(CSV, b"\0", b"a,2026-11-18T14:02:12Z,2"),
    "commas.csv": bomb(CSV, b",", b"a,2026-11-18T14:02:12Z,2"),
    "nested.jsonl": bomb(GOOD, b"[", GOOD.replace(b"11Z", b"12Z")),
}


@pytest.mark.fault(45, 64)
@pytest.mark.parametrize("name", ["zeros.jsonl", "zeros.csv"])
def test_a_bomb_is_one_malformed_row_in_bounded_memory(tmp_path, name):
    check(tmp_path, name)


@pytest.mark.fault(64)
@pytest.mark.parametrize("pack", ["zip", "zst"])
def test_a_bomb_that_is_packed_otherwise_is_one_malformed_row_too(tmp_path, pack):
    (packed if pack == "zip" else compressed)(tmp_path / f"zeros.csv.{pack}")
    check(tmp_path, "zeros.csv", pack)


def packed(path: Path) -> None:
    """Write the zeros as a zip of one file, which is smaller than what is refused unread."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("day/zeros.csv", "w") as file,
    ):
        write_zeros(file)


def compressed(path: Path) -> None:
    """Write the zeros as zstd."""
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        write_zeros(file)


def write_zeros(file: Any) -> None:
    file.write(CSV + b"\n")
    for _ in range(TIMES):
        file.write(bytes(SIZE))
    file.write(b"\na,2026-11-18T14:02:12Z,2\n")


@pytest.mark.slow
@pytest.mark.fault(64)
@pytest.mark.parametrize("name", ["commas.csv", "nested.jsonl"])
def test_a_bomb_of_another_kind_is_one_malformed_row_too(tmp_path, name):
    check(tmp_path, name)


def check(folder, name: str, pack: str = "gz") -> None:
    path = folder / f"{name}.{pack}"
    if pack == "gz":
        path.write_bytes(BOMBS[name])
    assert path.stat().st_size < 1_000_000
    (folder / "rules.jsonl").write_text('{"id": "q", "feed": "ticks", "where": "price >= 1"}\n')
    given = ("-q", "rules.jsonl", "-t", f"ticks={name}.{pack}", "--axes", "ticks=price")
    told = limited(folder, "eval", *given, "--out", "out", "--format", "jsonl", "--json")
    assert told.returncode == 0, told.stderr
    (row,) = (folder / "out" / "quarantine.jsonl").read_text().splitlines()
    found = json.loads(row)
    assert f"a line of {SIZE * TIMES:,} bytes" in found["detail"]
    assert len(found["raw"]) == 1 << 16
    assert found["raw"].endswith("…")
    summary = json.loads(told.stdout)
    assert (summary["read"], summary["accepted"], summary["quarantined"]["malformed"]) == (3, 2, 1)


@pytest.mark.fault(64)
def test_a_bomb_that_lands_is_one_row_in_quarantine(tmp_path):
    (tmp_path / "fencepost.toml").write_text(TOML)
    (tmp_path / "landing").mkdir()
    assert limited(tmp_path, "init", limit=4 * LIMIT).returncode == 0
    (tmp_path / "landing" / "zeros.jsonl.gz").write_bytes(BOMBS["zeros.jsonl"])
    ran = limited(tmp_path, "run", "--json", limit=4 * LIMIT)  # delta-rs asks for much, uses little
    assert ran.returncode == 0, ran.stderr
    (taken,) = json.loads(ran.stdout)["deliveries"]
    assert (taken["rows"], taken["tuples"], taken["malformed"]) == (3, 2, 1)
    assert int(ran.stderr.rsplit("peak", 1)[1]) < 400_000
