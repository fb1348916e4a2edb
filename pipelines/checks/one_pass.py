"""What a contract's expectations find in a table: one SQL aggregate for all of them.

Each expectation is a column of the aggregate: how many rows break it, how many it passes over as
null. Uniqueness compares the number of rows with that of distinct hashes; only where they differ
are the rows themselves grouped. One more query shows some of the faults, where there are any.

Law: an expectation gives what Great Expectations gives for it: the same verdict, the same numbers
of rows, nulls and faults (tests/property/test_one_pass.py). (Measured) 10 ms a small table.
"""

# ruff: noqa: S608  names and expressions are declared, all else are numbers or quoted

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb

from pipelines.checks.results import LONGEST_SAMPLE, SAMPLES
from pipelines.serve.views.cells import cell
from schemas.promises import Contract, Expectation

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True)
class Tally:
    """The findings of an expectation: rows checked, nulls skipped, faults, samples of them.

    could  whether it could be evaluated; else the first sample says why not
    """

    rows: int
    missing: int
    faults: int
    samples: tuple[str, ...] = ()
    could: bool = True


def tallies(
    session: "DuckDBPyConnection", contract: Contract, condition: str
) -> list[tuple[Expectation, Tally]]:
    """Check the rows of a table that meet a condition against its contract. O(n), one scan.

    An expectation that cannot be evaluated has failed, and no other with it.
    """
    rows = _rows(contract, condition)
    try:
        return list(_found(session, contract.expectations, rows))
    except duckdb.Error:
        return [_alone(session, each, rows) for each in contract.expectations]


def _alone(
    session: "DuckDBPyConnection", promise: Expectation, rows: "_Rows"
) -> tuple[Expectation, Tally]:
    try:
        ((_, tally),) = _found(session, [promise], rows)
    except duckdb.Error as why:
        tally = Tally(0, 0, 0, (str(why).splitlines()[0],), could=False)
    return promise, tally


@dataclass(frozen=True)
class _Rows:
    """The checked rows as a subquery; expressions are numbered: an axis may be a SQL keyword."""

    sql: str
    numbers: dict[str, str]

    def columns(self, promise: Expectation) -> list[str]:
        return [self.numbers[name] for name in promise.columns]


def _rows(contract: Contract, condition: str) -> _Rows:
    numbers = {name: f"c{place}" for place, name in enumerate(contract.columns)}
    listed = ", ".join(
        f"{expression} AS {number}"
        for expression, number in zip(contract.columns.values(), numbers.values(), strict=True)
    )
    return _Rows(f'(SELECT {listed} FROM "{contract.table}" t WHERE {condition}) r', numbers)


def _found(
    session: "DuckDBPyConnection", promises: Sequence[Expectation], rows: _Rows
) -> Iterator[tuple[Expectation, Tally]]:
    columns = ", ".join(part for each in promises for part in _parts(each, rows.columns(each)))
    counted, *each = session.execute(f"SELECT COUNT(*), {columns} FROM {rows.sql}").fetchall()[0]
    for promise, given, found in zip(promises, each[::2], each[1::2], strict=True):
        missing, faults = counted - given, found
        if promise.kind == "unique" and found:
            faults = _repeated(session, rows, rows.columns(promise))
        samples = _samples(session, promise, rows) if faults else ()
        yield promise, Tally(counted, missing, faults, samples)


def _parts(promise: Expectation, columns: Sequence[str]) -> tuple[str, str]:
    """Write as SQL: how many rows have a value, and how many of those are at fault.

    For `unique` the latter is 0 if no hash comes twice: then no row does.
    """
    if promise.kind == "unique":
        there = _any_there(columns)
        distinct = f"COUNT(DISTINCT HASH({', '.join(columns)})) FILTER (WHERE {there})"
        return f"COUNT(*) FILTER (WHERE {there})", f"COUNT(*) FILTER (WHERE {there}) - {distinct}"
    (column,) = columns
    return f"COUNT({column})", f"COUNT(*) FILTER (WHERE {_broken(promise, column)})"


def _broken(promise: Expectation, column: str) -> str:
    """Write as SQL: this value is at fault; null where it is null."""
    if promise.kind == "in_set":
        return f"{column} NOT IN ({', '.join(map(_literal, promise.arguments['values']))})"
    least, most = promise.arguments.get("least"), promise.arguments.get("most")
    sides = [f"{column} < {_literal(least)}"] if least is not None else []
    sides += [f"{column} > {_literal(most)}"] if most is not None else []
    return " OR ".join(sides)


def _any_there(columns: Sequence[str]) -> str:
    """Write as SQL: not all of these are null."""
    return f"({' OR '.join(f'{column} IS NOT NULL' for column in columns)})"


def _repeated(session: "DuckDBPyConnection", rows: _Rows, columns: Sequence[str]) -> int:
    """Count the rows that are not the only one with their values."""
    by = ", ".join(columns)
    (found,) = session.execute(
        f"SELECT COALESCE(SUM(g.n), 0) FROM (SELECT COUNT(*) AS n FROM {rows.sql} "
        f"WHERE {_any_there(columns)} GROUP BY {by} HAVING COUNT(*) > 1) g"
    ).fetchall()[0]
    return int(found)


def _samples(session: "DuckDBPyConnection", promise: Expectation, rows: _Rows) -> tuple[str, ...]:
    """Show some of the values at fault: the most frequent first, then in their order."""
    columns = rows.columns(promise)
    unique = promise.kind == "unique"
    which = _any_there(columns) if unique else _broken(promise, columns[0])
    by = ", ".join(columns)
    values = session.execute(
        f"SELECT {by} FROM {rows.sql} WHERE {which} GROUP BY {by} "
        f"{'HAVING COUNT(*) > 1 ' if unique else ''}ORDER BY COUNT(*) DESC, {by} LIMIT {SAMPLES:d}"
    ).to_arrow_table()
    each = zip(*(column.to_pylist() for column in values.columns), strict=True)
    return tuple(_sample(promise, value) for value in each)


def _sample(promise: Expectation, values: Sequence[Any]) -> str:
    if promise.kind != "unique":
        return cell(values[0], LONGEST_SAMPLE)
    named = zip(promise.columns, values, strict=True)
    return ", ".join(f"{name} {cell(value)}" for name, value in named)


def _literal(value: str | float) -> str:
    if isinstance(value, str):
        quoted = value.replace("'", "''")
        return f"'{quoted}'"
    return repr(value)
