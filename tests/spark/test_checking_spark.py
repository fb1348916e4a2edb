"""The contracts by Spark: what pandas finds in a lake, Spark finds too, and its session stays."""

import pytest

from pipelines.checking import contract_checks, contracts
from pipelines.epochs.drive import chain_of
from pipelines.lake.store import Store
from tests.checked_lakes import settings_of, spoilt

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.mark.timeout(600)  # thirty small jobs a table
@pytest.mark.parametrize(
    ("every", "tables"),
    [
        (False, ["events"]),
        pytest.param(False, None, marks=pytest.mark.slow),
        pytest.param(True, None, marks=pytest.mark.slow),
    ],
)
def test_differential_spark_and_pandas_find_the_same(spark, tmp_path, monkeypatch, every, tables):
    spoilt().written(tmp_path / "lake")
    declared = settings_of(tmp_path)
    store = Store.open(declared.root, declared.tables)
    epochs = None if every else chain_of(store, "ticks").epochs[1:]
    by_pandas = contract_checks(declared, "ticks", epochs, tables=tables)
    monkeypatch.setattr(contracts, "MANY", -1)
    by_spark = contract_checks(declared, "ticks", epochs, lambda: spark, tables)
    told = [
        [(each.table, each.name, each.passed, each.counts, each.samples) for each in made]
        for made in (by_pandas, by_spark)
    ]
    assert told[0] == told[1]
    assert spark.range(3).count() == 3
