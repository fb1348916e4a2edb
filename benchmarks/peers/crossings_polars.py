"""Crossings by Polars: its plain range joins, and an equi-join on the cells of borders."""

from collections.abc import Callable

import polars as pl

from benchmarks.peers.crossings_given import Given, Keys, keys


class PolarsCrossings:
    """The steps and boxes as frames; their making is not timed."""

    def __init__(self, given: Given, cell: float) -> None:
        """Make the frames."""
        self.given, self.cell = given, cell
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
        return pl.concat([entered, left]).collect()

    def by_cells(self) -> pl.DataFrame:
        """Meet the borders in the cells that a step spans, and compare the memberships."""
        axes = range(self.given.axes)
        spans = self.steps.lazy()
        for a in axes:
            p, c = pl.col(f"p{a}"), pl.col(f"c{a}")
            first, last = pl.min_horizontal(p, c), pl.max_horizontal(p, c)
            cells = pl.int_ranges(
                (first / self.cell).floor().cast(pl.Int64),
                (last / self.cell).floor().cast(pl.Int64) + 1,
            )
            spans = spans.with_columns(cells.alias(f"cell{a}")).explode(f"cell{a}")
        met = spans.join(self.borders.lazy(), on=[f"cell{a}" for a in axes])
        now, before = (pl.all_horizontal(*self._tests(end)) for end in "cp")
        met = met.filter(now != before)
        if self.given.axes == 1:
            p, c, border = pl.col("p0"), pl.col("c0"), pl.col("border")
            met = met.filter(border > pl.min_horizontal(p, c), border <= pl.max_horizontal(p, c))
        found = met.select("place", "query", now.cast(pl.Int32).alias("enters"))
        return (found if self.given.axes == 1 else found.unique()).collect()

    def answer(self, way: Callable[[], pl.DataFrame]) -> Keys:
        """Find the events by one of the ways."""
        found = way()
        columns = (found[name].to_numpy() for name in ("place", "query", "enters"))
        return keys(*columns, self.given.lo.shape[1])

    def _tests(self, end: str) -> list[pl.Expr]:
        tests = list[pl.Expr]()
        for a in range(self.given.axes):
            value = pl.col(f"{end}{a}")
            tests += [value >= pl.col(f"lo{a}"), value < pl.col(f"hi{a}")]
        return tests
