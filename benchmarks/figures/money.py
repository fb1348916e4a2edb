"""Tuples a second, and what a billion of them costs at list prices: measured stages, extrapolated.

Law: every figure stands beside what it assumes, and a price beside the day it was read.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from math import log2
from pathlib import Path

from benchmarks.figures.headlines import All
from benchmarks.figures.lines import Source, count, seconds
from benchmarks.figures.tables import table

PRICES = Path(__file__).with_name("prices.csv")
HOUR, DAY, BILLION = 3600.0, 86_400.0, 1e9
MEASURED_CORES = 2
MACHINES = "ours-machines"
LARGEST = 64
"""vCPU of the largest machine of such a family."""
STAGES = (
    (
        "ingest: a Parquet file to checked, numbered tuples",
        Source("lake", "ingest", "ingest of Parquet, of Spark"),
        "rows",
    ),
    (
        "evaluate: tuples to events, state and ledgers",
        Source("lake", "epoch", "one epoch, files read by workers"),
        "ticks",
    ),
)


@dataclass(frozen=True)
class Price:
    """What a machine costs an hour, on demand, by the list of a day."""

    cloud: str
    machine: str
    region: str
    cores: int
    gigabytes: int
    hour: float
    day: str
    source: str

    def of(self, tuples: float, rate: float) -> float:
        """Dollars for so many tuples at so many a second."""
        return tuples / rate / HOUR * self.hour


@dataclass(frozen=True)
class Stage:
    """A stage of the pipeline: how many tuples a second it was measured at."""

    name: str
    rate: float
    facts: str
    link: str


def prices() -> list[Price]:
    """Read the list."""
    with PRICES.open(encoding="utf-8", newline="") as file:
        return [
            Price(
                row["cloud"],
                row["machine"],
                row["region"],
                int(row["vcpus"]),
                int(row["gigabytes"]),
                float(row["dollars_an_hour"]),
                row["day"],
                row["source"],
            )
            for row in csv.DictReader(file)
        ]


def stages() -> list[Stage]:
    """What the lake's benchmark measured on all cores of its machine."""
    found = []
    for name, source, unit in STAGES:
        row = source.row()
        took = seconds(row.facts) if row else None
        many = count(row.facts, unit) if row else None
        if row and took and many:
            facts = f"{many / 1e6:g} M in {took:.2f} s"
            found.append(Stage(name, many / took, facts, source.link))
    return found


def pipeline_rate() -> float | None:
    """Tuples a second through all stages, one after the other; None where one was not measured."""
    found = stages()
    return 1 / sum(1 / each.rate for each in found) if len(found) == len(STAGES) else None


def cheapest(rate: float) -> str:
    """Say the least that a billion tuples cost on a machine of as many processors."""
    fits = [each for each in prices() if each.cores == MEASURED_CORES]
    least = min(fits, key=lambda each: each.hour)
    return f"{cents(least.of(BILLION, rate))} ({least.cloud} {least.machine}, {least.day})"


def cents(dollars: float) -> str:
    """Write a small price."""
    return f"{dollars * 100:.1f} cents" if dollars < 1 else f"${dollars:,.2f}"


def section(drawn: All) -> Iterator[str]:
    """The part of the page."""
    rate = pipeline_rate()
    if rate is None:
        return
    yield "## Money and machines"
    yield (
        "What the lake's benchmark measured, at on-demand list prices. The rates are of this "
        "machine's two cores, one Spark session, a local disk, 100 K bands, one tuple in a hundred "
        "crossing."
    )
    rows = [(each.name, f"{each.rate / 1e6:.2f} M/s", each.facts, each.link) for each in stages()]
    rows.append(("both, one after the other", f"**{rate / 1e6:.2f} M/s**", "", ""))
    yield table(("stage", "tuples", "measured", "lines"), rows)
    yield table(
        ("list price", "", "read on", "a billion tuples", "tuples for a dollar", "it assumes"),
        (
            (
                f"[{each.cloud} {each.machine}]({each.source}), {each.region}",
                f"${each.hour:g} an hour, {each.cores} vCPU, {each.gigabytes} GB",
                each.day,
                f"**{cents(each.of(BILLION, rate))}**",
                f"{1 / each.of(1, rate) / 1e9:.0f} billion",
                f"its {each.cores} vCPU are as fast as the two cores here, and busy all the hour",
            )
            for each in prices()
        ),
    )
    yield from _machines(drawn)
    yield (
        f"**What this leaves out.** Two such cores take {rate * DAY / 1e9:.0f} billion tuples a "
        "day if they never wait. Storage, requests and traffic are not in these prices; on an "
        "object store each epoch makes some dozens of requests more. With much more crossing, the "
        "event rows cost more than all else: see *event rows written* above, where it was measured."
    )


def _machines(drawn: All) -> Iterator[str]:
    """Cores and workers: what they brought here, and where one machine is not enough."""
    if MACHINES not in drawn:
        return
    least = min(prices(), key=lambda each: each.hour / each.cores)
    a_core = least.hour / least.cores
    rows = []
    for name, points in drawn[MACHINES]["a"].items():
        for cores, millions in points:
            price = BILLION / (millions * 1e6) / HOUR * a_core * cores
            rows.append((f"{cores:.0f} {name}", f"{millions:.2f} M/s", cents(price)))
    yield table(("an epoch by", "tuples", f"a billion, at ${a_core:.4f} a vCPU and hour"), rows)
    threads = dict(drawn[MACHINES]["a"]["threads of one process"])
    gain = threads[2] / threads[1]
    largest = threads[2] * 1e6 * gain ** log2(LARGEST / 2)
    yield (
        f"**When a cluster pays.** Lists price a vCPU alike in small machines and large ones, so a "
        "cluster makes no tuple cheaper: it pays where one machine is not enough. If each doubling "
        f"of cores brings {gain:.2f} ×, as the second did here, a machine of {LARGEST} vCPU "
        f"evaluates {largest / 1e6:.0f} M tuples a second, {largest * DAY / 1e12:.1f} trillion a "
        "day; its memory's bandwidth may well set the limit earlier, which we could not measure. "
        "Until then a second machine buys only that work goes on when the first one dies."
    )
