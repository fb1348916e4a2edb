"""A session that is not ours: of spark-submit, a notebook or job of a platform, or Spark Connect.

Tasks go through `range(n).mapInArrow`, which any session has, one task a partition. Our code goes
with them as the archive of `bundle.py`.

Law: its settings are left as they are, and it is left running.
"""

import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from weakref import WeakSet

from fencepost.errors import StateError
from pipelines.spark import bundle, executors, masters
from pipelines.spark.environment.place import Place

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

LEAST = 4
"""The major version of Spark that is tested, and the least."""
SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""What spark-submit sets in the environment of its Python."""

_equipped: "WeakSet[SparkSession]" = WeakSet()


def session(master: str) -> "SparkSession | None":
    """Give the session that runs in this process already, or that the master names; else None."""
    found = _connected(master) if masters.is_connect(master) else _active()
    if found is not None and int(found.version.partition(".")[0]) < LEAST:
        raise StateError(
            f"this session is of Spark {found.version}, and Fencepost runs on Spark {LEAST}.0 and "
            "later"
        )
    return found


def run(theirs: "SparkSession", work: Callable[[str], str], tasks: Sequence[str]) -> list[str]:
    """Run every task in one job."""
    if theirs not in _equipped:
        _equip(theirs)
        _equipped.add(theirs)
    many = len(tasks)
    each = _answering(pickle.dumps(work), list(tasks), bundle.FOLDER)
    answered = theirs.range(0, many, 1, many).mapInArrow(each, "n long, answer string").collect()
    answers = {row["n"]: row["answer"] for row in answered}
    return [answers[n] for n in range(many)]


def _answering(
    work: bytes, tasks: list[str], folder: str
) -> "Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]":
    """Make the function that Spark pickles whole: our modules are there once it has run."""

    def each(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pickle
        import sys
        from pathlib import Path

        import pyarrow as pa
        from pyspark import SparkFiles

        places = [Path(SparkFiles.get(folder)), Path.cwd() / folder]
        ours = next((str(place) for place in places if place.is_dir()), None)
        if ours is not None and ours not in sys.path:
            sys.path.insert(0, ours)
        do = pickle.loads(work)  # noqa: S301  the driver's own
        for batch in batches:
            numbers = batch.column(0).to_pylist()
            answers = [do(tasks[n]) for n in numbers]
            yield pa.RecordBatch.from_pydict(
                {"n": pa.array(numbers, pa.int64()), "answer": pa.array(answers, pa.string())}
            )

    return each


def _active() -> "SparkSession | None":
    if SUBMITTED in os.environ:
        from pyspark.sql import SparkSession

        return SparkSession.builder.getOrCreate()
    connect = sys.modules.get("pyspark.sql.connect.session")
    if connect is not None:
        found: SparkSession | None = connect.SparkSession.getActiveSession()
        if found is not None:
            return found
    pyspark = sys.modules.get("pyspark")
    if pyspark is None or pyspark.SparkContext._active_spark_context is None:
        return None
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def _connected(master: str) -> "SparkSession":
    from pyspark.sql.connect.session import SparkSession

    theirs: SparkSession = SparkSession.builder.remote(master).getOrCreate()
    return theirs  # type: ignore[return-value]


def _equip(theirs: "SparkSession") -> None:
    """Send our code to its executors, once a session: 5 MB."""
    archive = f"{bundle.shipped(Place.of_this_python(), _say)}#{bundle.FOLDER}"
    context = executors.context_of(theirs)
    if context is None:
        theirs.addArtifacts(archive, archive=True)
    else:
        context.addArchive(archive)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
