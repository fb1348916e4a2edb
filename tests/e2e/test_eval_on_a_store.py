"""`fencepost eval` over deliveries on an object store: what it says of the same files on a disk."""

import gzip
from pathlib import Path

import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from pipelines import places
from tests.support.commands.commands import BAND, evaluated, ticks
from tests.support.commands.files import written
from tests.support.stores.servers import S3

RESULTS = ("events.csv", "transitions.csv", "quarantine.csv")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one query, and one delivery in each form."""
    folder = written(tmp_path, "q.jsonl", BAND).parent
    (folder / "a.csv.gz").write_bytes(gzip.compress(ticks(1, 3, "high", 9).encode()))
    written(folder, "b.csv", ticks(1, 3, 4, 9, 9, 3, 1))
    pq.write_table(pc.read_csv(folder / "b.csv"), folder / "c.parquet", row_group_size=2)
    return folder


def put(bucket: S3, folder: Path, name: str) -> str:
    """Write a file to the bucket; says how `eval` names it."""
    uri = bucket.uri(f"day=1/{name}")
    places.replace(places.place_of(uri, folder), (folder / name).read_bytes())
    return uri


@pytest.mark.parametrize("name", ["a.csv.gz", "b.csv", "c.parquet"])
def test_a_delivery_on_a_store_is_evaluated_as_on_a_disk(moto_s3, folder, name):
    uri = put(moto_s3, folder, name)
    here = evaluated(folder, f"ticks={name}")
    expected = [(folder / "out" / each).read_text() for each in RESULTS]
    there = evaluated(folder, f"ticks={uri}")
    assert there.code == here.code == 0
    found = [(folder / "out" / each).read_text() for each in RESULTS]
    assert found == [each.replace(f",{name},", f",{uri},") for each in expected]
    assert (uri in found[2]) is (name == "a.csv.gz")


def test_of_an_object_that_is_not_there_nothing_is_written_and_its_name_is_said(moto_s3, folder):
    said = evaluated(folder, f"ticks={moto_s3.uri('none.csv')}")
    assert said.code == 2
    assert f"{moto_s3.uri('none.csv')}: there is no such object" in said.err
    assert not (folder / "out").exists()
    guessed = evaluated(folder, f"ticks={moto_s3.uri('none.csv')}", more=("--guess",))
    assert "--guess takes samples of files on a disk" in guessed.err


def test_a_file_may_be_named_by_its_address_too(folder):
    assert evaluated(folder, f"ticks=file://{folder}/b.csv").code == 0
