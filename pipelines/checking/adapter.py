"""From promises to a suite of Great Expectations, and from its results to ours.

Great Expectations is imported here alone, and only when a suite is run: that takes 3 to 8 s, once a
process. Its context lives in memory and is told nothing of the session: given settings of Spark it
would stop and restart it.

Law: one expectation declared is one expectation run and one `Checked`, in their order, under their
names; an expectation that cannot be evaluated has failed.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pipelines.checking.checked import LONGEST_SAMPLE, SAMPLES, Checked
from pipelines.checking.docs import Site
from pipelines.views.cells import cell
from schemas.expectations import Contract, Expectation

if TYPE_CHECKING:
    from great_expectations import ValidationDefinition
    from great_expectations.core import ExpectationValidationResult
    from great_expectations.data_context.data_context.ephemeral_data_context import (
        EphemeralDataContext,
    )
    from great_expectations.expectations.expectation import Expectation as TheirExpectation

CRITICAL = {"error": "critical", "warning": "warning"}
KINDS = {
    "in_set": "ExpectColumnValuesToBeInSet",
    "between": "ExpectColumnValuesToBeBetween",
    "unique": "ExpectCompoundColumnsToBeUnique",
}
THEIRS = {"values": "value_set", "least": "min_value", "most": "max_value"}
"""By severity, kind and argument of ours: theirs."""


@dataclass(frozen=True)
class Batch:
    """The rows to be looked at, under the names that the contract's expectations use.

    rows   a DataFrame of pandas, or of Spark
    words  names the rows in a path; `note` says what was left out, if anything was
    """

    rows: Any
    count: int
    words: str
    by_spark: bool = False
    note: str = ""


def validated(contract: Contract, lane: str, batch: Batch, site: Site) -> list[Checked]:
    """Run a contract's suite over a batch, once, and write its page; seconds are shared evenly."""
    name = f"{lane}.{contract.table}"
    context = site.context()
    started = time.perf_counter()
    results, page = site.run(context, name, _defined(context, name, contract, batch), batch)
    by_name = {_name(result): result for result in results}
    each = (time.perf_counter() - started) / len(contract.expectations)
    return [
        _checked(contract.table, promise, by_name[promise.name], batch, (each, page))
        for promise in contract.expectations
    ]


def _defined(
    context: "EphemeralDataContext", name: str, contract: Contract, batch: Batch
) -> "ValidationDefinition":
    from great_expectations import ExpectationSuite, ValidationDefinition

    if batch.by_spark:
        source: Any = context.data_sources.add_spark("rows", persist=False)
    else:
        source = context.data_sources.add_pandas("rows")
    asset = source.add_dataframe_asset(contract.table)
    data = asset.add_batch_definition_whole_dataframe("batch")
    expectations = [_expectation(each) for each in contract.expectations]
    suite = context.suites.add_or_update(ExpectationSuite(name, expectations=expectations))
    return context.validation_definitions.add(
        ValidationDefinition(name=name, data=data, suite=suite)
    )


def _expectation(promise: Expectation) -> "TheirExpectation":
    """Give a promise as Great Expectations has it."""
    from great_expectations.expectations import core

    own: dict[str, Any] = {THEIRS[name]: value for name, value in promise.arguments.items()}
    if promise.kind == "unique":
        own["column_list"] = list(promise.columns)
    else:
        (own["column"],) = promise.columns
    made: TheirExpectation = getattr(core, KINDS[promise.kind])(
        **own,
        severity=CRITICAL[promise.severity],
        notes=promise.means,
        meta={"name": promise.name},
    )
    return made


def _checked(
    table: str,
    promise: Expectation,
    result: "ExpectationValidationResult",
    batch: Batch,
    told: tuple[float, str],
) -> Checked:
    seconds, page = told
    why = [str(each["exception_message"]) for each in _exceptions(result.exception_info or {})]
    faults = int(result.result.get("unexpected_count") or 0)
    rows = int(result.result.get("element_count") or batch.count)
    return Checked(
        table=table,
        name=promise.name,
        passed=bool(result.success),
        severity=promise.severity,
        description=promise.means + batch.note,
        counts={"rows": rows, "faults": faults},
        samples=why or _samples(result.result.get("partial_unexpected_list") or []),
        seconds=round(seconds, 4),
        docs=page,
    )


def _name(result: "ExpectationValidationResult") -> str:
    config: Any = result.expectation_config
    return str(config.meta["name"])


def _exceptions(told: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Find what was raised: told as one exception, or as one for each metric."""
    if "raised_exception" in told:
        each = [told]
    else:
        each = [one for one in told.values() if isinstance(one, Mapping)]
    return (one for one in each if one.get("raised_exception"))


def _samples(unexpected: Sequence[Any]) -> list[str]:
    said = (
        ", ".join(f"{name} {cell(_plain(value))}" for name, value in each.items())
        if isinstance(each, Mapping)
        else cell(_plain(each), LONGEST_SAMPLE)
        for each in unexpected
    )
    return list(dict.fromkeys(said))[:SAMPLES]


def _plain(value: Any) -> Any:  # noqa: ANN401  of NumPy, pandas or Spark
    """Give a value as Python has it; a time that does not say so is UTC."""
    if hasattr(value, "to_pydatetime"):
        value = value.to_pydatetime()
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return value.item() if hasattr(value, "item") else value
