"""Do the rows of a lake keep their promises? Two kinds of checks, and one way to report.

`contracts.py` checks the rows of tables for the promises of `schemas.expectations`, all of a table
in one pass (`one_pass.py`); Great Expectations documents them (`site.py`, `docs.py`).
`own.py` runs one SQL aggregate each: whether every row is accounted for, crossings and changes
alternate, the state is the newest, ledgers have no gaps, nothing is stale; and audits repeat a
bounded sample of the work, by other means. A feed has checks of its own, and so has a pair of
feeds that are joined. `Moment` runs any of them, unless it passed and nothing has changed since.

`whole.py` checks the files themselves: whether their bytes are those that were written.

Law: a check reads published rows, of one moment, and changes nothing in the lake.
"""

from pipelines.checks.contracts import contract_checks
from pipelines.checks.moment import Moment
from pipelines.checks.own import OF_JOINS, OWN, OwnCheck, own_checks, own_checks_of
from pipelines.checks.results import Checked

__all__ = [
    "OF_JOINS",
    "OWN",
    "Checked",
    "Moment",
    "OwnCheck",
    "contract_checks",
    "own_checks",
    "own_checks_of",
]
