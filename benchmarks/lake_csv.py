"""Loading a million rows of CSV whose times a zone and a format must be known for.

Against the same ticks with times in ISO 8601 and UTC, where one cast gives them all. Both sides are
the same lake's ingest, in one process.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.lake_made import AXES, FEED, Bench, now
from benchmarks.lake_times import clocked, in_turns
from benchmarks.report import Line
from pipelines import ingest
from pipelines.lake.store import Store
from pipelines.project.settings import Feed, Settings
from pipelines.spark.runner import HereRunner

ROWS = 1_000_000
BAR = 0.5
ZONE = "America/New_York"
AHEAD = 400 * 86_400_000_000
"""µs; the ticks are of a fixed day, whenever this runs."""


@dataclass(frozen=True)
class _Side:
    """A landing folder with the ticks in one form, and what says how they are read."""

    feed: Feed
    root: Path

    def load(self) -> tuple[float, pa.Table]:
        """Load them into a new lake: seconds, and what was loaded."""
        settings = Settings(None, self.root, {FEED: self.feed})
        store = Store.create(self.root, settings.tables, buckets=settings.buckets)
        seconds, report = clocked(lambda: ingest.ingest(store, settings, HereRunner(), now()))
        assert (report.tuples, report.rows) == (ROWS, ROWS)
        rows = store.rows(FEED)
        shutil.rmtree(self.root)
        return seconds, rows

    def answer(self) -> pa.Table:
        """Load them, and give them in the order of the file."""
        return self.load()[1].select(["line", "stream_id", "ts", *AXES]).sort_by("line")


def csv(bench: Bench) -> list[Line]:
    """Load one file of each form, as `20/06/2026 09:30:00.000125` and as `2026-06-20T13:30…Z`."""
    rng = np.random.default_rng(15)
    local = np.datetime64("2026-06-20T09:30:00", "us") + np.cumsum(rng.integers(0, 2000, ROWS))
    streams, prices = rng.integers(0, 1000, ROWS).tolist(), rng.integers(1, 10**6, ROWS) / 100
    texts = np.datetime_as_string(local, unit="us").tolist()
    zulu = np.datetime_as_string(local + np.timedelta64(4, "h"), unit="us").tolist()
    written = [f"{text[8:10]}/{text[5:7]}/{text[:4]} {text[11:]}" for text in texts]

    def side(name: str, times: list[str], **declared: str) -> _Side:
        folder = bench.folder / f"csv-{name}"
        folder.mkdir(parents=True, exist_ok=True)
        rows = zip(streams, times, prices.tolist(), strict=True)
        lines = [f"s{stream},{time},{price}\n" for stream, time, price in rows]
        (folder / "day.csv").write_text("stream_id,ts,price\n" + "".join(lines))
        feed = Feed(FEED, AXES, folder, settle=0, max_skew=AHEAD, **declared)
        return _Side(feed, bench.folder / f"csv-lake-{name}")

    zoned = side("zoned", written, timezone=ZONE, ts_format="%d/%m/%Y %H:%M:%S.%f")
    plain = side("plain", [f"{text}Z" for text in zulu])
    assert zoned.answer().equals(plain.answer())
    mine, other = in_turns(zoned.load, plain.load)
    facts = f"{mine} against {other}; {ROWS:,} rows"
    claim = "rows a second of CSV with zone and format, of plain ISO"
    return [Line(claim, other.median / mine.median, BAR, at_least=True, facts=facts)]
