"""Crossings in SQL, by DuckDB: its plain range joins, and an equi-join on the cells of borders."""

from collections.abc import Callable

import duckdb

from benchmarks.peers.crossings_given import Given, Keys, keys

PLAIN = """
create or replace temp table crossings as
with now as (select place, query from steps join boxes on {now}),
before as (select place, query from steps join boxes on {before})
select *, 1 as enters from (select * from now except all select * from before)
union all
select *, 0 from (select * from before except all select * from now)
"""
CELLS = """
create or replace temp table crossings as
select {distinct} place, query, cast({now} as integer) as enters
from {spans} join borders using ({using}) where ({now}) <> ({before}) {passed}
"""
PASSED = "and border > least(p0, c0) and border <= greatest(p0, c0)"
SPAN = """
select *, unnest(generate_series(
    cast(floor(least(p{a}, c{a}) / {cell}) as bigint),
    cast(floor(greatest(p{a}, c{a}) / {cell}) as bigint))) as cell{a} from {of}"""


class DuckCrossings:
    """The steps and boxes as tables of a database; neither is timed."""

    def __init__(self, given: Given, cell: float, threads: int) -> None:
        """Fill the tables."""
        self.given, self.cell = given, cell
        self.database = duckdb.connect(config={"threads": threads})
        tables = {"steps": given.steps(), "boxes": given.boxes(), "borders": given.borders(cell)}
        for name, rows in tables.items():
            self.database.register(f"given_{name}", rows)
            self.database.execute(f"create temp table {name} as from given_{name}")

    def plain(self) -> None:
        """Look up who holds at both ends by range joins, and subtract."""
        self.database.execute(PLAIN.format(now=self._held("c"), before=self._held("p")))

    def by_cells(self) -> None:
        """Meet the borders in the cells that a step spans, and compare the memberships."""
        axes, spans = range(self.given.axes), "steps"
        for a in axes:
            spans = f"({SPAN.format(a=a, cell=self.cell, of=spans)})"
        alone = len(axes) == 1  # then a border is one row, else it is met in many cells
        self.database.execute(
            CELLS.format(
                distinct="" if alone else "distinct",
                spans=spans,
                using=", ".join(f"cell{a}" for a in axes),
                now=self._held("c"),
                before=self._held("p"),
                passed=PASSED if alone else "",
            )
        )

    def answer(self, way: Callable[[], None]) -> Keys:
        """Find the events by one of the ways."""
        way()
        found = self.database.execute("select place, query, enters from crossings").fetchnumpy()
        return keys(found["place"], found["query"], found["enters"], self.given.lo.shape[1])

    def close(self) -> None:
        """Give the memory back."""
        self.database.close()

    def _held(self, end: str) -> str:
        tests = (f"{end}{a} >= lo{a} and {end}{a} < hi{a}" for a in range(self.given.axes))
        return " and ".join(tests)
