"""Loading ten million rows of Parquet, CSV and JSON lines, against Spark and DuckDB.

Ours finds and hashes the file, takes a number, checks every cell, keeps from which row each tuple
came, parts the streams into buckets, and commits with evidence. Spark reads the rows, of a schema
that it is given, and writes them to Delta; DuckDB copies them to Parquet. Neither checks anything.
"""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count, pairwise
from pathlib import Path

import duckdb

from benchmarks.lake_made import FEED, Bench
from benchmarks.lake_times import Times, clocked, divided, in_turns
from benchmarks.report import Line
from pipelines.lake.crash_points import on_point
from pipelines.spark.environment.machine import cores

OF_SPARK = 0.5
STAGES = {
    "ingest.planned": "find, hash and plan",
    "ingest.quarantine": "read and write",
    "ingest.done": "commit",
}
"""By the place that ends it."""
SCHEMA = "stream_id STRING, ts TIMESTAMP, price DOUBLE"
PLACES = count()


@dataclass(frozen=True)
class Form:
    """A form of files: how the rivals read and DuckDB writes it, and the bar of DuckDB's copy."""

    name: str
    ending: str
    reader: str
    options: str
    of_duckdb: float | None


FORMS = (
    Form("Parquet", "parquet", "read_parquet", "FORMAT parquet", None),
    Form("CSV", "csv", "read_csv", "FORMAT csv, HEADER", 1.2),
    Form("JSON lines", "json", "read_json", "FORMAT json", 1.5),
)


def ingest(bench: Bench) -> list[Line]:
    """One file of each form from a landing folder."""
    return [line for form in FORMS for line in _lines(bench, form)]


def _lines(bench: Bench, form: Form) -> list[Line]:
    """Load the file by turns with Spark and, where it has a bar, with DuckDB."""
    landing = landing_of(bench, form)

    def theirs() -> tuple[float, float]:
        by_spark, _ = _spark(bench, landing, form)
        by_duckdb = 0.0 if form.of_duckdb is None else copied(bench, landing, form)[0]
        return by_spark, by_duckdb

    mine, other = in_turns(partial(_ours, bench, landing), theirs)
    rivals = {"Spark's read and write": (OF_SPARK, other)}
    if form.of_duckdb is not None:
        copies = Times(tuple((copy, copy) for _, copy in other.runs))
        rivals["DuckDB's copy to Parquet"] = (form.of_duckdb, copies)
    size = sum(file.stat().st_size for file in landing.iterdir()) / 1e6
    about = f"{divided(mine.middle)}; {bench.rows:,} rows, {size:,.0f} MB"
    if landing != bench.landing:
        shutil.rmtree(landing)
    return [
        Line(
            f"ingest of {form.name}, of {name}",
            mine.median / times.median,
            bar,
            facts=f"{mine} against {times}; {about}",
        )
        for name, (bar, times) in rivals.items()
    ]


def landing_of(bench: Bench, form: Form) -> Path:
    """Give a landing folder with the ticks in one file."""
    if form.ending == "parquet":
        return bench.landing
    folder = bench.folder / f"landing-{form.ending}"
    folder.mkdir()
    ts = "strftime(ts AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ')"
    ticks = f"SELECT stream_id, {ts} AS ts, price FROM '{bench.landing}/*.parquet'"  # noqa: S608
    with duckdb.connect() as session:
        session.sql(f"COPY ({ticks}) TO '{folder}/day.{form.ending}' ({form.options})")
    return folder


def _ours(bench: Bench, landing: Path) -> tuple[float, dict[str, float]]:
    settings = bench.settings(f"ingest-{next(PLACES)}", landing)
    store = bench.make(settings)
    for file in landing.iterdir():
        file.touch()  # a hash that is remembered is that of a file that has not changed
    passed: list[tuple[str, float]] = [("", time.perf_counter())]
    leave = on_point(lambda name: passed.append((name, time.perf_counter())))
    seconds, report = clocked(lambda: bench.take_in(store, settings))
    leave()
    assert (report.tuples, report.rows) == (bench.rows, bench.rows)
    assert sum(file.rows for file in store.files(FEED)) == bench.rows
    shutil.rmtree(settings.root)
    return seconds, _stages(passed)


def _spark(bench: Bench, landing: Path, form: Form) -> tuple[float, None]:
    place = bench.folder / f"written-{next(PLACES)}"
    read = bench.spark.read.schema(SCHEMA).option("header", "true")
    every: dict[str, Callable[[str], object]] = {
        "parquet": read.parquet,
        "csv": read.csv,
        "json": read.json,
    }
    rows = every[form.ending](str(landing))
    seconds, _ = clocked(lambda: rows.write.format("delta").save(str(place)))  # type: ignore[attr-defined]
    written = bench.spark.read.format("delta").load(str(place))
    assert written.where("price IS NOT NULL AND ts IS NOT NULL").count() == bench.rows
    shutil.rmtree(place)
    return seconds, None


def copied(bench: Bench, landing: Path, form: Form) -> tuple[float, None]:
    """Let DuckDB copy the rows to Parquet."""
    place = bench.folder / f"copied-{next(PLACES)}.parquet"
    rows = f"SELECT * FROM {form.reader}('{landing}/*.{form.ending}')"  # noqa: S608
    with duckdb.connect() as session:
        session.sql(f"SET threads = {cores()}")
        seconds, _ = clocked(lambda: session.sql(f"COPY ({rows}) TO '{place}' (FORMAT parquet)"))
        kinds = [column[1] for column in session.sql(rows).description]
        copied = session.sql(f"SELECT count(price), count(ts) FROM '{place}'").fetchone()  # noqa: S608
    assert copied == (bench.rows, bench.rows), copied
    assert "DOUBLE" in map(str, kinds), kinds
    place.unlink()
    return seconds, None


def _stages(passed: list[tuple[str, float]]) -> dict[str, float]:
    at = [passed[0][1], *(when for name, when in passed if name in STAGES)]
    return dict(zip(STAGES.values(), [b - a for a, b in pairwise(at)], strict=True))
