"""What each executor of a session has, and what it lacks, by a task that needs nothing of ours.

The probe travels whole, so that it runs where Fencepost could not even be imported. A session is
started without our daemon for it: where that is missing, no worker comes up.

Law: a probe changes nothing.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from pipelines.spark import bundle, executors
from pipelines.spark.environment import apart

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

NEEDED = ("numpy", "numba", "pyarrow", "pandas", "deltalake")
AT_STORES = ("obstore",)
STOCK = {"spark.python.daemon.module": "pyspark.daemon"}
"""Spark's own daemon, which comes up anywhere."""
TRIES = 4
"""Tasks for each slot, so that every executor gets some."""


def probed(session: "SparkSession", seen: str) -> list[dict[str, str]]:
    """Give what was found on each executor; `seen` is a path that tasks must see, if any."""
    slots = executors.slots(session)
    many = slots * TRIES
    packages = [*NEEDED, *(AT_STORES if "://" in seen else ())]
    each = _probe(packages, bundle.FOLDER, seen, apart.module("places"))
    rows = session.range(0, many, 1, many).mapInArrow(each, "found string").collect()
    found = (json.loads(row["found"]) for row in rows)
    return [*{(each["host"], each["folder"]): each for each in found}.values()]


def lacks(found: Mapping[str, str]) -> list[str]:
    """Say in words what an executor lacks."""
    wrong = []
    ours = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if found["python"] != ours:
        wrong.append(f"Python {found['python']}, and this one is {ours}: they must be the same")
    if found["missing"]:
        wrong.append(f"its Python ({found['binary']}) lacks {found['missing']}")
    if found["code"]:
        wrong.append(f"Fencepost cannot be imported: {found['code']}")
    if found["unseen"]:
        wrong.append(f"it does not see {found['unseen']}")
    return wrong


def _probe(
    packages: list[str], folder: str, seen: str, places_of: str
) -> "Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]":
    """Make the function that Spark pickles whole."""

    def each(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import importlib
        import json
        import platform
        import sys
        import time
        from pathlib import Path

        import pyarrow as pa
        from pyspark import SparkFiles

        def fails(name: str) -> str:
            try:
                importlib.import_module(name)
            except Exception as why:  # noqa: BLE001
                return f"{type(why).__name__}: {why}"
            return ""

        places = [Path(SparkFiles.get(folder)), Path.cwd() / folder]
        ours = next((str(place) for place in places if place.is_dir()), None)
        if ours is not None and ours not in sys.path:
            sys.path.insert(0, ours)
        time.sleep(0.2)  # so that one executor does not do the work of all
        unseen = ""
        try:
            if "://" in seen:
                importlib.import_module(places_of).place_of(seen, Path("/")).is_dir()
            elif seen and not Path(seen).exists():
                unseen = seen
        except Exception as why:  # noqa: BLE001
            unseen = f"{seen} ({type(why).__name__}: {why})"
        found = {
            "host": platform.node(),
            "folder": str(Path.cwd()),
            "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
            "binary": sys.executable,
            "missing": ", ".join(name for name in packages if fails(name)),
            "code": fails("fencepost.engine"),
            "unseen": unseen,
        }
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"found": [json.dumps(found)]})

    return each
