"""Where Spark runs: the masters that are understood, and executors in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fencepost.errors import InputError
from pipelines.project.settings import load
from pipelines.project.settings.loading import understood
from pipelines.project.settings.spark_keys import spoken
from pipelines.spark import masters
from pipelines.spark.configuration import Where, program, settings
from pipelines.spark.environment.place import Place
from tests.faults.story import copied, differing, do, land, make, rows_of
from tests.support.commands.commands import REPOSITORY

FEED = '[feeds.ticks]\naxes = ["price"]\nsource = "in"\n'
PROCESSES = "local-cluster[2,1,1024]"
RUN = """
import sys
from pathlib import Path
from pipelines.project.settings import load
from pipelines.runs.run import run, runner_of
from pipelines.spark import executors

settings = load(Path(sys.argv[1]))
runner = runner_of(settings, quick=True)
context = runner.spark.sparkContext
print(runner.slots, executors.executors(context), context.master)
print(len(run(settings, runner).ingested.loaded))
"""


@pytest.mark.parametrize(
    ("master", "is_understood"),
    [
        *((each, True) for each in ("local", "local[*]", "local[4]", "local[4,3]", PROCESSES)),
        *((each, True) for each in ("spark://a:7077", "spark://a:7077,b:7077", "yarn")),
        *((each, True) for each in ("k8s://https://10.0.0.1:6443", "sc://host:15002/;token=x")),
        *((each, False) for each in ("", "local[0]", "local-cluster[2]", "spark://a", "mesos://a")),
    ],
)
def test_a_master_is_understood_or_refused(master: str, is_understood: bool) -> None:
    assert masters.is_master(master) is is_understood


def test_what_the_cluster_is_told_comes_from_the_file_and_the_environment(tmp_path) -> None:
    text = f"""{FEED}[run]
master = "spark://10.1.1.1:7077"
driver_host = "10.0.0.5"
[run.spark]
"spark.executor.memory" = "4g"
executor.cores = 2
speculation = true
"spark.hadoop.fs.s3a.secret.key" = "env:SECRET"
"""
    declared = understood(text, tmp_path / "fencepost.toml")
    assert declared.master == "spark://10.1.1.1:7077"
    assert "hush" not in repr(declared)
    assert spoken(declared.spark, {"SECRET": "hush"}) == {
        "spark.executor.cores": "2",
        "spark.executor.memory": "4g",
        "spark.hadoop.fs.s3a.secret.key": "hush",
        "spark.speculation": "true",
    }
    with pytest.raises(InputError, match=r"secret\.key: the variable SECRET is not set"):
        spoken(declared.spark, {})
    over = understood(text, tmp_path / "x", environment={"FENCEPOST_MASTER": "local[2]"})
    assert over.master == "local[2]"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('master = "mesos://a"', "'mesos://a' was given, where a master like"),
        ('spark = { "spark.master" = "yarn" }', "'spark.master' cannot be set here: it is the key"),
        (
            'spark = { "spark.hadoop.fs.s3a.secret.key" = "AKIA" }',
            "looks like a secret, which belongs into a variable",
        ),
        ("spark = { cores = [1] }", "a text, a number, true or false for cores was expected"),
    ],
)
def test_what_cannot_be_is_refused_in_words(tmp_path, line: str, words: str) -> None:
    with pytest.raises(Exception, match="fault") as refused:
        understood(f"{FEED}[run]\n{line}\n", tmp_path / "fencepost.toml")
    assert words in str(refused.value)
    assert "AKIA" not in str(refused.value)


def test_on_a_cluster_the_settings_travel_in_a_file_of_their_owner_alone(tmp_path) -> None:
    where = Where("spark://127.0.0.1:7077", cores=3)
    given = {**settings(where, tmp_path, Place.of_this_python()), "spark.x": "a b=c:\\d"}
    assert (given["spark.driver.host"], given["spark.cores.max"]) == ("127.0.0.1", "3")
    *_, flag, file, shell = program(where, tmp_path, given)
    assert (flag, shell) == ("--properties-file", "pyspark-shell")
    assert Path(file).stat().st_mode & 0o777 == 0o600
    assert "spark.x a\\ b\\=c\\:\\\\d\n" in Path(file).read_text()
    far = settings(Where("yarn", driver_host="203.0.113.7"), tmp_path, Place.of_this_python())
    assert (far["spark.driver.host"], far["spark.driver.bindAddress"]) == (
        "203.0.113.7",
        masters.ANY,
    )


def test_the_jvm_speaks_by_sockets_in_a_folder_where_their_names_are_short_enough(tmp_path) -> None:
    place, by_socket = Place.of_this_python(), "spark.python.unix.domain.socket.dir"
    short, long = Path("/short/fencepost-spark-abcdefgh"), tmp_path / ("long" * 25)
    assert settings(Where("local"), short, place)[by_socket] == str(short)
    assert by_socket not in settings(Where("local"), long, place)
    assert by_socket not in settings(Where("spark://127.0.0.1:7077"), short, place)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_two_executors_in_processes_of_their_own_write_the_rows_of_one_process(tmp_path) -> None:
    here = tmp_path / "here"
    make(here)
    do(here, "registered")
    there = copied(here, tmp_path / "there")
    do(here, "taken-in")
    land(there, "taken-in")
    ran = subprocess.run(
        [sys.executable, "-c", RUN, str(there)],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(REPOSITORY),
            "FENCEPOST_RUNNER": "spark",
            "FENCEPOST_MASTER": PROCESSES,
        },
        capture_output=True,
        text=True,
        timeout=230,
        check=False,
    )
    assert ran.stdout.splitlines() == [f"2 2 {PROCESSES}", "4"], ran.stderr
    assert ran.stderr == ""
    assert differing(rows_of(there), rows_of(here)) == []
    assert load(there).master == masters.LOCAL
