"""Crossings of price bands by Flink SQL, in an environment of its own: see apart.py.

The folder has steps/ (place, p0, c0) and borders/ (query, lo0, hi0, cell0, border) as CSV, which is
what Flink reads without further jars. A cell is no narrower than the longest step: so a step is in
one or two. What is found goes to a sink that drops it; a run that only reads is taken off.
"""

import json
import sys
import time
from pathlib import Path

READ = """
create temporary table {name} ({columns})
with ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')
"""
TABLES = {
    "steps": "place bigint, p0 double, c0 double",
    "borders": "query bigint, lo0 double, hi0 double, cell0 bigint, border double",
}
DROPPED = "create temporary table {name} ({columns}) with ('connector' = 'blackhole')"
READ_ALL = "insert into read_{name} select * from {name}"
EVENTS = "place bigint, query bigint, enters int"
SPANS = """
create temporary view spans as
select place, p0, c0, cast(floor(least(p0, c0) / {cell}) as bigint) as cell0 from steps
union all
select place, p0, c0, cast(floor(greatest(p0, c0) / {cell}) as bigint) as cell0 from steps
where floor(least(p0, c0) / {cell}) <> floor(greatest(p0, c0) / {cell})
"""
CROSSED = """
select place, query, if(c0 >= lo0 and c0 < hi0, 1, 0) as enters
from spans join borders on spans.cell0 = borders.cell0
where border > least(p0, c0) and border <= greatest(p0, c0)
  and (c0 >= lo0 and c0 < hi0) <> (p0 >= lo0 and p0 < hi0)
"""


def main(folder: Path, repeats: int, threads: int, cell: float) -> dict[str, float]:
    """Time both of its modes, and write the events of each."""
    return {mode: _timed(folder, repeats, threads, cell, mode) for mode in ("batch", "streaming")}


def _timed(folder: Path, repeats: int, threads: int, cell: float, mode: str) -> float:
    from pyflink.table import EnvironmentSettings, TableEnvironment

    settings = EnvironmentSettings.new_instance()
    settings = settings.in_batch_mode() if mode == "batch" else settings.in_streaming_mode()
    flink = TableEnvironment.create(settings.build())
    flink.get_config().set("parallelism.default", str(threads))
    for name, columns in TABLES.items():
        path = (folder / name).as_uri()
        flink.execute_sql(READ.format(name=name, columns=columns, path=path))
        flink.execute_sql(DROPPED.format(name=f"read_{name}", columns=columns))
    flink.execute_sql(DROPPED.format(name="nowhere", columns=EVENTS))
    path = (folder / mode).as_uri()
    flink.execute_sql(READ.format(name="found", columns=EVENTS, path=path))
    flink.execute_sql(SPANS.format(cell=cell))

    def seconds(*statements: str) -> float:
        begin = time.perf_counter()
        together = flink.create_statement_set()
        for statement in statements:
            together.add_insert_sql(statement)
        together.execute().wait()
        return time.perf_counter() - begin

    seconds(f"insert into found {CROSSED}")
    reading, working = [], []
    for _ in range(repeats + 1):
        reading.append(seconds(*(READ_ALL.format(name=name) for name in TABLES)))
        working.append(seconds(f"insert into nowhere {CROSSED}"))
    return min(working[1:]) - min(reading[1:])


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), **json.load(sys.stdin))))
