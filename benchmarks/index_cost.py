"""What an index costs: to build, to keep, to change, and what a run takes of memory."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.report import Line, median_seconds
from benchmarks.walks import bands, indexed
from fencepost.crossings import BorderIndex
from fencepost.queries import QuerySet
from pipelines.workloads import PriceBands


def building() -> list[Line]:
    """A million one-axis queries, from columns."""
    queries = bands(1_000_000)
    table = PriceBands(count=1_000_000, width=1e-3).table()
    borders = np.concatenate([queries.lo[0], queries.hi[0]])
    sort = median_seconds(lambda: np.argsort(borders), 5)
    build = median_seconds(lambda: BorderIndex.build(queries), 5)
    take = median_seconds(lambda: QuerySet.from_table("ticks", ("price",), table), 3)
    index = indexed(queries)
    more = QuerySet.from_table(
        "ticks",
        ("price",),
        pa.table(
            {
                "id": [f"new-{k}" for k in range(1_000)],
                "price_lo": np.arange(1_000) * 900.0,
                "price_hi": np.arange(1_000) * 900.0 + 500.0,
            }
        ),
    )
    index.with_added(more).check()
    grow = median_seconds(lambda: index.with_added(more), 5)
    anew = median_seconds(lambda: BorderIndex.build(queries.with_added(more)), 5)
    return [
        Line(
            "1 M queries: build, of np.argsort of their borders",
            build / sort,
            6,
            facts=f"{build:.2f} s",
        ),
        Line("  reading and checking the columns, of the same", take / sort, facts=f"{take:.2f} s"),
        Line(
            "  bytes a query and axis, of 64",
            index.nbytes / len(queries) / 64,
            1.0,
            facts=f"{index.nbytes / len(queries):.1f} bytes",
        ),
        Line(
            "  build anew, of adding 1,000 queries",
            anew / grow,
            10,
            at_least=True,
            facts=f"{grow * 1e3:.1f} ms",
        ),
    ]


def memory() -> list[Line]:
    """The peak of a step over the S1 default, in a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.index_cost"], capture_output=True, text=True, check=True
    )
    peak, input_, output, index = (int(word) for word in ran.stdout.split())
    needed = input_ + output + index
    parts = f"input {input_ / 1e6:.0f}, output {output / 1e6:.0f}, index {index / 1e6:.1f}"
    facts = f"peak {peak / 1e6:.0f} MB; {parts}"
    return [
        Line("peak memory of a step, of input + output + index", peak / needed, 1.25, facts=facts)
    ]


def _one_step() -> None:
    """Print the growth of the process over one step, and what that step was given and gave."""
    from fencepost.engine import step
    from fencepost.state import FeedState
    from pipelines.workloads import PriceWalks

    def run(streams: int, queries: QuerySet) -> tuple[int, int, int]:
        batch = PriceWalks(streams=streams, length=1_000).tuples()
        index = BorderIndex.build(queries)
        state = FeedState.empty("ticks", ("price",))
        outcome = step(state, batch, index, deliveries=1, method="walk", fast=True)
        return batch.nbytes, sum(column.nbytes for column in outcome.found), index.nbytes

    queries = bands(100_000)
    run(20, queries)
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before = _memory("VmRSS")
    sizes = run(2_000, queries)
    print(_memory("VmHWM") - before, *sizes)


def _memory(name: str) -> int:
    """Read one of the kernel's figures on this process, in bytes."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(row.split()[1]) * 1024 for row in status if row.startswith(f"{name}:"))


if __name__ == "__main__":
    _one_step()
