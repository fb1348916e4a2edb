"""Commands over what lands on an object store: the same lake as from a folder."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines import places
from tests.support.commands.commands import Said, fencepost
from tests.support.stores.servers import S3

FILES = {
    "a.csv": "stream_id,ts,price\ns,2026-11-18T10:00:00Z,1\ns,2026-11-18T10:00:01Z,3\nbad\n",
    "b/_SUCCESS": "",
    "b/x.csv": "stream_id,ts,price\ns,2026-11-18T10:00:02Z,9\nt,2026-11-18T10:00:02Z,4\n",
    "c.csv": "stream_id,ts,price\ns,2026-11-18T10:00:00Z,1\ns,2026-11-18T10:00:01Z,3\nbad\n",
}
RULE = '{"id": "q", "feed": "ticks", "where": "price >= 2 AND price < 5"}\n'
SETTINGS = """\
[lake]
path = "{}"

[run]
runner = "here"

[feeds.ticks]
axes = ["price"]
source = "{}"
settle = "0s"
"""


def project(folder: Path, source: str, lake: str = "lake") -> Path:
    folder.mkdir()
    (folder / "fencepost.toml").write_text(SETTINGS.format(lake, source))
    (folder / "rules.jsonl").write_text(RULE)
    return folder


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    with contextlib.chdir(folder):
        yield


def good(*arguments: object) -> Said:
    said = fencepost(*arguments)
    assert said.code in (0, 4), said
    return said


def run_all(folder: Path) -> list[str]:
    """Do what a user would; give what the tables and the ledger then are."""
    with inside(folder):
        good("init")
        good("queries", "import", "rules.jsonl")
        good("run")
        assert good("run").out.startswith("nothing new")
        asked = (
            "select stream_id, ts, price, arrival, file, line from ticks order by all",
            "select path, reason, line, raw from quarantine order by all",
            "select n, path, state, reason, detail, partition_key from arrivals order by n",
            "select query_id, stream_id, ts, kind from events order by all",
        )
        return [fencepost("sql", each, "--format", "csv").out for each in asked]


@pytest.mark.parametrize(
    "lake", ["s3://{}/lake", pytest.param("lake", marks=pytest.mark.slow)], ids=["store", "disk"]
)
def test_a_run_over_a_store_makes_the_lake_that_a_folder_makes(
    moto_s3: S3, tmp_path: Path, lake: str
) -> None:
    on_disk = project(tmp_path / "disk", "landing")
    at = lake.format(moto_s3.bucket)
    on_store = project(tmp_path / "store", moto_s3.uri("landing"), at)
    source = places.place_of(moto_s3.uri("landing"), tmp_path)
    for name, content in FILES.items():
        path = on_disk / "landing" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        places.replace(source / name, content.encode())
    from_disk, from_store = run_all(on_disk), run_all(on_store)
    assert "a.csv" in from_disk[1]
    assert from_store == from_disk
    with inside(on_store):
        shown = good("feeds").out + good("status").out
        assert moto_s3.uri("landing") in shown
        said = fencepost("quarantine", "retry", "--reason", "repeat")
        assert said.code == 0, said
        assert "SECRET" not in shown
