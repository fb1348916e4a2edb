"""A delivery that ends its reader is refused; the others of its plan are taken."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from fencepost.errors import SparkError, StorageError, WorkerError
from pipelines.epochs.drive import arrivals_of
from pipelines.ingest import ingest, recover
from pipelines.ingest.task import ready
from pipelines.lake.store import Store
from pipelines.project.settings import Settings
from pipelines.spark.runner import HereRunner, Work, said_by_spark
from tests.support.lakes import tick_past
from tests.support.lakes.on_disk import on_disk
from tests.support.lakes.tick_past import NOW, land


class Deadly(HereRunner):
    """A runner whose worker dies over a file of one name; of all tasks, if `name` is empty."""

    slots = 1

    def __init__(self, name: str, *, plainly: bool = False) -> None:
        self.name = name
        self.plainly = plainly
        self.deaths = 0

    def run(self, work: Work, tasks: Sequence[str]) -> list[str]:
        if any(self.name in task for task in tasks):
            self.deaths += 1
            died = RuntimeError("Job aborted\nPython worker exited unexpectedly (crashed)\n at x")
            if self.plainly:
                raise WorkerError("in words") from died
            raise died
        return super().run(work, tasks)


def lake_with_files(folder: Path) -> tuple[Store, Settings]:
    lake = tick_past.new_lake(folder)
    store, settings = lake.store, lake.settings
    for name in ("a.csv", "b.csv", "c.csv"):
        land(settings, name, f"stream_id,ts,price,volume\n{name},2025-11-17T23:00:00Z,1,1\n")
    return store, settings


@pytest.mark.fault(9, 47)
@pytest.mark.parametrize("plainly", [False, True])
def test_a_file_that_kills_its_reader_is_refused_and_the_others_are_taken(
    tmp_path: Path, plainly: bool
) -> None:
    store, settings = lake_with_files(tmp_path)
    runner = Deadly("b.csv", plainly=plainly)
    report = ingest(store, settings, runner, NOW)
    assert [taken.path for taken in report.loaded] == ["a.csv", "c.csv"]
    (refused,) = report.refused
    assert (refused.path, refused.reason) == ("b.csv", "deadly")
    assert "Python worker exited unexpectedly (crashed)" in refused.detail
    assert runner.deaths == 4
    assert [delivery.n for delivery in arrivals_of(store).deliveries("ticks")] == [1, 3]
    assert not ingest(store, settings, runner, NOW).refused, "it is not tried again and again"


@pytest.mark.fault(9)
def test_where_no_worker_can_work_nothing_is_refused(tmp_path: Path) -> None:
    store, settings = lake_with_files(tmp_path)
    with pytest.raises(RuntimeError, match="Job aborted"):
        ingest(store, settings, Deadly(""), NOW)
    assert not arrivals_of(store).deliveries("ticks")
    recover(store, settings, HereRunner())
    assert [delivery.n for delivery in arrivals_of(store).deliveries("ticks")] == [1, 2, 3]


IN_JAVA = "\n\n\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handle(P.scala:5)\n"
NO_CODE = f"""Job aborted due to stage failure: Task 0 in stage 0.0 failed 3 times (host 10.0.0.3):
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/opt/spark/python/lib/pyspark.zip/pyspark/worker.py", line 2097, in main
    func, profiler, deserializer, serializer = read_command(pickleSer, infile)
  File "/opt/spark/python/lib/pyspark.zip/pyspark/cloudpickle/x.py", line 649, in subimport
    __import__(name)
ModuleNotFoundError: No module named 'pipelines'{IN_JAVA}Driver stacktrace:
\tat org.apache.spark.scheduler.SomeError.now(DAGScheduler.scala:3000)
"""
BUG = f"""Job aborted due to stage failure: Task 0 in stage 0.0 failed 3 times (host 10.0.0.3):
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/opt/spark/python/lib/pyspark.zip/pyspark/worker.py", line 2099, in main
    process()
  File "/opt/app/pipelines/ingest/task.py", line 75, in work
    return take(ReadUnit.from_json(task)).to_json()
