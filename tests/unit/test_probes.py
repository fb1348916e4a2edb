"""What is said of an executor that lacks something, by the function that runs on it."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark import SparkFiles

from pipelines.spark.probes import _probe, lacks

BATCH = pa.RecordBatch.from_pydict({"id": [0]})


@pytest.fixture
def on_executor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Have Spark's files where they are on an executor."""
    monkeypatch.setattr(SparkFiles, "_is_running_on_worker", True)
    monkeypatch.setattr(SparkFiles, "_root_directory", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(packages: list[str], seen: str) -> dict[str, str]:
    """Run the probe here."""
    (answer,) = _probe(packages, "fp", seen, "pipelines.places")([BATCH])
    probed: dict[str, str] = json.loads(answer["found"][0].as_py())
    return probed


def test_an_executor_that_has_all_lacks_nothing(on_executor: Path) -> None:
    assert lacks(found(["numpy"], str(on_executor))) == []


def test_each_thing_that_is_missing_is_named(on_executor: Path) -> None:
    wrong = lacks(found(["numpy", "no_such_package"], f"{on_executor}/mounted"))
    assert [line.partition(")")[2] or line for line in wrong] == [
        " lacks no_such_package",
        f"it does not see {on_executor}/mounted",
    ]


@pytest.mark.usefixtures("on_executor")
def test_a_store_that_cannot_be_reached_is_quoted() -> None:
    (wrong,) = lacks(found(["numpy"], "hdfs://namenode/lake"))
    assert wrong.startswith("it does not see hdfs://namenode/lake (InputError: ")


@pytest.mark.usefixtures("on_executor")
def test_another_minor_version_of_python_is_no_good() -> None:
    (wrong,) = lacks({**found([], ""), "python": "3.9"})
    assert wrong.startswith("Python 3.9, and this one is 3.1")
    assert wrong.endswith(": they must be the same")
