"""Crossings by Polars: its plain range joins, and an equi-join on the cells of borders."""

from collections.abc import Callable
from typing import Literal

import polars as pl

from benchmarks.peers.crossings_given import Given, Keys, keys

Engine = Literal["in-memory", "streaming"]


class PolarsCrossings:
    """The steps and boxes as frames; their making is not timed."""

    def __init__(self, given: Given, cell: float, engine: Engine = "in-memory") -> None:
        """Make the frames."""
        self.given, self.cell, self.engine = given, cell, engine
        self.steps, self.boxes, self.borders = (
            pl.DataFrame(table) for table in (given.steps(), given.boxes(), given.borders(cell))
        )

    def plain(self) -> pl.DataFrame:
        """Look up who holds at both ends by range joins, and subtract."""
        now, before = (
            self.steps.lazy()
            .join_where(self.boxes.lazy(), *self._tests(end))
            .select("place", "query")
            for end in "cp"
        )
        key = ["place", "query"]
        entered = now.join(before, on=key, how="anti").with_columns(enters=pl.lit(1))
        left = before.join(now, on=key, how="anti").with_columns(enters=pl.lit(0))
        return pl.concat([entered, left]).collect(engine=self.engine)

    def by_cells(self) -> pl.DataFrame:
        """Meet the borders in the cells that a step spans, and compare the memberships."""
        axes = range(self.given.axes)
        spans = self.steps.lazy()
        for a in axes:
            spans = self._spread(spans, a)
        met = spans.join(self.borders.lazy(), on=[f"cell{a}" for a in axes])
        now, before = (pl.all_horizontal(*self._tests(end)) for end in "cp")
        met = met.filter(now != before)
        if self.given.axes == 1:
            p, c, border = pl.col("p0"), pl.col("c0"), pl.col("border")
            met = met.filter(border > pl.min_horizontal(p, c), border <= pl.max_horizontal(p, c))
        found = met.select("place", "query", now.cast(pl.Int32).alias("enters"))
        return (found if self.given.axes == 1 else found.unique()).collect(engine=self.engine)

    def _spread(self, steps: pl.LazyFrame, axis: int) -> pl.LazyFrame:
        """Give a row for each cell of a step: its first one, its last one, those between."""
        cell, ends = f"cell{axis}", (pl.col(f"p{axis}"), pl.col(f"c{axis}"))
        first, last = (
            (end(*ends) / self.cell).floor().cast(pl.Int64)
            for end in (pl.min_horizontal, pl.max_horizontal)
        )
        between = steps.filter(last > first + 1).with_columns(
            pl.int_ranges(first + 1, last).alias(cell)
        )
        return pl.concat(
            [
                steps.with_columns(first.alias(cell)),
                steps.filter(last != first).with_columns(last.alias(cell)),
                between.explode(cell),
            ]
        )

    def answer(self, way: Callable[[], pl.DataFrame]) -> Keys:
        """Find the events by one of the ways."""
        found = way()
        columns = (found[name].to_numpy() for name in ("place", "query", "enters"))
        return keys(*columns, self.given.lo.shape[1])

    def close(self) -> None:
        """Give the memory back."""
        self.steps = self.boxes = self.borders = pl.DataFrame()

    def _tests(self, end: str) -> list[pl.Expr]:
        tests = list[pl.Expr]()
        for a in range(self.given.axes):
            value = pl.col(f"{end}{a}")
            tests += [value >= pl.col(f"lo{a}"), value < pl.col(f"hi{a}")]
        return tests
