"""From promises to a suite of Great Expectations, and from findings to its results.

Great Expectations is imported only when one of these is called: that takes 3 to 8 s, once
per process.

Law: one expectation declared is one expectation of the suite and one result, in their order, under
their names.
"""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from pipelines.checks.results import Checked
from pipelines.checks.site import Run
from schemas.promises import Contract, Expectation

if TYPE_CHECKING:
    from great_expectations import ExpectationSuite
    from great_expectations.core import (
        ExpectationSuiteValidationResult,
        ExpectationValidationResult,
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


def suite_of(name: str, contract: Contract) -> "ExpectationSuite":
    """Give a contract as a suite."""
    from great_expectations import ExpectationSuite

    return ExpectationSuite(name, expectations=[_expectation(e) for e in contract.expectations])


def result_of(run: Run, suite: "ExpectationSuite") -> "ExpectationSuiteValidationResult":
    """Give the findings of a run as the result of its suite."""
    from great_expectations import __version__
    from great_expectations.core import ExpectationSuiteValidationResult

    met = sum(checked.passed for checked in run.checks)
    return ExpectationSuiteValidationResult(
        success=run.passed,
        results=[
            _result(expectation, checked)
            for expectation, checked in zip(suite.expectations, run.checks, strict=True)
        ],
        suite_name=run.name,
        statistics={
            "evaluated_expectations": len(run.checks),
            "successful_expectations": met,
            "unsuccessful_expectations": len(run.checks) - met,
            "success_percent": 100 * met / len(run.checks),
        },
        meta={
            "great_expectations_version": __version__,
            "run_id": {"run_name": run.rows, "run_time": datetime.fromisoformat(run.at)},
            "batch_kwargs": {"data_asset_name": run.table},
            "evaluated by": "DuckDB, in one pass",
        },
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


def _result(expectation: "TheirExpectation", checked: Checked) -> "ExpectationValidationResult":
    from great_expectations.core import ExpectationValidationResult

    could = checked.passed or bool(checked.counts["faults"])
    return ExpectationValidationResult(
        success=checked.passed,
        expectation_config=expectation.configuration,
        result=_counts(checked) if could else {},
        exception_info={
            "raised_exception": not could,
            "exception_message": None if could else "\n".join(checked.samples),
            "exception_traceback": None if could else "",
        },
    )


def _counts(checked: Checked) -> dict[str, Any]:
    rows, nulls, faults = (int(checked.counts[name]) for name in ("rows", "nulls", "faults"))
    return {
        "element_count": rows,
        "missing_count": nulls,
        "missing_percent": _percent(nulls, rows),
        "unexpected_count": faults,
        "unexpected_percent": _percent(faults, rows - nulls),
        "unexpected_percent_total": _percent(faults, rows),
        "unexpected_percent_nonmissing": _percent(faults, rows - nulls),
        "partial_unexpected_list": checked.samples,
    }


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