KeyError: 'price'{IN_JAVA}Driver stacktrace:
\tat org.apache.spark.scheduler.SomeError.crash(DAGScheduler.scala:3000)
"""
LOST = (
    "Job aborted due to stage failure: ExecutorLostFailure (executor 1 exited caused by one of the "
    "running tasks) Reason: Command exited with code 137\n\tat x"
)
NO_PYTHON = 'IOException: Cannot run program "/env/bin/python": error=2, No such file\n\tat x'
MISSING = "Error from python worker:\n  No module named 'pipelines'\nPYTHONPATH was: x"


class Failing(Deadly):
    """A runner that fails with a text over a file of one name; what is ready may be well."""

    def __init__(self, name: str, text: str, kind: type[Exception] = RuntimeError) -> None:
        super().__init__(name)
        self.text, self.kind = text, kind
        self.probes = 0

    def run(self, work: Work, tasks: Sequence[str]) -> list[str]:
        self.probes += work is ready
        if work is not ready and any(self.name in task for task in tasks):
            raise self.kind(self.text)
        return HereRunner().run(work, tasks)


@pytest.mark.fault(9, 47)
@pytest.mark.parametrize("text", [NO_CODE, LOST, NO_PYTHON, MISSING])
def test_a_failure_of_the_platform_never_marks_a_delivery(tmp_path: Path, text: str) -> None:
    """Though the probe is well: executors may be back by then."""
    store, settings = lake_with_files(tmp_path)
    runner = Failing("b.csv", text)
    with pytest.raises(RuntimeError, match=re.escape(text[:40])):
        ingest(store, settings, runner, NOW)
    assert not arrivals_of(store).deliveries("ticks")
    recover(store, settings, HereRunner())
    assert [delivery.n for delivery in arrivals_of(store).deliveries("ticks")] == [1, 2, 3]


@pytest.mark.fault(9)
def test_a_refusal_quotes_what_the_task_raised_and_no_line_of_java(tmp_path: Path) -> None:
    store, settings = lake_with_files(tmp_path)
    runner = Failing("b.csv", BUG)
    (refused,) = ingest(store, settings, runner, NOW).refused
    assert refused.detail.startswith(
        "reading it ended its reader 3 times: KeyError: 'price'. It is"
    )
    assert runner.probes == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (NO_CODE, "ModuleNotFoundError: No module named 'pipelines'"),
        (MISSING, "No module named 'pipelines'"),
        (NO_PYTHON, 'Cannot run program "/env/bin/python": error=2, No such file'),
        (LOST, "ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason"),
    ],
)
def test_what_the_platform_lacks_is_said_in_words(text: str, why: str) -> None:
    with pytest.raises(SparkError, match=re.escape(f"cannot do the work: {why}")), said_by_spark():
        raise RuntimeError(text)


@pytest.mark.fault(47)
def test_files_that_only_the_workers_miss_are_not_refused(tmp_path: Path) -> None:
    store, settings = lake_with_files(tmp_path)

    class Elsewhere(HereRunner):
        """Workers on a machine without the landing folder."""

        def run(self, work: Work, tasks: Sequence[str]) -> list[str]:
            source = on_disk(settings.feeds["ticks"].source)
            source.rename(tmp_path / "away")
            try:
                return super().run(work, tasks)
            finally:
                (tmp_path / "away").rename(source)

    with pytest.raises(StorageError, match=r"executors do not find it: landing folders and the"):
        ingest(store, settings, Elsewhere(), NOW)
    assert not arrivals_of(store).deliveries("ticks")
    recover(store, settings, HereRunner())
    assert [delivery.n for delivery in arrivals_of(store).deliveries("ticks")] == [1, 2, 3]
