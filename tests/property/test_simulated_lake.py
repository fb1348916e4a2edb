"""Whatever befalls the processes that work on a lake, it ends with the rows of an undisturbed run.

10,000 seeds in the short set and 40,000 in the long one, each a story of its own with kills,
zombies, several writers without any lock or with leases that lapse, lost answers, and stores that
answer oddly. One again: `python -m tests.simulated SEED`; a million: `make simulate SEEDS=1000000`.
"""

import pytest

from fencepost.errors import LakeError
from tests.simulated.falsifiers import BROKEN, Broken
from tests.simulated.many import chunk_of
from tests.simulated.run import Ran, run

EACH = 500
TESTS = 20
LONG = 2000
LONG_TESTS = 20
ENOUGH = 500


@pytest.mark.parametrize(
    "first",
    range(0, EACH * TESTS, EACH),
)
@pytest.mark.fault(1, 2, 4, 5, 7, 10, 11, 21, 24)
def test_exactly_once_whatever_befalls_the_processes(first, record_property) -> None:
    total = chunk_of(first, EACH)
    record_property("seeds", EACH)
    record_property("simulated kills", total["kills"])
    for name in Ran.TOTALS:
        assert total[name] > EACH / 10, f"in {EACH} runs hardly any {name}: {total[name]}"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", range(EACH * TESTS, EACH * TESTS + LONG * LONG_TESTS, LONG))
@pytest.mark.fault(1, 2, 4, 5, 7, 10, 11, 21, 24)
def test_exactly_once_in_many_more_seeds(first, record_property) -> None:
    total = chunk_of(first, LONG)
    record_property("seeds", LONG)
    record_property("simulated kills", total["kills"])


@pytest.mark.parametrize("seed", range(10))
def test_a_seed_is_the_same_run_again(seed) -> None:
    assert run(seed) == run(seed)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
@pytest.mark.fault(12, 21, 28, 72)
def test_a_broken_protocol_is_noticed(broken: Broken) -> None:
    for seed in range(ENOUGH):
        try:
            with broken():
                run(seed)
        except (AssertionError, LakeError, KeyError):  # of a delivery that the ledger lacks
            return
    pytest.fail(f"{broken.__name__}: {ENOUGH} runs, and nobody noticed")
